// A tier in memory whose every answer a test decides. One thread, like the Batch that uses it.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/tier/tier.h"

namespace kvern::engine::test {

class FakeTier : public store::Tier {
 public:
  static constexpr int64_t kPage = 16;

  /// A prefix that is saved.
  struct Stored {
    Sha256Digest root{};
    std::vector<int32_t> tokens;
    int64_t minimum = 0;
    state::RowShape shape;
    struct Piece {
      size_t store = 0;
      state::PositionRange positions;
      std::vector<std::byte> bytes;
    };
    std::vector<Piece> pieces;  // by position
  };

  // What it does.
  bool declines = false;       ///< offers
  bool saves_at_once = true;   ///< else save_waiting() does
  int64_t arriving = 1 << 20;  ///< pieces that may still be taken, of all restores
  bool says_shape = true;
  std::optional<size_t> damaged;  ///< this piece of every restore never comes, nor what follows it

  // What was done.
  std::vector<std::vector<int32_t>> offered;
  std::vector<int64_t> lookups;  ///< `more_than` of each
  int open_restores = 0;
  std::vector<bool> told_busy;
  int not_ready = 0;    ///< so often ready() says no
  int asked_ahead = 0;  ///< calls of ready()
  std::vector<std::vector<int32_t>> distrusted;

  const std::vector<Stored>& stored() const { return stored_; }
  void save_waiting() {
    for (store::NewEntry& entry : std::exchange(waiting_, {})) save(entry);
  }
  /// They are let go without being saved.
  void drop_waiting() {
    stats_.dropped += waiting_.size();
    waiting_.clear();
  }
  void forget_all() { stored_.clear(); }
  /// All bytes of the first page are ones: no numbers in any floating-point type.
  void poison() {
    for (Stored& one : stored_) {
      for (Stored::Piece& piece : one.pieces) {
        if (piece.positions.begin == 0) std::ranges::fill(piece.bytes, std::byte{0xFF});
      }
    }
  }

  void set_busy(bool busy) override { told_busy.push_back(busy); }

  bool ready(const std::shared_ptr<const store::PrefixSpace>&, std::span<const int32_t>) override {
    ++asked_ahead;
    return not_ready-- <= 0;
  }

  bool offer(store::NewEntry entry) override {
    offered.push_back(entry.tokens);
    if (declines) {
      ++stats_.declined;
      return false;
    }
    if (saves_at_once) {
      save(entry);
    } else {
      waiting_.push_back(std::move(entry));
    }
    return true;
  }

  std::optional<store::TierHit> lookup(std::shared_ptr<const store::PrefixSpace> space,
                                       std::span<const int32_t> prompt, int64_t more_than) override {
    lookups.push_back(more_than);
    ++stats_.lookups;
    const Stored* best = nullptr;
    int64_t most = more_than;
    for (const Stored& one : stored_) {
      if (one.root != space->root) continue;
      const auto differs = std::ranges::mismatch(prompt.first(prompt.size() - 1), one.tokens);
      const int64_t common = differs.in2 - one.tokens.begin();
      if (common < one.minimum || common <= most) continue;
      best = &one;
      most = common;
    }
    if (best == nullptr) return std::nullopt;
    ++stats_.hits;
    return store::TierHit{.tokens = most, .restore = std::make_unique<Restore>(*this, *best, most)};
  }

  bool covers(const store::PrefixSpace& space, std::span<const int32_t> tokens) override {
    return std::ranges::any_of(stored_, [&](const Stored& one) {
      return one.root == space.root && std::ranges::equal(one.tokens, tokens);
    });
  }
  Status erase(const store::PrefixSpace& /*space*/, std::span<const int32_t> /*tokens*/) override {
    return fail(ErrorCode::kNotFound, "nothing is erased here");
  }
  void distrust(std::shared_ptr<const store::PrefixSpace> space, std::vector<int32_t> tokens) override {
    distrusted.push_back(tokens);
    std::erase_if(stored_, [&](const Stored& one) {
      return one.root == space->root && std::ranges::mismatch(tokens, one.tokens).in1 == tokens.end();
    });
  }
  store::FlushReport flush(std::chrono::steady_clock::time_point /*deadline*/) override {
    return {.durable = waiting_.empty(), .left = waiting_.size()};
  }
  store::TierStats stats() override {
    store::TierStats stats = stats_;
    stats.name = "fake";
    stats.entries = std::ssize(stored_);
    stats.pending = waiting_.size();
    return stats;
  }

 private:
  class Restore final : public store::TierRestore {
   public:
    Restore(FakeTier& tier, Stored stored, int64_t tokens)
        : tier_(tier), stored_(std::make_shared<const Stored>(std::move(stored))), tokens_(tokens) {
      ++tier_.open_restores;
    }
    ~Restore() override { --tier_.open_restores; }

    const state::RowShape* shape(std::chrono::steady_clock::time_point /*deadline*/) override {
      return tier_.says_shape ? &stored_->shape : nullptr;
    }
    int64_t minimum_reusable() const override { return stored_->minimum; }
    std::optional<store::RestoredPiece> take() override {
      if (over() || tier_.arriving <= 0) return std::nullopt;
      --tier_.arriving;
      const Stored::Piece& piece = stored_->pieces[next_++];
      return store::RestoredPiece{piece.store, piece.positions, piece.bytes, stored_};
    }
    void wait(std::chrono::steady_clock::time_point /*deadline*/) override {}
    bool finished() const override { return tier_.says_shape && over(); }
    int64_t until() const override {
      if (!tier_.damaged || *tier_.damaged >= stored_->pieces.size()) return tokens_;
      return std::min(tokens_, stored_->pieces[*tier_.damaged].positions.begin);
    }

   private:
    bool over() const {
      return next_ >= stored_->pieces.size() || next_ == tier_.damaged ||
             stored_->pieces[next_].positions.begin >= tokens_;
    }

    FakeTier& tier_;
    const std::shared_ptr<const Stored> stored_;
    const int64_t tokens_;
    size_t next_ = 0;
  };

  void save(const store::NewEntry& entry) {
    Stored made{.root = entry.space->root,
                .tokens = entry.tokens,
                .minimum = entry.minimum_reusable,
                .shape = {.length = std::ssize(entry.tokens), .stores = {}},
                .pieces = {}};
    for (size_t s = 0; s < entry.stores.size(); ++s) {
      const store::ManifestStore& one = entry.stores[s];
      made.shape.stores.push_back(one.held);
      for (const auto& range : state::held_pieces(one.store, one.held, kPage)) {
        std::vector<std::byte> bytes(static_cast<size_t>(range.size()) * one.store.bytes_per_position);
        entry.pieces->read(s, range, bytes);
        made.pieces.push_back({s, range, std::move(bytes)});
      }
    }
    std::ranges::stable_sort(made.pieces, {}, [](const auto& piece) { return piece.positions.begin; });
    stored_.push_back(std::move(made));
    ++stats_.saved;
  }

  std::vector<Stored> stored_;
  std::vector<store::NewEntry> waiting_;
  store::TierStats stats_;
};

}  // namespace kvern::engine::test
