// GGUF files of any bytes, and valid ones with a few numbers changed: open, configure, load, look at
// everything.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/memory_files.h"
#include "model/check_values.h"
#include "model/config/config_from_gguf.h"
#include "model/fingerprint.h"
#include "model/gguf/gguf_reader.h"
#include "model/gguf/gguf_writer.h"
#include "model/weights.h"

namespace {

using namespace kvern;
using namespace kvern::model;

constexpr const char* kPath = "m.gguf";

// Numbers off the front of the input; zeros when it is used up.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data, size) {}
  template <typename T>
  T take() {
    T value{};
    const size_t count = std::min(sizeof value, data_.size());
    std::memcpy(&value, data_.data(), count);
    data_ = data_.subspan(count);
    return value;
  }
  std::string text(size_t limit) {
    const size_t wanted = take<uint8_t>() % (limit + 1);  // before asking what is left
    const size_t count = std::min(wanted, data_.size());
    std::string out(reinterpret_cast<const char*>(data_.data()), count);
    data_ = data_.subspan(count);
    return out;
  }
  bool empty() const { return data_.empty(); }

 private:
  std::span<const uint8_t> data_;
};

// A file that is sound but for what `input` says: metadata, tensors, then overwritten numbers.
void write_script(Files& files, Input& input) {
  constexpr compute::DType kTypes[] = {compute::DType::kF32, compute::DType::kQ8_0, compute::DType::kQ4_K};
  GgufWriter writer(uint32_t{1} << input.take<uint8_t>() % 8);
  for (int n = input.take<uint8_t>() % 8; n > 0; --n) {
    const std::string key = "k" + input.text(24);
    switch (input.take<uint8_t>() % 5) {
      case 0:
        writer.add_u32(key, input.take<uint32_t>());
        break;
      case 1:
        writer.add_string(key, input.text(64));
        break;
      case 2:
        writer.add_strings(key, std::vector<std::string>(input.take<uint8_t>() % 5, input.text(16)));
        break;
      case 3:
        writer.add_f32(key, input.take<float>());
        break;
      default:
        writer.add_i32s(key, std::vector<int32_t>(input.take<uint8_t>() % 9, input.take<int32_t>()));
        break;
    }
  }
  size_t data = 0;
  std::vector<size_t> sizes;
  for (int n = input.take<uint8_t>() % 4; n > 0; --n) {
    const compute::DType type = kTypes[input.take<uint8_t>() % 3];
    const int64_t shape[] = {1 + input.take<uint8_t>() % 3, 256};
    writer.add_tensor("t" + input.text(12), type, shape);
    sizes.push_back(static_cast<size_t>(shape[0]) * compute::row_bytes(type, shape[1]));
    data += sizes.back();
  }
  if (!writer.begin(files, kPath)) std::abort();
  for (const size_t size : sizes)
    if (!writer.write(std::vector<std::byte>(size))) std::abort();
  const auto size = writer.finish();
  if (!size) std::abort();
  auto file = files.open(kPath, OpenMode::kUpdate);
  if (!file) std::abort();
  for (int n = input.take<uint8_t>() % 4; n > 0 && !input.empty(); --n) {
    const uint64_t header = *size - data;
    const uint64_t value = input.take<uint64_t>();
    const size_t width = size_t{1} << input.take<uint8_t>() % 4;
    if (header < width) continue;
    const uint64_t at = input.take<uint16_t>() % (header - width + 1);
    if (!(*file)->write_at(at, std::as_bytes(std::span(&value, 1)).first(width))) std::abort();
  }
}

void look_at_everything(const GgufFile& file) {
  size_t seen = 0;
  for (const GgufMetadata::Entry& entry : file.metadata().entries()) {
    seen += gguf_value_text(entry.value).size();
    if (const auto strings = file.metadata().strings(entry.key))
      for (const std::string_view text : *strings) seen += text.size();
    if (const auto numbers = file.metadata().numbers<int64_t>(entry.key)) seen += numbers->size();
  }
  for (const StoredTensor& tensor : file.list())
    for (const std::byte byte : tensor.bytes) seen += std::to_integer<size_t>(byte);
  const auto finite = check_finite(file);
  if (seen == 1 && !finite) return;  // so that nothing above is optimised away
  const auto config = config_from_gguf(file);
  if (!config) return;
  if (!sampled_fingerprint(file, *config)) std::abort();
  static_cast<void>(load_weights(file, *config));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto files = make_memory_files();
  if (data[0] == 'S') {
    Input input(data + 1, size - 1);
    write_script(*files, input);
  } else {
    auto file = files->open(kPath, OpenMode::kCreate);
    if (!file || !(*file)->write_at(0, std::as_bytes(std::span(data, size)))) std::abort();
  }
  if (const auto file = GgufFile::open(*files, kPath)) look_at_everything(**file);
  return 0;
}
