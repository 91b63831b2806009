// Safetensors: whole files of any bytes, or ('J' first) only the JSON header with a sound length and a small
// body.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "base/memory_files.h"
#include "model/check_values.h"
#include "model/safetensors/safetensors_header.h"
#include "model/safetensors/safetensors_model.h"

namespace {

using namespace kvern;
using namespace kvern::model;

// 'J', the size of the body in 16 bits, the header's text.
std::string framed(const uint8_t* data, size_t size) {
  uint16_t body = 0;
  if (size < 1 + sizeof body) return {};
  std::memcpy(&body, data + 1, sizeof body);
  const uint64_t length = size - 1 - sizeof body;
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  out.append(reinterpret_cast<const char*>(data) + 1 + sizeof body, length);
  out.append(body, '\x3c');
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes = size > 0 && data[0] == 'J'
                                ? framed(data, size)
                                : std::string(reinterpret_cast<const char*>(data), size);
  const std::string path = "model.safetensors";
  const auto tensors = parse_safetensors(std::as_bytes(std::span(bytes)), path);
  uint64_t covered = 0;
  if (tensors) {
    for (const StoredTensor& tensor : *tensors) {
      covered += tensor.bytes.size();
      static_cast<void>(check_finite(tensor));
    }
    // The spans tile the data: all of the file but its header.
    uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (covered != bytes.size() - sizeof header - header) std::abort();
  }
  const auto files = make_memory_files();
  auto file = files->open(path, OpenMode::kCreate);
  if (!file || !(*file)->write_at(0, std::as_bytes(std::span(bytes)))) std::abort();
  if (SafetensorsModel::open(*files, path).has_value() != tensors.has_value()) std::abort();
  return 0;
}
