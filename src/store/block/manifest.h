// What a saved prefix is: its tokens, and where the state that they produced lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "state/sequence/row_shape.h"
#include "store/block/block_format.h"
#include "store/block/name.h"

namespace kvern::store {

/// One store of the row.
struct ManifestStore {
  StateKind kind = StateKind::kPositions;
  state::RowStore store;
  state::Held held;
};

/// The state of some positions of a store: a block where it is a whole page, else bytes of the manifest's
/// own.
struct ManifestPiece {
  uint32_t store = 0;
  state::PositionRange positions;
  std::optional<ContentName> block;
  std::vector<std::byte> data;  ///< empty where there is a block
};

/// Bytes that go with an entry and mean something to whoever put it there.
struct Attachment {
  std::string name;
  std::vector<std::byte> data;

  bool operator==(const Attachment&) const = default;
};

/// A generation that was not finished (spec: generation checkpoints).
struct Checkpoint {
  Sha256Digest key{};            ///< of everything that decides what the answer is
  int64_t prompt_tokens = 0;     ///< the entry's tokens begin with so many of the prompt
  int64_t generated_tokens = 0;  ///< that the entry's tokens end with
  int32_t pending_token = 0;     ///< sampled, not yet emitted
  uint64_t seed = 0;             ///< as used, whoever chose it
  bool seed_was_explicit = false;
  std::vector<std::byte> extra;  ///< what a sampler or grammar needs beyond

  bool operator==(const Checkpoint&) const = default;
};

/// A value.
struct Manifest {
  ModelFingerprint model;
  Sha256Digest tokenizer{};
  Sha256Digest space{};         ///< PrefixSpace::names
  Sha256Digest root{};          ///< PrefixSpace::root
  std::string identity;         ///< KvCache::identity()
  int64_t created_seconds = 0;  ///< since 1970
  uint32_t page = 0;            ///< positions of a whole page
  int64_t minimum_reusable = 0;
  std::vector<int32_t> tokens;
  std::vector<ManifestStore> stores;
  std::vector<ManifestPiece> pieces;  ///< by store, then position; exactly held_pieces() of each
  std::vector<Attachment> attachments;
  std::optional<Checkpoint> checkpoint;

  /// What the row holds, for KvCache::draft.
  state::RowShape shape() const;
};

}  // namespace kvern::store
