#include "state/sequence/row_image.h"

#include <cstring>
#include <utility>

#include "base/hash.h"

namespace kvern::state {
namespace {

// All numbers are little-endian.
constexpr std::array<char, 8> kMagic = {'K', 'V', 'R', 'N', 'R', 'O', 'W', '\n'};
constexpr uint32_t kVersion = 1;
constexpr size_t kChecksumBytes = 8;

class Writer {
 public:
  void raw(std::span<const std::byte> bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  void number(uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) out_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  std::vector<std::byte>& bytes() { return out_; }

 private:
  std::vector<std::byte> out_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}
  bool raw(size_t count, std::span<const std::byte>& out) {
    if (count > left_.size()) return false;
    out = left_.first(count);
    left_ = left_.subspan(count);
    return true;
  }
  bool number(size_t bytes, uint64_t& out) {
    std::span<const std::byte> raw_bytes;
    if (!raw(bytes, raw_bytes)) return false;
    out = 0;
    for (size_t i = 0; i < bytes; ++i) out |= static_cast<uint64_t>(raw_bytes[i]) << (8 * i);
    return true;
  }
  bool position(int64_t& out) {
    uint64_t value = 0;
    if (!number(8, value) || value > (uint64_t{1} << 32)) return false;
    out = static_cast<int64_t>(value);
    return true;
  }
  size_t left() const { return left_.size(); }

 private:
  std::span<const std::byte> left_;
};

std::unexpected<Error> corrupt(const std::string& what) {
  return fail(ErrorCode::kCorrupt, "not a saved row of keys and values: " + what);
}

bool read_store(Reader& reader, StoreImage& store) {
  uint64_t size = 0;
  std::span<const std::byte> records;
  if (!reader.position(store.held.tail_begin) || !reader.position(store.held.length) ||
      !reader.number(8, size) || size > reader.left() || !reader.raw(static_cast<size_t>(size), records)) {
    return false;
  }
  store.records.assign(records.begin(), records.end());
  return true;
}

}  // namespace

size_t RowImage::bytes() const {
  size_t sum = 0;
  for (const StoreImage& store : stores) sum += store.records.size();
  return sum;
}

std::vector<std::byte> to_bytes(const RowImage& image) {
  Writer out;
  out.bytes().reserve(image.bytes() + image.identity.size() + 64 + 32 * image.stores.size());
  out.raw(std::as_bytes(std::span(kMagic)));
  out.number(kVersion, 4);
  out.number(image.identity.size(), 4);
  out.raw(std::as_bytes(std::span(image.identity)));
  out.number(static_cast<uint64_t>(image.length), 8);
  out.number(image.stores.size(), 4);
  for (const StoreImage& store : image.stores) {
    out.number(static_cast<uint64_t>(store.held.tail_begin), 8);
    out.number(static_cast<uint64_t>(store.held.length), 8);
    out.number(store.records.size(), 8);
    out.raw(store.records);
  }
  out.number(xxh3_64(out.bytes()), kChecksumBytes);
  return std::move(out.bytes());
}

Result<RowImage> row_image_from_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < kMagic.size() + kChecksumBytes ||
      std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return corrupt("it does not begin as one");
  }
  const auto content = bytes.first(bytes.size() - kChecksumBytes);
  Reader reader(content.subspan(kMagic.size()));
  uint64_t version = 0;
  if (!reader.number(4, version)) return corrupt("it is cut off");
  if (version != kVersion) {
    return fail(ErrorCode::kUnsupported, "this row of keys and values was saved in format " +
                                             std::to_string(version) + ", but only format 1 can be read");
  }
  uint64_t checksum = 0;
  Reader(bytes.last(kChecksumBytes)).number(kChecksumBytes, checksum);
  if (checksum != xxh3_64(content)) return corrupt("its checksum does not agree with its content");
  RowImage image;
  uint64_t identity_bytes = 0;
  uint64_t stores = 0;
  std::span<const std::byte> identity;
  if (!reader.number(4, identity_bytes) || !reader.raw(static_cast<size_t>(identity_bytes), identity) ||
      !reader.position(image.length) || !reader.number(4, stores)) {
    return corrupt("its header is impossible");
  }
  image.identity.assign(reinterpret_cast<const char*>(identity.data()), identity.size());
  for (uint64_t i = 0; i < stores; ++i) {
    if (!read_store(reader, image.stores.emplace_back())) {
      return corrupt("store " + std::to_string(i) + " is impossible");
    }
  }
  if (reader.left() != 0) return corrupt("something follows its last store");
  return image;
}

}  // namespace kvern::state
