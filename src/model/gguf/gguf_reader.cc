#include "model/gguf/gguf_reader.h"

#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/printable.h"

namespace kvern::model {
namespace {

using Bytes = std::span<const std::byte>;

// Takes values off the front of the mapping; never past its end.
class Cursor {
 public:
  explicit Cursor(Bytes data) : data_(data) {}
  uint64_t position() const { return position_; }
  uint64_t remaining() const { return data_.size() - position_; }

  template <typename T>
  bool take(T& out) {
    if (remaining() < sizeof(T)) return false;
    std::memcpy(&out, data_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return true;
  }
  bool take_bytes(uint64_t count, Bytes& out) {
    if (remaining() < count) return false;
    out = data_.subspan(position_, count);
    position_ += count;
    return true;
  }
  bool take_string(uint64_t max_bytes, std::string_view& out) {
    uint64_t length = 0;
    Bytes bytes;
    if (!take(length) || length > max_bytes || !take_bytes(length, bytes)) return false;
    out = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    return true;
  }

 private:
  Bytes data_;
  uint64_t position_ = 0;
};

struct Header {
  uint32_t version = 0;
  uint64_t tensor_count = 0;
  uint64_t entry_count = 0;
};

// Parses one file; members are what every message needs.
class Parser {
 public:
  Parser(Bytes data, const std::string& path) : cursor_(data), data_(data), path_(path) {}

  Result<Header> header();
  Result<std::vector<GgufMetadata::Entry>> metadata(uint64_t count);
  Result<std::vector<StoredTensor>> tensors(uint64_t count, uint32_t alignment);

 private:
  // A tensor entry before the data section's start is known.
  struct Entry {
    std::string_view name;
    uint32_t type = 0;
    std::vector<int64_t> shape;
    uint64_t offset = 0;
    uint64_t size = 0;
  };

  std::unexpected<Error> corrupt(std::string reason) const {
    return fail(ErrorCode::kCorrupt,
                fmt::format("{} (at byte {} of {})", reason, cursor_.position(), data_.size()), path_);
  }
  Result<GgufValue> value(std::string_view key);
  Status array(std::string_view key, GgufValue& out);
  Result<Entry> tensor_entry(uint64_t index);
  Status dimensions(Entry& entry);
  Status measure(Entry& entry);

  Cursor cursor_;
  Bytes data_;
  const std::string& path_;
};

Result<Header> Parser::header() {
  uint32_t magic = 0;
  Header header;
  if (!cursor_.take(magic) || magic != kGgufMagic)
    return fail(ErrorCode::kCorrupt, "not a GGUF file: it does not begin with \"GGUF\"", path_);
  if (!cursor_.take(header.version)) return corrupt("the header ends early");
  if (const uint32_t swapped = __builtin_bswap32(header.version);
      header.version > 0xffff && swapped >= 1 && swapped <= kGgufCurrent)
    return fail(ErrorCode::kUnsupported, "a big-endian GGUF file; kvern reads little-endian ones", path_);
  if (header.version < kGgufOldestRead || header.version > kGgufCurrent)
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("GGUF version {}; kvern reads {} to {}", header.version, kGgufOldestRead, kGgufCurrent),
        path_);
  if (!cursor_.take(header.tensor_count) || !cursor_.take(header.entry_count))
    return corrupt("the header ends early");
  if (header.entry_count > cursor_.remaining() / kGgufMinEntryBytes)
    return corrupt(fmt::format("the header announces {} metadata entries, more than the file can hold",
                               header.entry_count));
  if (header.tensor_count > cursor_.remaining() / kGgufMinTensorBytes)
    return corrupt(
        fmt::format("the header announces {} tensors, more than the file can hold", header.tensor_count));
  return header;
}

Result<std::vector<GgufMetadata::Entry>> Parser::metadata(uint64_t count) {
  std::vector<GgufMetadata::Entry> entries;
  entries.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    std::string_view key;
    if (!cursor_.take_string(kGgufMaxKeyBytes, key) || key.empty())
      return corrupt(fmt::format("metadata entry {} has no valid key", i));
    KVERN_TRY(GgufValue parsed, value(key));
    entries.push_back({key, parsed});
  }
  return entries;
}

Result<GgufValue> Parser::value(std::string_view key) {
  uint32_t type = 0;
  if (!cursor_.take(type)) return corrupt(fmt::format("metadata key {} has no value", printable(key)));
  if (type >= kGgufValueTypeCount)
    return corrupt(fmt::format("metadata key {} has the unknown type {}", printable(key), type));
  GgufValue out;
  out.type = static_cast<GgufValueType>(type);
  if (out.type == GgufValueType::kArray) {
    KVERN_TRY_STATUS(array(key, out));
    return out;
  }
  uint64_t bytes = gguf_value_bytes(out.type);
  if (out.type == GgufValueType::kString && !cursor_.take(bytes))
    return corrupt(fmt::format("metadata key {} has no value", printable(key)));
  if (!cursor_.take_bytes(bytes, out.bytes))
    return corrupt(fmt::format("the value of metadata key {} needs {} bytes, more than the file has left",
                               printable(key), bytes));
  if (out.type == GgufValueType::kBool && std::to_integer<int>(out.bytes[0]) > 1)
    return corrupt(fmt::format("metadata key {} is a bool that is neither 0 nor 1", printable(key)));
  return out;
}

Status Parser::array(std::string_view key, GgufValue& out) {
  uint32_t element = 0;
  if (!cursor_.take(element) || !cursor_.take(out.count))
    return corrupt(fmt::format("the array of metadata key {} ends early", printable(key)));
  if (element >= kGgufValueTypeCount)
    return corrupt(
        fmt::format("the array of metadata key {} has the unknown element type {}", printable(key), element));
  out.element_type = static_cast<GgufValueType>(element);
  if (out.element_type == GgufValueType::kArray)
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("metadata key {} is an array of arrays, which kvern does not read", printable(key)),
        path_);
  const auto too_long = [&] {
    return corrupt(fmt::format("the array of metadata key {} has {} elements, more than the file can hold",
                               printable(key), out.count));
  };
  const uint64_t start = cursor_.position();
  if (out.element_type == GgufValueType::kString) {
    if (out.count > cursor_.remaining() / sizeof(uint64_t)) return too_long();
    std::string_view ignored;
    for (uint64_t i = 0; i < out.count; ++i)
      if (!cursor_.take_string(data_.size(), ignored))
        return corrupt(
            fmt::format("string {} of metadata key {} does not fit in the file", i, printable(key)));
  } else {
    const uint64_t size = gguf_value_bytes(out.element_type);
    Bytes ignored;
    if (out.count > cursor_.remaining() / size || !cursor_.take_bytes(out.count * size, ignored))
      return too_long();
  }
  out.bytes = data_.subspan(start, cursor_.position() - start);
  return Ok{};
}

Status Parser::dimensions(Entry& entry) {
  uint32_t count = 0;
  if (!cursor_.take(count))
    return corrupt(fmt::format("the entry of tensor {} ends early", printable(entry.name)));
  if (count == 0 || count > kGgufMaxDims)
    return corrupt(fmt::format("tensor {} has {} dimensions; 1 to {} are possible", printable(entry.name),
                               count, kGgufMaxDims));
  entry.shape.resize(count);
  // The file lists the innermost dimension first.
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t dimension = 0;
    if (!cursor_.take(dimension))
      return corrupt(fmt::format("the entry of tensor {} ends early", printable(entry.name)));
    if (dimension == 0 || dimension > data_.size() * 8)
      return corrupt(fmt::format("dimension {} of tensor {} is {}", i, printable(entry.name), dimension));
    entry.shape[count - 1 - i] = static_cast<int64_t>(dimension);
  }
  return Ok{};
}

Status Parser::measure(Entry& entry) {
  const auto type = ggml_to_dtype(entry.type);
  if (!type) {
    const std::string_view known = ggml_type_name(entry.type);
    return fail(
        known.empty() ? ErrorCode::kCorrupt : ErrorCode::kUnsupported,
        fmt::format("tensor {} has {} {}; kvern computes with {}", printable(entry.name),
                    known.empty() ? "the unknown type" : "the type",
                    known.empty() ? std::to_string(entry.type) : std::string(known), supported_ggml_types()),
        path_);
  }
  const compute::DTypeTraits& traits = compute::traits(*type);
  if (entry.shape.back() % traits.block_elements != 0)
    return corrupt(
        fmt::format("tensor {} has rows of {} elements, no multiple of the {} elements of a {} block",
                    printable(entry.name), entry.shape.back(), traits.block_elements, traits.name));
  uint64_t bytes = compute::row_bytes(*type, entry.shape.back());
  for (size_t i = 0; i + 1 < entry.shape.size(); ++i)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(entry.shape[i]), &bytes))
      return corrupt(fmt::format("the size of tensor {} with shape {} overflows", printable(entry.name),
                                 shape_text(entry.shape)));
  entry.size = bytes;
  return Ok{};
}

Result<Parser::Entry> Parser::tensor_entry(uint64_t index) {
  Entry entry;
  if (!cursor_.take_string(kGgufMaxNameBytes, entry.name) || entry.name.empty())
    return corrupt(
        fmt::format("tensor entry {} has no valid name (1 to {} bytes)", index, kGgufMaxNameBytes));
  KVERN_TRY_STATUS(dimensions(entry));
  if (!cursor_.take(entry.type) || !cursor_.take(entry.offset))
    return corrupt(fmt::format("the entry of tensor {} ends early", printable(entry.name)));
  KVERN_TRY_STATUS(measure(entry));
  return entry;
}

Result<std::vector<StoredTensor>> Parser::tensors(uint64_t count, uint32_t alignment) {
  const auto pad = [alignment](uint64_t n) { return (n + alignment - 1) / alignment * alignment; };
  std::vector<Entry> entries;
  entries.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    KVERN_TRY(entries.emplace_back(), tensor_entry(i));
  }
  const uint64_t start = pad(cursor_.position());
  const uint64_t available = data_.size() > start ? data_.size() - start : 0;
  std::vector<StoredTensor> tensors;
  tensors.reserve(count);
  uint64_t expected = 0;
  for (Entry& entry : entries) {
    if (entry.offset != expected)
      return fail(
          ErrorCode::kCorrupt,
          fmt::format(
              "tensor {} starts at {} of the data, but the one before it ends at {}: spans must follow "
              "each other without overlap or gap",
              printable(entry.name), entry.offset, expected),
          path_);
    if (entry.size > available || entry.offset > available - entry.size)
      return fail(
          ErrorCode::kCorrupt,
          fmt::format(
              "tensor {} needs bytes {} to {} of the file, but the file has {} bytes: it is truncated",
              printable(entry.name), start + entry.offset, start + entry.offset + entry.size, data_.size()),
          path_);
    expected = pad(entry.offset + entry.size);
    tensors.push_back({.name = std::string(entry.name),
                       .type = ggml_to_dtype(entry.type),
                       .shape = std::move(entry.shape),
                       .bytes = data_.subspan(start + entry.offset, entry.size),
                       .file = path_});
  }
  return tensors;
}

Result<uint32_t> read_alignment(const GgufMetadata& metadata, const std::string& path) {
  KVERN_TRY(const auto declared, metadata.get_optional<uint32_t>("general.alignment"));
  const uint32_t alignment = declared.value_or(kGgufDefaultAlignment);
  if (!std::has_single_bit(alignment) || alignment > kGgufMaxAlignment)
    return fail(ErrorCode::kCorrupt,
                fmt::format("general.alignment is {}; it must be a power of two up to {}", alignment,
                            kGgufMaxAlignment),
                path);
  return alignment;
}

Status refuse_parts(const GgufMetadata& metadata, const std::string& path) {
  KVERN_TRY(const auto parts, metadata.get_optional<uint32_t>("split.count"));
  if (parts.value_or(1) > 1)
    return fail(ErrorCode::kUnsupported,
                fmt::format("one part of a model that is split into {} files; merge them into one file first",
                            *parts),
                path);
  return Ok{};
}

}  // namespace

Result<std::unique_ptr<GgufFile>> GgufFile::open(Files& files, const std::string& path) {
  std::unique_ptr<GgufFile> file(new GgufFile());
  file->path_ = path;
  KVERN_TRY(file->mapping_, files.map(path));
  Parser parser(file->mapping_->bytes(), file->path_);
  KVERN_TRY(const Header header, parser.header());
  file->version_ = header.version;
  KVERN_TRY(auto entries, parser.metadata(header.entry_count));
  KVERN_TRY(file->metadata_, GgufMetadata::create(std::move(entries), path));
  KVERN_TRY(file->alignment_, read_alignment(file->metadata_, path));
  KVERN_TRY_STATUS(refuse_parts(file->metadata_, path));
  KVERN_TRY(auto tensors, parser.tensors(header.tensor_count, file->alignment_));
  KVERN_TRY(file->directory_, TensorDirectory::create(std::move(tensors), path));
  return file;
}

}  // namespace kvern::model
