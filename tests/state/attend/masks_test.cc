#include "state/attend/masks.h"

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace kvern::state {
namespace {

std::string line(const AttentionMask& mask, int64_t row, int64_t query) {
  std::string text;
  for (int64_t j = 0; j < mask.keys; ++j) text += mask.at(row, query, j) ? '1' : '0';
  return text;
}

std::vector<std::string> lines(const AttentionMask& mask) {
  std::vector<std::string> all;
  for (int64_t b = 0; b < mask.rows; ++b) {
    for (int64_t i = 0; i < mask.queries; ++i) all.push_back(line(mask, b, i));
  }
  return all;
}

// What a query at `position` sees of a row, by the words of the definition.
std::set<int64_t> seen_by(int64_t position, int64_t window) {
  std::set<int64_t> seen;
  for (int64_t p = 0; p <= position; ++p) {
    if (window == 0 || position - p < window) seen.insert(p);
  }
  return seen;
}

TEST(CausalMask, SeesTheWindowAndItself) {
  for (int64_t n = 1; n <= 8; ++n) {
    for (int64_t o = 0; o <= 8; ++o) {
      for (int64_t window = 0; window <= 8; ++window) {
        const AttentionMask mask = causal_mask({n, o, window});
        ASSERT_EQ(mask.keys, o + n);
        for (int64_t i = 0; i < n; ++i) {
          std::set<int64_t> seen;
          for (int64_t j = 0; j < mask.keys; ++j) {
            if (mask.at(0, i, j)) seen.insert(j);
          }
          ASSERT_EQ(seen, seen_by(o + i, window)) << n << ' ' << o << ' ' << window;
        }
      }
    }
  }
}

TEST(CausalMask, WithoutAWindowOrInsideItIsAlignedAtTheBottomRight) {
  EXPECT_EQ(lines(causal_mask({3, 2, 0})), (std::vector<std::string>{"11100", "11110", "11111"}));
  EXPECT_EQ(lines(causal_mask({3, 2, 5})), lines(causal_mask({3, 2, 0})));
  EXPECT_EQ(lines(causal_mask({3, 2, 2})), (std::vector<std::string>{"01100", "00110", "00011"}));
}

TEST(BidirectionalMask, WhatIsFlaggedSeesEachOther) {
  const std::array<bool, 5> flags = {false, true, false, true, true};
  EXPECT_EQ(lines(bidirectional_mask(flags, 2)),
            (std::vector<std::string>{"10000", "11011", "01100", "01111", "01011"}));
  const std::array<bool, 4> none{};
  EXPECT_EQ(lines(bidirectional_mask(none, 3)), lines(causal_mask({4, 0, 3})));
}

// Appendix B1, B2.
TEST(PaddedMask, HidesPaddingAndWhatShorterRowsHoldBehindTheirEnd) {
  const std::array<PaddedMaskRow, 3> joined = {
      {{.pad = 3, .end = 9}, {.pad = 5, .end = 9}, {.pad = 0, .end = 9}}};
  EXPECT_EQ(lines(padded_mask(joined, 1, 0)),
            (std::vector<std::string>{"0001111111", "0000011111", "1111111111"}));
  const std::array<PaddedMaskRow, 2> unequal = {{{.pad = 0, .end = 5}, {.pad = 2, .end = 7}}};
  EXPECT_EQ(lines(padded_mask(unequal, 1, 0)), (std::vector<std::string>{"11111100", "00111111"}));
}

TEST(PaddedMask, SeesTheWindowOfEachRow) {
  for (int64_t n = 1; n <= 8; ++n) {
    for (int64_t o = 0; o <= 8; ++o) {
      for (int64_t window = 0; window <= 8; ++window) {
        // Three rows of 0 to o positions, one of them with its end further left.
        const std::array<PaddedMaskRow, 3> rows = {
            {{.pad = 0, .end = o}, {.pad = o - o / 2, .end = o}, {.pad = 1, .end = 1 + o / 3}}};
        const AttentionMask mask = padded_mask(rows, n, window);
        ASSERT_EQ(mask.keys, std::max(o, 1 + o / 3) + n);
        for (int64_t b = 0; b < 3; ++b) {
          const PaddedMaskRow& row = rows[static_cast<size_t>(b)];
          for (int64_t i = 0; i < n; ++i) {
            std::set<int64_t> seen;
            for (int64_t j = 0; j < mask.keys; ++j) {
              if (mask.at(b, i, j)) seen.insert(j - row.pad);
            }
            ASSERT_EQ(seen, seen_by(row.end - row.pad + i, window));
          }
        }
      }
    }
  }
}

TEST(PaddedMask, TheHeadIsSeenWhateverTheWindowAndTheGapNever) {
  const std::array<PaddedMaskRow, 1> row = {{{.pad = 1, .end = 9, .head_end = 3, .tail = 5}}};
  EXPECT_EQ(lines(padded_mask(row, 2, 3)), (std::vector<std::string>{"01100001110", "01100000111"}));
  EXPECT_EQ(lines(padded_mask(row, 1, 0)), (std::vector<std::string>{"0110011111"}));
}

TEST(RightPaddedMask, HidesWhatIsBehindEachPrompt) {
  const std::array<int64_t, 3> lengths = {3, 0, 2};
  EXPECT_EQ(lines(right_padded_mask(lengths, 3)),
            (std::vector<std::string>{"100", "110", "111", "000", "000", "000", "100", "110", "110"}));
}

// Appendix B4: the last block of a ring of 4.
TEST(RotatingRowMask, ClampsTheOffsetToTheRing) {
  EXPECT_EQ(lines(rotating_row_mask({2, 7, 4}, 4)), (std::vector<std::string>{"11110", "01111"}));
  EXPECT_EQ(lines(rotating_row_mask({1, 6, 4}, 4)), (std::vector<std::string>{"1111"}));
  EXPECT_EQ(lines(rotating_row_mask({3, 0, 4}, 4)), lines(causal_mask({3, 0, 0})));
}

// A ring tensor of tags: which position of its row each column holds; kPadding where it is none of the row's.
class RingTensor {
 public:
  static constexpr int64_t kPadding = -1;

  explicit RingTensor(int64_t capacity, std::span<const RotatingSource> rows = {})
      : positions_(merge_rotating(capacity, rows)) {
    for (const RotatingSource& row : rows) {
      std::vector<int64_t> tags(static_cast<size_t>(positions_.columns - row.held), kPadding);
      for (int64_t p = row.length - row.held; p < row.length; ++p) tags.push_back(p);
      tensor_.push_back(std::move(tags));
    }
  }

  RotatingPositions& positions() { return positions_; }
  const std::vector<int64_t>& tags(size_t row) const { return tensor_[row]; }

  void append(int64_t tokens) {
    std::vector<std::vector<int64_t>> fresh;
    for (size_t b = 0; b < tensor_.size(); ++b) {
      fresh.emplace_back();
      for (int64_t t = 0; t < tokens; ++t) {
        const int64_t p = positions_.offsets[b] + t;
        const bool own = positions_.ends.empty() || p < positions_.ends[b];
        fresh.back().push_back(own ? p : kPadding);
      }
    }
    move(rotating_append(positions_, tokens), fresh);
  }
  void rollback(std::span<const int64_t> lengths) {
    move(rotating_rollback(positions_, lengths), {});
    for (size_t b = 0; b < tensor_.size(); ++b) {
      for (int64_t& tag : tensor_[b]) tag = tag >= lengths[b] ? kPadding : tag;
    }
  }
  void settle() { move(settle_right_padding(positions_), {}); }
  void select(std::span<const int64_t> rows) {
    select_rows(positions_, rows);
    std::vector<std::vector<int64_t>> chosen;
    for (const int64_t row : rows) chosen.push_back(tensor_[static_cast<size_t>(row)]);
    tensor_ = std::move(chosen);
  }
  std::vector<int64_t> extract(size_t row, int64_t limit) const {
    std::vector<int64_t> tags;
    for (const int64_t c : rotating_columns(positions_, static_cast<int64_t>(row), limit)) {
      tags.push_back(tensor_[row][static_cast<size_t>(c)]);
    }
    return tags;
  }
  /// The positions that query i of a row sees; kPadding among them is wrong.
  std::multiset<int64_t> seen(const AttentionMask& mask, size_t row, int64_t query) const {
    std::multiset<int64_t> seen;
    for (int64_t c = 0; c < mask.keys; ++c) {
      if (mask.at(static_cast<int64_t>(row), query, c)) seen.insert(tensor_[row][static_cast<size_t>(c)]);
    }
    return seen;
  }

 private:
  void move(const ColumnMoves& moves, const std::vector<std::vector<int64_t>>& fresh) {
    for (size_t b = 0; b < tensor_.size(); ++b) {
      std::vector<int64_t> source = tensor_[b];
      if (!fresh.empty()) source.insert(source.end(), fresh[b].begin(), fresh[b].end());
      std::vector<int64_t> tags;
      for (int64_t c = 0; c < moves.columns; ++c) {
        const int64_t from = moves.from[b * static_cast<size_t>(moves.columns) + static_cast<size_t>(c)];
        tags.push_back(from == kEmptyColumn ? kPadding : source[static_cast<size_t>(from)]);
      }
      tensor_[b] = std::move(tags);
    }
  }

  RotatingPositions positions_;
  std::vector<std::vector<int64_t>> tensor_;
};

using Tags = std::vector<int64_t>;
constexpr int64_t kX = RingTensor::kPadding;

// Appendix B4.
TEST(RotatingPositions, OneRowGoesRound) {
  const std::array<RotatingSource, 1> empty = {{{0, 0}}};
  RingTensor ring(4, empty);
  ring.append(6);
  EXPECT_EQ(ring.tags(0), (Tags{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(ring.positions().head, 6);
  ring.append(1);
  EXPECT_EQ(ring.tags(0), (Tags{6, 3, 4, 5}));
  EXPECT_EQ(ring.positions().head, 1);
  EXPECT_EQ(ring.positions().offsets[0], 7);
  EXPECT_EQ(ring.extract(0, 4), (Tags{3, 4, 5, 6}));
  EXPECT_EQ(lines(rotating_mask(ring.positions(), 2, 4)), (std::vector<std::string>{"11110", "01111"}));
  ring.append(2);
  EXPECT_EQ(ring.tags(0), (Tags{4, 5, 6, 7, 8}));
  EXPECT_EQ(ring.positions().head, 5);
  EXPECT_EQ(ring.positions().offsets[0], 9);
  EXPECT_EQ(ring.extract(0, 4), (Tags{5, 6, 7, 8}));
}

// Appendix B5.
TEST(RotatingPositions, TwoRowsAreVerifiedAndKeepDifferentNumbers) {
  const std::array<RotatingSource, 2> rows = {{{5, 4}, {3, 3}}};
  RingTensor ring(4, rows);
  EXPECT_EQ(ring.tags(1), (Tags{kX, 0, 1, 2}));
  EXPECT_EQ(ring.positions().pads, (Tags{0, 1}));
  EXPECT_EQ(lines(rotating_mask(ring.positions(), 3, 4)),
            (std::vector<std::string>{"111100", "011110", "001111", "111100", "011110", "001111"}));
  ring.append(3);
  EXPECT_EQ(ring.tags(0), (Tags{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(ring.tags(1), (Tags{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(ring.positions().pads, (Tags{-1, 0}));
  EXPECT_EQ(ring.positions().offsets, (Tags{8, 6}));
  EXPECT_EQ(ring.positions().written, 7);
  ring.rollback(Tags{6, 6});
  EXPECT_EQ(ring.positions().pads, (Tags{1, 0}));
  EXPECT_EQ(ring.tags(0), (Tags{kX, kX, 2, 3, 4, 5}));
  EXPECT_EQ(ring.extract(0, 4), (Tags{2, 3, 4, 5}));
  EXPECT_EQ(ring.extract(1, 4), (Tags{2, 3, 4, 5}));
  EXPECT_EQ(lines(rotating_mask(ring.positions(), 1, 4)), (std::vector<std::string>{"1111", "1111"}));
  ring.append(1);
  EXPECT_EQ(ring.tags(0), (Tags{6, 3, 4, 5}));
  EXPECT_EQ(ring.tags(1), (Tags{6, 3, 4, 5}));
  EXPECT_EQ(ring.positions().pads, (Tags{-2, -3}));
  EXPECT_EQ(ring.positions().head, 1);
  EXPECT_EQ(ring.positions().written, 8);
}

// Section 3.6: M = 6, rows of 4 and 2 positions, one token a step; the masks of the second row.
TEST(RotatingPositions, TheMaskTurnsWithTheRing) {
  const std::array<RotatingSource, 2> rows = {{{4, 4}, {2, 2}}};
  RingTensor ring(6, rows);
  for (const char* expected : {"00111", "001111", "101111", "111111", "111111"}) {
    EXPECT_EQ(line(rotating_mask(ring.positions(), 1, 6), 1, 0), expected);
    ring.append(1);
  }
}

// Appendix B3.
TEST(RotatingPositions, RightPaddingMovesToTheLeft) {
  const std::array<RotatingSource, 2> rows = {{{0, 0}, {0, 0}}};
  struct Case {
    int64_t columns;
    Tags offsets;
    Tags pads;
    Tags tags;  // of the first row
  };
  for (const Case& c : {Case{5, {3, 5}, {2, 0}, {kX, kX, 0, 1, 2}}, Case{4, {3, 4}, {1, 0}, {kX, 0, 1, 2}},
                        Case{2, {2, 2}, {0, 0}, {0, 1}}}) {
    RingTensor ring(16, rows);
    expect_right_padding(ring.positions(), Tags{3, 5});
    ring.append(c.columns);
    EXPECT_EQ(ring.positions().offsets, (Tags{c.columns, c.columns}));
    ring.settle();
    EXPECT_EQ(ring.positions().offsets, c.offsets);
    EXPECT_EQ(ring.positions().pads, c.pads);
    EXPECT_EQ(ring.tags(0), c.tags);
  }
}

// Random histories: every query sees exactly the newest positions of its row, and so does what is extracted.
class RingHistory {
 public:
  explicit RingHistory(uint32_t seed) : random_(seed), capacity_(draw(1, 9)), ring_(capacity_, sources()) {}

  void run(int64_t operations) {
    for (int64_t i = 0; i < operations && !testing::Test::HasFatalFailure(); ++i) {
      switch (draw(0, 6)) {
        case 0:
          prefill();
          break;
        case 1:
        case 2:
          verify();
          break;
        case 3:
          leave();
          break;
        default:
          write(1);
      }
      check_extracts();
    }
  }

 private:
  int64_t draw(int64_t from, int64_t to) {
    return from + static_cast<int64_t>(random_() % static_cast<uint64_t>(to - from));
  }
  std::vector<RotatingSource> sources() {
    std::vector<RotatingSource> rows;
    for (int64_t b = draw(1, 4); b-- > 0;) {
      const int64_t length = draw(0, 15);
      rows.push_back({length, std::min(length, capacity_)});
    }
    return rows;
  }
  size_t rows() { return ring_.positions().offsets.size(); }

  void write(int64_t tokens) {
    const RotatingPositions before = ring_.positions();
    const AttentionMask mask = rotating_mask(before, tokens, capacity_);
    ring_.append(tokens);
    for (size_t b = 0; b < rows(); ++b) {
      only_padding_ |= !before.ends.empty() && before.offsets[b] >= before.ends[b];
      for (int64_t i = 0; i < tokens; ++i) {
        const int64_t p = before.offsets[b] + i;
        if (!before.ends.empty() && p >= before.ends[b]) continue;  // padding: its output has no meaning
        const std::set<int64_t> expected = seen_by(p, capacity_);
        ASSERT_EQ(ring_.seen(mask, b, i), (std::multiset<int64_t>(expected.begin(), expected.end())));
      }
    }
  }
  void prefill() {
    Tags lengths;
    for (size_t b = 0; b < rows(); ++b) lengths.push_back(draw(0, 8));
    expect_right_padding(ring_.positions(), lengths);
    const int64_t width = std::ranges::max(lengths);
    for (int64_t done = 0; done < width && !testing::Test::HasFatalFailure();) {
      const int64_t chunk = std::min(width - done, draw(1, 5));
      write(chunk);
      done += chunk;
      if (draw(0, 8) == 0) break;  // the cohort ends early
    }
    ring_.settle();
  }
  void verify() {
    const Tags before = ring_.positions().offsets;
    const int64_t tokens = draw(2, 6);
    write(tokens);
    Tags lengths;
    for (const int64_t offset : before) lengths.push_back(offset + draw(1, tokens + 1));
    ring_.rollback(lengths);
  }
  void leave() {
    if (rows() < 2) return;
    Tags order;
    for (size_t b = 0; b < rows(); ++b) order.push_back(static_cast<int64_t>(b));
    std::ranges::shuffle(order, random_);
    if (draw(0, 4) == 0) order.pop_back();
    ring_.select(order);
  }
  // A block makes room for its first query, which sees M - 1 older positions; a row to which it brings only
  // padding has no more than those.
  void check_extracts() {
    const int64_t limit = only_padding_ ? capacity_ - 1 : capacity_;
    for (size_t b = 0; b < rows(); ++b) {
      const int64_t length = ring_.positions().offsets[b];
      Tags newest;
      for (int64_t p = std::max<int64_t>(0, length - limit); p < length; ++p) newest.push_back(p);
      ASSERT_EQ(ring_.extract(b, limit), newest);
    }
  }

  std::mt19937 random_;
  int64_t capacity_;
  RingTensor ring_;
  bool only_padding_ = false;
};

TEST(RotatingPositions, EveryHistoryShowsTheNewestPositions) {
  for (uint32_t seed = 0; seed < 5000; ++seed) {
    RingHistory history(seed);
    history.run(12);
    if (HasFatalFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

}  // namespace
}  // namespace kvern::state
