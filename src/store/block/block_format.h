// A block: the state of some consecutive positions in one store of a row, as a file that says what it is.
// The byte table is docs/formats/kv-block.md.
//
// A block never changes. Its name is the SHA-256 of all its bytes with the checksum as zeros, so equal
// content of equal identity is one block, and content of another model, codec, tenant or adapter never is.
// The checksum, which every read verifies, covers the name, too: a block in another's place fails.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/hash.h"
#include "base/result.h"
#include "state/layout/ranges.h"
#include "store/block/aligned_buffer.h"
#include "store/block/name.h"

namespace kvern::store {

inline constexpr std::array<char, 8> kBlockMagic = {'K', 'V', 'R', 'N', 'B', 'L', 'K', '\n'};
inline constexpr uint32_t kBlockVersion = 1;       ///< what is written
inline constexpr uint32_t kBlockMinimumRead = 1;   ///< the oldest version that is read
inline constexpr uint32_t kBlockMinimumWrite = 1;  ///< the oldest reader that understands what is written
static_assert(kBlockMinimumRead <= kBlockVersion && kBlockMinimumWrite <= kBlockVersion);

/// What a store's bytes are.
enum class StateKind : uint32_t {
  kPositions = 1,  ///< keys and values, a record for each position
  kRecurrent = 2,  ///< the state after a position; it cannot be cut
  kLatent = 3,     ///< a compressed record for each position
};

/// All that a block says besides its payload.
struct BlockInfo {
  ModelFingerprint model;
  Sha256Digest codec{};  ///< SHA-256 of KvCache::identity()
  Sha256Digest space{};  ///< of adapter and tenant: PrefixSpace::names
  StateKind kind = StateKind::kPositions;
  uint32_t store = 0;  ///< index in KvCache::stores()
  state::PositionRange positions;
  uint64_t bytes_per_position = 0;  ///< 0 for a state that has no positions
  std::string geometry;             ///< RowStore::text

  bool operator==(const BlockInfo&) const = default;
};

/// A block under construction: fill payload(), then finish().
class BlockBuilder {
 public:
  BlockBuilder(const BlockInfo& info, size_t payload_bytes);

  std::span<std::byte> payload() { return bytes_.bytes().subspan(header_bytes_, payload_bytes_); }
  /// Writes the checksum; afterwards bytes() is the block.
  ContentName finish();
  /// A multiple of kIoAlignment long.
  std::span<const std::byte> bytes() const { return bytes_.bytes(); }
  AlignedBuffer take() { return std::move(bytes_); }

 private:
  size_t header_bytes_;
  size_t payload_bytes_;
  AlignedBuffer bytes_;
};

/// A block in somebody's memory.
struct BlockView {
  BlockInfo info;
  std::span<const std::byte> payload;
};

enum class BlockCheck : uint8_t {
  kChecksum,  ///< every read
  kName,      ///< also that the name is that of the content
};

/// Reads anybody's bytes: kCorrupt says what is wrong with the block of this name, kUnsupported which version
/// it has.
Result<BlockView> decode_block(const ContentName& name, std::span<const std::byte> bytes,
                               BlockCheck check = BlockCheck::kChecksum);

/// What a block says of itself, without a look at its payload: for whoever only wants to know whose it is.
/// `head` is the beginning of its file of `file_bytes`, with the whole header. A damaged block may say
/// anything.
Result<BlockInfo> decode_block_head(const ContentName& name, std::span<const std::byte> head,
                                    uint64_t file_bytes);

/// How long the header of a block is.
size_t block_header_bytes(const BlockInfo& info);
/// How long the file of a block is.
size_t block_file_bytes(const BlockInfo& info, size_t payload_bytes);

}  // namespace kvern::store
