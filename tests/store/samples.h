// A block and a manifest with something of everything, the same in every run.
#pragma once

#include <cstdint>
#include <vector>

#include "store/block/block_format.h"
#include "store/block/manifest_format.h"
#include "store/prefix/prefix_space.h"

namespace kvern::store::test {

inline Sha256Digest digest_of(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }

inline PrefixSpace sample_space() {
  return make_prefix_space({.model = {digest_of("model")},
                            .tokenizer = digest_of("tokenizer"),
                            .cache = "heads=2 k=8:f16 v=8:f16\n",
                            .adapter = "adapter",
                            .tenant = "tenant"});
}

/// `count` bytes that depend on `seed` and nothing else.
inline std::vector<std::byte> sample_bytes(size_t count, uint64_t seed) {
  std::vector<std::byte> bytes(count);
  uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
  for (std::byte& b : bytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    b = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

inline BlockInfo sample_block_info() {
  const PrefixSpace space = sample_space();
  return {.model = space.identity.model,
          .codec = space.codec,
          .space = space.names,
          .kind = StateKind::kPositions,
          .store = 1,
          .positions = {64, 80},
          .bytes_per_position = 72,
          .geometry = "layers=0-1 heads=2 k=8:f16 v=8:f16\n"};
}

inline BlockBuilder sample_block() {
  BlockBuilder block(sample_block_info(), 16 * 72);
  const auto payload = sample_bytes(block.payload().size(), 1);
  std::ranges::copy(payload, block.payload().begin());
  return block;
}

/// The pieces that a manifest asks for; names and bytes are made up.
inline void add_sample_pieces(Manifest& m) {
  m.pieces.clear();
  for (uint32_t s = 0; s < m.stores.size(); ++s) {
    const ManifestStore& store = m.stores[s];
    if (store.kind == StateKind::kRecurrent) {
      m.pieces.push_back({s, {store.held.length, store.held.length}, std::nullopt, sample_bytes(100, s)});
      continue;
    }
    for (const state::PositionRange& range : state::held_pieces(store.store, store.held, m.page)) {
      ManifestPiece piece{.store = s, .positions = range};
      const auto number = static_cast<uint64_t>(range.begin) * 16 + s;
      if (range.size() == m.page) {
        piece.block = ContentName{digest_of("block " + std::to_string(number))};
      } else {
        piece.data = sample_bytes(static_cast<size_t>(range.size()) * store.store.bytes_per_position, number);
      }
      m.pieces.push_back(std::move(piece));
    }
  }
}

/// 70 tokens in pages of 16: a full store, a window with sinks, a store that precision left, a recurrent one.
inline Manifest sample_manifest() {
  const PrefixSpace space = sample_space();
  Manifest m{.model = space.identity.model,
             .tokenizer = space.identity.tokenizer,
             .space = space.names,
             .root = space.root,
             .identity = space.identity.cache,
             .created_seconds = 1'800'000'000,
             .page = 16,
             .minimum_reusable = 69};
  for (int32_t i = 0; i < 70; ++i) m.tokens.push_back(i * i - 3);
  m.stores = {
      {StateKind::kPositions, {true, 0, 0, 72, "layers=0-1 heads=2 k=8:f16 v=8:f16\n"}, {0, 70}},
      {StateKind::kPositions, {true, 0, 4, 40, "layers=2 heads=1 k=8:f16 v=12:f16\n"}, {30, 70}},
      {StateKind::kPositions, {false, 0, 20, 64, "layers=0-1 heads=2 k=8:f16 v=8:f16\n"}, {0, 20}},
      {StateKind::kRecurrent, {true, 0, 0, 0, "layers=3 kind=recurrent\n"}, {0, 70}},
  };
  add_sample_pieces(m);
  m.attachments = {{"name", sample_bytes(10, 3)}, {"empty", {}}, {"long", sample_bytes(5000, 4)}};
  m.checkpoint = Checkpoint{.key = digest_of("request"),
                            .prompt_tokens = 60,
                            .generated_tokens = 10,
                            .pending_token = 7,
                            .seed = 42,
                            .seed_was_explicit = true,
                            .extra = sample_bytes(20, 5)};
  return m;
}

}  // namespace kvern::store::test
