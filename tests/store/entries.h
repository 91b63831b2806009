// Entries whose every byte follows from the tokens, so that what comes back can be checked without the entry
// that was saved.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory_files.h"
#include "store/disk/disk_store.h"
#include "store/samples.h"

namespace kvern::store::test {

inline uint64_t mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdU;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53U;
  return x ^ x >> 33;
}

/// What state is of the last position of some tokens under an identity.
inline std::vector<uint64_t> states_of(const PrefixSpace& space, std::span<const int32_t> tokens) {
  uint64_t state = 0;
  std::memcpy(&state, space.root.data(), sizeof state);
  std::vector<uint64_t> states;
  for (const int32_t token : tokens) {
    state = mix(state + static_cast<uint32_t>(token) + 1);
    states.push_back(state);
  }
  return states;
}

class TokenPieces final : public PieceSource {
 public:
  TokenPieces(const PrefixSpace& space, std::span<const int32_t> tokens, std::vector<ManifestStore> stores)
      : states_(states_of(space, tokens)), stores_(std::move(stores)) {}

  void read(size_t store, const state::PositionRange& range, std::span<std::byte> out) const override {
    // Of a state that cannot be cut: that of the last position.
    const size_t bytes = range.size() == 0 ? out.size() : stores_[store].store.bytes_per_position;
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t position =
          range.size() == 0 ? states_.size() - 1 : static_cast<size_t>(range.begin) + i / bytes;
      out[i] = static_cast<std::byte>(mix(states_[position] + store * 1000 + i % bytes));
    }
  }

 private:
  std::vector<uint64_t> states_;
  std::vector<ManifestStore> stores_;
};

/// How entries are made: pages of `page`, a store that keeps all and, with a window, one that keeps its end.
struct EntryKind {
  int64_t window = 0;  ///< then an entry can only be cut within `slack` of its end
  int64_t slack = 4;
  bool recurrent = false;  ///< then it cannot be cut at all
};

inline int64_t minimum_of(const EntryKind& kind, int64_t length) {
  if (kind.recurrent) return length;
  if (kind.window == 0 || length <= kind.window + kind.slack) return 0;
  return length - kind.slack;
}

inline std::vector<ManifestStore> stores_of(const EntryKind& kind, int64_t length) {
  std::vector<ManifestStore> stores = {
      {StateKind::kPositions, {true, 0, 0, 24, "layers=0 heads=1 k=8:f16 v=4:f16\n"}, {0, length}}};
  if (kind.window > 0) {
    const int64_t begin = std::max<int64_t>(0, length - kind.window - kind.slack);
    const state::RowStore store{true, 0, 2, 8, "layers=1 heads=1 k=2:f16 v=2:f16\n"};
    stores.push_back({StateKind::kPositions, store, {begin <= 2 ? 0 : begin, length}});
  }
  if (kind.recurrent)
    stores.push_back({StateKind::kRecurrent, {true, 0, 0, 0, "layers=2 recurrent\n"}, {0, length}});
  return stores;
}

inline NewEntry make_entry(const std::shared_ptr<const PrefixSpace>& space, std::vector<int32_t> tokens,
                           const EntryKind& kind = {}) {
  const auto length = std::ssize(tokens);
  NewEntry entry{.space = space,
                 .tokens = std::move(tokens),
                 .minimum_reusable = minimum_of(kind, length),
                 .stores = stores_of(kind, length)};
  entry.uncut_bytes.resize(entry.stores.size());
  if (kind.recurrent) entry.uncut_bytes.back() = 50;
  entry.pieces = std::make_shared<TokenPieces>(*space, entry.tokens, entry.stores);
  return entry;
}

/// Loads a hit as far as its files are good. How many tokens of the prompt it gave, or -1 when a byte was not
/// what the prompt's tokens give, which must never happen.
inline int64_t restored_tokens(DiskStore& store, const PrefixSpace& space, std::span<const int32_t> prompt,
                               const IndexHit& hit) {
  const auto m = store.load(space, prompt, hit);
  if (!m) return 0;
  if (hit.tokens > std::ssize(m->tokens) ||
      !std::equal(prompt.begin(), prompt.begin() + hit.tokens, m->tokens.begin()))
    return -1;
  const TokenPieces expected(space, prompt.first(static_cast<size_t>(hit.tokens)), m->stores);
  int64_t good = hit.tokens;
  for (size_t i = 0; i < m->pieces.size(); ++i) {
    const ManifestPiece& piece = m->pieces[i];
    const bool cuttable = m->stores[piece.store].kind != StateKind::kRecurrent;
    const state::PositionRange wanted{piece.positions.begin, std::min(piece.positions.end, hit.tokens)};
    if (cuttable && wanted.begin >= wanted.end) continue;
    const size_t index[] = {i};
    const auto loaded = std::move(store.read(*m, index)[0]);
    if (!loaded) {
      good = std::min(good, cuttable ? wanted.begin : 0);
      continue;
    }
    const size_t bytes =
        cuttable ? static_cast<size_t>(wanted.size()) * m->stores[piece.store].store.bytes_per_position
                 : loaded->bytes.size();
    std::vector<std::byte> right(bytes);
    expected.read(piece.store, cuttable ? wanted : piece.positions, right);
    if (loaded->bytes.size() < bytes || !std::equal(right.begin(), right.end(), loaded->bytes.begin()))
      return -1;
  }
  return good >= m->minimum_reusable ? good : 0;
}

/// Remembers what it was told.
class MemoryLog final : public LogSink {
 public:
  void log(LogLevel /*level*/, std::string_view message) override {
    const MutexLock lock(mutex_);
    text_ += std::string(message) + "\n";
  }
  std::string text() {
    const MutexLock lock(mutex_);
    return text_;
  }

 private:
  Mutex mutex_;
  std::string text_;
};

/// Files in memory with a store on them.
struct Place {
  std::unique_ptr<Files> files = make_memory_files();
  std::unique_ptr<BlockIo> io = make_files_io(*files);
  ManualClock clock{std::chrono::system_clock::time_point(std::chrono::hours(24 * 365 * 50))};
  MemoryLog log;
  DiskOptions options{.directory = "kv", .chain = {.page = 16}};

  DiskParts parts() { return {*files, *io, clock, log}; }
  Result<std::unique_ptr<DiskStore>> open() { return DiskStore::open(parts(), options); }
};

inline std::shared_ptr<const PrefixSpace> space_named(const std::string& name) {
  PrefixIdentity identity = sample_space().identity;
  identity.model.digest = digest_of(name);
  return std::make_shared<const PrefixSpace>(make_prefix_space(identity));
}

/// `count` tokens that depend on `seed`.
inline std::vector<int32_t> tokens_of(int64_t count, uint64_t seed) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<int32_t>(mix(seed * 1000003 + static_cast<uint64_t>(i)) % 50000));
  return tokens;
}

}  // namespace kvern::store::test
