#include "model/gguf/gguf_writer.h"

#include <bit>
#include <cstring>

#include "base/check.h"

namespace kvern::model {
namespace {

template <typename T>
void put(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof bytes);
}

void put_text(std::string& out, std::string_view text) {
  put<uint64_t>(out, text.size());
  out.append(text);
}

uint64_t padded(uint64_t n, uint64_t alignment) { return (n + alignment - 1) / alignment * alignment; }

}  // namespace

GgufWriter::GgufWriter(uint32_t alignment) : alignment_(alignment) {
  KVERN_CHECK(std::has_single_bit(alignment) && alignment <= kGgufMaxAlignment);
  if (alignment != kGgufDefaultAlignment) add_u32("general.alignment", alignment);
}

void GgufWriter::put_key(std::string_view key, GgufValueType type) {
  KVERN_CHECK(!file_);
  put_text(entries_, key);
  put(entries_, static_cast<uint32_t>(type));
  ++entry_count_;
}

void GgufWriter::put_array(std::string_view key, GgufValueType element, uint64_t count) {
  put_key(key, GgufValueType::kArray);
  put(entries_, static_cast<uint32_t>(element));
  put(entries_, count);
}

void GgufWriter::add_u32(std::string_view key, uint32_t value) {
  put_key(key, GgufValueType::kUint32);
  put(entries_, value);
}

void GgufWriter::add_i32(std::string_view key, int32_t value) {
  put_key(key, GgufValueType::kInt32);
  put(entries_, value);
}

void GgufWriter::add_u64(std::string_view key, uint64_t value) {
  put_key(key, GgufValueType::kUint64);
  put(entries_, value);
}

void GgufWriter::add_f32(std::string_view key, float value) {
  put_key(key, GgufValueType::kFloat32);
  put(entries_, value);
}

void GgufWriter::add_bool(std::string_view key, bool value) {
  put_key(key, GgufValueType::kBool);
  put(entries_, static_cast<uint8_t>(value));
}

void GgufWriter::add_string(std::string_view key, std::string_view value) {
  put_key(key, GgufValueType::kString);
  put_text(entries_, value);
}

void GgufWriter::add_strings(std::string_view key, std::span<const std::string> values) {
  put_array(key, GgufValueType::kString, values.size());
  for (const std::string& value : values) put_text(entries_, value);
}

void GgufWriter::add_i32s(std::string_view key, std::span<const int32_t> values) {
  put_array(key, GgufValueType::kInt32, values.size());
  for (const int32_t value : values) put(entries_, value);
}

void GgufWriter::add_f32s(std::string_view key, std::span<const float> values) {
  put_array(key, GgufValueType::kFloat32, values.size());
  for (const float value : values) put(entries_, value);
}

void GgufWriter::add_tensor(std::string_view name, compute::DType type, std::span<const int64_t> shape) {
  KVERN_CHECK(!file_ && !shape.empty() && shape.size() <= kGgufMaxDims && name.size() <= kGgufMaxNameBytes);
  KVERN_CHECK(shape.back() % compute::traits(type).block_elements == 0);
  uint64_t size = compute::row_bytes(type, shape.back());
  for (size_t i = 0; i + 1 < shape.size(); ++i) size *= static_cast<uint64_t>(shape[i]);
  tensors_.push_back(
      {std::string(name), type, std::vector<int64_t>(shape.begin(), shape.end()), data_bytes_, size});
  data_bytes_ += padded(size, alignment_);
}

Status GgufWriter::begin(Files& files, const std::string& path) {
  KVERN_CHECK(!file_);
  std::string header;
  put(header, kGgufMagic);
  put(header, kGgufCurrent);
  put<uint64_t>(header, tensors_.size());
  put(header, entry_count_);
  header += entries_;
  for (const Tensor& tensor : tensors_) {
    put_text(header, tensor.name);
    put(header, static_cast<uint32_t>(tensor.shape.size()));
    for (size_t i = tensor.shape.size(); i > 0; --i) put(header, tensor.shape[i - 1]);
    put(header, dtype_to_ggml(tensor.type));
    put(header, tensor.offset);
  }
  header.resize(padded(header.size(), alignment_), '\0');
  KVERN_TRY(file_, files.open(path, OpenMode::kCreate));
  KVERN_TRY_STATUS(file_->write_at(0, std::as_bytes(std::span(header))));
  position_ = header.size();
  return Ok{};
}

Status GgufWriter::pad() {
  const uint64_t target = padded(position_, alignment_);
  if (target == position_) return Ok{};
  const std::vector<std::byte> zeros(target - position_);
  KVERN_TRY_STATUS(file_->write_at(position_, zeros));
  position_ = target;
  return Ok{};
}

Status GgufWriter::write(std::span<const std::byte> data) {
  KVERN_CHECK(file_ && current_ < tensors_.size() && data.size() <= tensors_[current_].size - written_);
  KVERN_TRY_STATUS(file_->write_at(position_, data));
  position_ += data.size();
  written_ += data.size();
  if (written_ < tensors_[current_].size) return Ok{};
  ++current_;
  written_ = 0;
  return pad();
}

Result<uint64_t> GgufWriter::finish() {
  KVERN_CHECK(file_ && current_ == tensors_.size());
  file_.reset();
  return position_;
}

}  // namespace kvern::model
