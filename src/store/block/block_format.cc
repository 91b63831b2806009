#include "store/block/block_format.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "store/block/checksum.h"
#include "store/block/wire.h"

namespace kvern::store {
namespace {

// As in the file.
struct Header {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t minimum_reader;
  uint32_t header_bytes;
  uint32_t kind;
  uint32_t store;
  uint32_t geometry_bytes;
  int64_t first;
  int64_t end;
  uint64_t bytes_per_position;
  uint64_t payload_bytes;
  std::array<std::byte, 32> model;
  std::array<std::byte, 32> codec;
  std::array<std::byte, 32> space;
  std::array<std::byte, kChecksumBytes> checksum;
  std::array<std::byte, 80> reserved;
};
static_assert(sizeof(Header) == 256 && std::is_trivially_copyable_v<Header>);
static_assert(offsetof(Header, first) == 32 && offsetof(Header, model) == 64);
static_assert(offsetof(Header, checksum) == 160 && offsetof(Header, reserved) == 176);

constexpr size_t kChecksumAt = offsetof(Header, checksum);
constexpr uint64_t kMostGeometry = uint64_t{1} << 20;
constexpr int64_t kMostPositions = int64_t{1} << 32;

size_t header_bytes_for(size_t geometry_bytes) { return io_round_up(sizeof(Header) + geometry_bytes); }

std::unexpected<Error> corrupt(const ContentName& name, std::string what) {
  return fail(ErrorCode::kCorrupt, "not a block of keys and values: " + std::move(what), name.to_string());
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

// What the sizes in a header must be to agree with each other and with the file.
bool sizes_agree(const Header& header, uint64_t file_bytes) {
  if (header.geometry_bytes > kMostGeometry ||
      header.header_bytes != header_bytes_for(header.geometry_bytes) || header.header_bytes > file_bytes ||
      header.payload_bytes == 0 || header.payload_bytes > file_bytes - header.header_bytes ||
      io_round_up(header.payload_bytes) != file_bytes - header.header_bytes) {
    return false;
  }
  if (header.first < 0 || header.end < header.first || header.end > kMostPositions) return false;
  const auto positions = static_cast<uint64_t>(header.end - header.first);
  if (header.kind == static_cast<uint32_t>(StateKind::kRecurrent)) {
    return positions == 0 && header.bytes_per_position == 0;
  }
  return positions > 0 && header.bytes_per_position > 0 && header.payload_bytes % positions == 0 &&
         header.payload_bytes / positions == header.bytes_per_position;
}

// Of a file of so many bytes, whose beginning this is.
Result<Header> read_header(const ContentName& name, std::span<const std::byte> bytes, uint64_t file_bytes) {
  Header header;
  if (bytes.size() < sizeof header) return corrupt(name, "it is cut off");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kBlockMagic) return corrupt(name, "it does not begin as one");
  if (header.version < kBlockMinimumRead || header.minimum_reader > kBlockVersion) {
    return fail(ErrorCode::kUnsupported,
                unknown_version("this block", header.version, header.minimum_reader,
                                {.oldest = kBlockMinimumRead, .newest = kBlockVersion}),
                name.to_string());
  }
  if (!sizes_agree(header, file_bytes)) return corrupt(name, "its sizes contradict each other");
  if (header.header_bytes > bytes.size()) return corrupt(name, "it is cut off");
  return header;
}

Result<BlockInfo> info_of(const ContentName& name, const Header& header, std::span<const std::byte> bytes) {
  const auto kind = static_cast<StateKind>(header.kind);
  if (kind != StateKind::kPositions && kind != StateKind::kRecurrent && kind != StateKind::kLatent) {
    return fail(ErrorCode::kUnsupported,
                "this block holds state of kind " + std::to_string(header.kind) + ", which is not known here",
                name.to_string());
  }
  const auto text = bytes.subspan(sizeof header, header.geometry_bytes);
  if (std::ranges::find(text, std::byte{0}) != text.end()) return corrupt(name, "its text holds a zero byte");
  return BlockInfo{.model = {header.model},
                   .codec = header.codec,
                   .space = header.space,
                   .kind = kind,
                   .store = header.store,
                   .positions = {header.first, header.end},
                   .bytes_per_position = header.bytes_per_position,
                   .geometry = {reinterpret_cast<const char*>(text.data()), text.size()}};
}

}  // namespace

size_t block_header_bytes(const BlockInfo& info) { return header_bytes_for(info.geometry.size()); }

size_t block_file_bytes(const BlockInfo& info, size_t payload_bytes) {
  return header_bytes_for(info.geometry.size()) + io_round_up(payload_bytes);
}

BlockBuilder::BlockBuilder(const BlockInfo& info, size_t payload_bytes)
    : header_bytes_(header_bytes_for(info.geometry.size())),
      payload_bytes_(payload_bytes),
      bytes_(block_file_bytes(info, payload_bytes)) {
  const Header header{.magic = kBlockMagic,
                      .version = kBlockVersion,
                      .minimum_reader = kBlockMinimumWrite,
                      .header_bytes = static_cast<uint32_t>(header_bytes_),
                      .kind = static_cast<uint32_t>(info.kind),
                      .store = info.store,
                      .geometry_bytes = static_cast<uint32_t>(info.geometry.size()),
                      .first = info.positions.begin,
                      .end = info.positions.end,
                      .bytes_per_position = info.bytes_per_position,
                      .payload_bytes = payload_bytes,
                      .model = info.model.digest,
                      .codec = info.codec,
                      .space = info.space,
                      .checksum = {},
                      .reserved = {}};
  KVERN_CHECK(info.geometry.size() <= kMostGeometry && sizes_agree(header, bytes_.size()));
  std::byte* out = bytes_.bytes().data();
  std::memset(out, 0, header_bytes_);
  std::memcpy(out, &header, sizeof header);
  std::memcpy(out + sizeof header, info.geometry.data(), info.geometry.size());
  const size_t end = header_bytes_ + payload_bytes;
  std::memset(out + end, 0, bytes_.size() - end);
}

ContentName BlockBuilder::finish() { return seal(bytes_.bytes(), kChecksumAt); }

Result<BlockInfo> decode_block_head(const ContentName& name, std::span<const std::byte> head,
                                    uint64_t file_bytes) {
  KVERN_TRY(const Header header, read_header(name, head, file_bytes));
  return info_of(name, header, head);
}

Result<BlockView> decode_block(const ContentName& name, std::span<const std::byte> bytes, BlockCheck check) {
  KVERN_TRY(const Header header, read_header(name, bytes, bytes.size()));
  if (!is_sealed(name, bytes, kChecksumAt))
    return corrupt(name, "its checksum does not agree with its content");
  if (check == BlockCheck::kName && name_of(bytes, kChecksumAt) != name)
    return corrupt(name, "its name is not that of its content");
  KVERN_TRY(BlockInfo info, info_of(name, header, bytes));
  const size_t text_end = sizeof header + header.geometry_bytes;
  if (!all_zero(bytes.subspan(text_end, header.header_bytes - text_end)) || !all_zero(header.reserved) ||
      !all_zero(bytes.subspan(header.header_bytes + header.payload_bytes))) {
    return corrupt(name, "there is something where nothing may be");
  }
  return BlockView{.info = std::move(info),
                   .payload = bytes.subspan(header.header_bytes, header.payload_bytes)};
}

}  // namespace kvern::store
