// A prefix that is offered to be kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "state/layout/ranges.h"
#include "store/block/manifest.h"
#include "store/prefix/prefix_space.h"

namespace kvern::store {

/// Where the bytes of an entry come from. Read by one thread at a time, which is not the one that made it.
class PieceSource {
 public:
  virtual ~PieceSource() = default;
  /// The piece (state/sequence/piece.h) of a range of held positions of a store; of a state that cannot be
  /// cut all of it. `out` has its size.
  virtual void read(size_t store, const state::PositionRange& range, std::span<std::byte> out) const = 0;
};

/// Moved to whoever keeps it.
struct NewEntry {
  std::shared_ptr<const PrefixSpace> space;
  std::vector<int32_t> tokens;
  int64_t minimum_reusable = 0;
  std::vector<ManifestStore> stores;
  /// Bytes of a state that cannot be cut, by store; empty where there is none.
  std::vector<size_t> uncut_bytes;
  std::shared_ptr<const PieceSource> pieces;
  std::vector<Attachment> attachments;
  std::optional<Checkpoint> checkpoint;
  bool pinned = false;
  int64_t seconds_to_live = 0;  ///< 0 = for ever
  /// Called by whoever saves the entry, between pieces; may take its time. Empty: nothing.
  std::function<void()> between_pieces;

  bool has_extras() const { return !attachments.empty() || checkpoint.has_value(); }
  /// Of its state, all of it.
  size_t bytes() const;
  /// Of its files, with pages of so many positions, when it shares none; a little more than they have.
  size_t file_bytes(int64_t page) const;
};

}  // namespace kvern::store
