#include "state/layout/padded.h"

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "state/attend/masks.h"
#include "state/layout/layout_scene.h"
#include "support/result_matchers.h"

namespace kvern::state {
namespace {

constexpr int64_t kHeads = 2;
constexpr int64_t kDim = 3;

Geometry floats() {
  return {.layers = {{kHeads, test::side_of({kDim * sizeof(float)}), test::side_of({kDim * sizeof(float)})}}};
}

// Rows of a padded layout with random keys and values.
class PaddedRows {
 public:
  explicit PaddedRows(StoreSpec spec = {.geometry = floats()})
      : spec_(std::move(spec)), padded_(spec_, account_, true) {}

  PaddedLayout& layout() { return padded_; }
  PaddedRow place(RowSlot row) const { return padded_.place(row); }
  int64_t length(RowSlot row) const { return padded_.held(row).length; }

  RowSlot join(int64_t length) {
    const RowSlot row = padded_.add_row();
    EXPECT_OK(padded_.assign(row, {0, length}));
    write(row, 0, length);
    return row;
  }
  void extend(RowSlot row, int64_t count) {
    const int64_t before = length(row);
    EXPECT_OK(padded_.extend(row, before + count));
    write(row, before, before + count);
  }

  const float* record(RowSlot row, int64_t head, KvSide side, int64_t position) const {
    RunList runs;
    padded_.collect(row, {LayerIndex{0}, head, side}, position, position + 1, runs);
    return reinterpret_cast<const float*>(EncodedRuns(runs).front().planes[0]);
  }
  const float* dense_record(int64_t row, int64_t head, KvSide side, int64_t column) const {
    const PaddedView view = padded_.view(LayerIndex{0}, side);
    const PaddedPlane& plane = view.plane[0];
    return reinterpret_cast<const float*>(plane.data + static_cast<size_t>(row) * plane.row_stride +
                                          static_cast<size_t>(head) * plane.head_stride +
                                          static_cast<size_t>(column) * plane.record_bytes);
  }

 private:
  void write(RowSlot row, int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      for (int64_t head = 0; head < kHeads; ++head) {
        for (const KvSide side : {KvSide::kKey, KvSide::kValue}) {
          auto* to = const_cast<float*>(record(row, head, side, p));
          for (int64_t d = 0; d < kDim; ++d) to[d] = normal_(random_);
        }
      }
    }
  }

  StoreSpec spec_;
  MemoryAccount account_{0};
  PaddedLayout padded_;
  std::mt19937 random_{11};
  std::normal_distribution<float> normal_;
};

// Softmax-weighted sum over what is added, in the order in which it is added.
class Attention {
 public:
  void add(const float* key, const float* value) {
    double score = 0;
    for (int64_t d = 0; d < kDim; ++d) score += key[d] * (0.3 + static_cast<double>(d));
    const double weight = std::exp(score);
    total_ += weight;
    for (int64_t d = 0; d < kDim; ++d) sums_[static_cast<size_t>(d)] += weight * value[d];
  }
  std::array<double, kDim> result() const {
    auto out = sums_;
    for (double& x : out) x /= total_;
    return out;
  }

 private:
  double total_ = 0;
  std::array<double, kDim> sums_{};
};

std::string line(const AttentionMask& mask, int64_t row, int64_t query = 0) {
  std::string text;
  for (int64_t j = 0; j < mask.keys; ++j) text += mask.at(row, query, j) ? '1' : '0';
  return text;
}

PaddedMaskRow mask_row(const PaddedRow& row, int64_t new_positions = 0) {
  return {.pad = row.pad, .end = row.end - new_positions, .head_end = row.head_end, .tail = row.tail};
}

// Appendix B1.
TEST(PaddedLayout, RowsJoinAndLeaveRightAligned) {
  PaddedRows rows;
  const RowSlot a = rows.join(5);
  const RowSlot b = rows.join(3);
  EXPECT_EQ(rows.place(a).pad, 0);
  EXPECT_EQ(rows.place(b).pad, 2);
  EXPECT_EQ(rows.place(a).end, 5);
  rows.extend(a, 1);
  rows.extend(b, 1);
  EXPECT_EQ(rows.place(a).end, 6);
  EXPECT_EQ(rows.place(b).end, 6);
  const RowSlot c = rows.join(9);
  EXPECT_EQ(rows.place(a).pad, 3);
  EXPECT_EQ(rows.place(b).pad, 5);
  EXPECT_EQ(rows.place(c).pad, 0);
  const std::vector<PaddedMaskRow> before = {mask_row(rows.place(a)), mask_row(rows.place(b)),
                                             mask_row(rows.place(c))};
  const AttentionMask mask = padded_mask(before, 1, 0);
  EXPECT_EQ(mask.keys, 10);
  EXPECT_EQ(line(mask, 0), "0001111111");
  EXPECT_EQ(line(mask, 1), "0000011111");
  EXPECT_EQ(line(mask, 2), "1111111111");
  rows.layout().remove_row(c);
  EXPECT_EQ(rows.place(a).pad, 0);
  EXPECT_EQ(rows.place(b).pad, 2);
  EXPECT_EQ(rows.place(a).end, 6);
  EXPECT_EQ(rows.length(a), 6);
  EXPECT_EQ(rows.length(b), 4);
}

// Appendix B2.
TEST(PaddedLayout, RowsAdvanceByDifferentNumbers) {
  PaddedRows rows;
  const RowSlot a = rows.join(4);
  const RowSlot b = rows.join(2);
  rows.extend(a, 3);
  rows.extend(b, 3);
  EXPECT_EQ(rows.place(a).end, 7);
  rows.layout().cut(a, 5);
  rows.layout().cut(b, 5);
  EXPECT_EQ(rows.place(a).end, 5);
  EXPECT_EQ(rows.place(b).end, 7);
  const std::vector<PaddedMaskRow> before = {mask_row(rows.place(a)), mask_row(rows.place(b))};
  const AttentionMask mask = padded_mask(before, 1, 0);
  EXPECT_EQ(mask.keys, 8);
  EXPECT_EQ(line(mask, 0), "11111100");
  EXPECT_EQ(line(mask, 1), "00111111");
}

TEST(PaddedLayout, PaddingIsZeroAndShowsWhenPoisoned) {
  for (const bool poison : {false, true}) {
    MemoryAccount account(0);
    PaddedLayout padded({.geometry = floats()}, account, poison);
    const RowSlot a = padded.add_row();
    const RowSlot b = padded.add_row();
    ASSERT_OK(padded.assign(a, {0, 9}));
    ASSERT_OK(padded.assign(b, {0, 4}));
    const PaddedPlane plane = padded.view(LayerIndex{0}, KvSide::kValue).plane[0];
    const std::byte* begin = plane.data + static_cast<size_t>(padded.place(b).row) * plane.row_stride;
    for (size_t i = 0; i < 5 * plane.record_bytes; ++i) {
      ASSERT_EQ(begin[i], poison ? std::byte{0xff} : std::byte{0});
    }
  }
}

TEST(PaddedLayout, AShortPromptJoinsWithoutMoreColumns) {
  PaddedRows rows;
  rows.join(200);
  const RowSlot b = rows.layout().add_row();
  rows.extend(b, 30);
  EXPECT_EQ(rows.place(b).pad, 170);
  EXPECT_EQ(rows.place(b).end, 200);
  EXPECT_EQ(rows.layout().view(LayerIndex{0}, KvSide::kKey).columns, kPaddedStep);
}

TEST(PaddedLayout, DroppedColumnsAreAGapUntilTheNextArrangement) {
  PaddedRows rows({.geometry = floats(), .head_end = 2, .tail = 10});
  const RowSlot a = rows.join(100);
  rows.layout().drop(a, 90);
  PaddedRow place = rows.place(a);
  EXPECT_EQ(place.head_end, place.pad + 2);
  EXPECT_EQ(place.tail, place.pad + 90);
  EXPECT_EQ(place.end, place.pad + 100);
  rows.join(5);
  place = rows.place(a);
  EXPECT_EQ(place.pad, 0);
  EXPECT_EQ(place.tail, 2);
  EXPECT_EQ(place.end, 12);
}

TEST(PaddedLayout, WhatARowTakesBeyondItsOwnIsSlack) {
  PaddedRows rows;
  rows.join(1000);
  const RowSlot b = rows.join(10);
  const size_t token = floats().bytes_per_token();
  EXPECT_EQ(rows.layout().usage().live, (1024 + 256) * token);
  EXPECT_EQ(rows.layout().usage().slack, (1024 - 256) * token);
  EXPECT_EQ(rows.layout().row_bytes(rows.layout().held(b)), 256 * token);
}

// A dense backend: all columns of the view under the explicit mask, against the positions themselves.
class DenseTwin {
 public:
  static constexpr int64_t kWindow = 7;
  static constexpr int64_t kTail = 12;

  void step(int64_t tokens) {
    for (const RowSlot row : list_) rows_.extend(row, tokens);
    std::vector<PaddedMaskRow> places;
    for (const RowSlot row : list_) places.push_back(mask_row(rows_.place(row), tokens));
    const AttentionMask mask = padded_mask(places, tokens, kWindow);
    for (size_t b = 0; b < list_.size(); ++b) {
      for (int64_t i = 0; i < tokens; ++i) {
        for (int64_t head = 0; head < kHeads; ++head) {
          ASSERT_EQ(dense(mask, b, i, head),
                    by_positions(list_[b], rows_.length(list_[b]) - tokens + i, head));
        }
      }
    }
  }
  void close(int64_t rejected) {
    for (const RowSlot row : list_) {
      const int64_t length =
          rows_.length(row) - static_cast<int64_t>(random_() % static_cast<uint64_t>(rejected + 1));
      rows_.layout().cut(row, length);
      rows_.layout().drop(row, std::max<int64_t>(0, length - kTail));
    }
  }
  void change_rows() {
    if (list_.size() < 5 && random_() % 2 == 0) {
      list_.push_back(rows_.join(1 + static_cast<int64_t>(random_() % 40)));
    } else if (list_.size() < 5 && !list_.empty() && random_() % 2 == 0) {
      const RowSlot twin = rows_.layout().add_row();
      ASSERT_OK(rows_.layout().fork(list_[random_() % list_.size()], twin));
      list_.push_back(twin);
    } else if (!list_.empty()) {
      const size_t leaving = random_() % list_.size();
      rows_.layout().remove_row(list_[leaving]);
      list_.erase(list_.begin() + static_cast<int64_t>(leaving));
    }
  }
  uint32_t random() { return static_cast<uint32_t>(random_()); }

 private:
  std::array<double, kDim> dense(const AttentionMask& mask, size_t b, int64_t query, int64_t head) const {
    Attention attention;
    const int64_t row = rows_.place(list_[b]).row;
    for (int64_t column = 0; column < mask.keys; ++column) {
      if (!mask.at(static_cast<int64_t>(b), query, column)) continue;
      attention.add(rows_.dense_record(row, head, KvSide::kKey, column),
                    rows_.dense_record(row, head, KvSide::kValue, column));
    }
    return attention.result();
  }
  std::array<double, kDim> by_positions(RowSlot row, int64_t position, int64_t head) const {
    Attention attention;
    for (int64_t p = 0; p <= position; ++p) {
      if (p >= 2 && p <= position - kWindow) continue;
      attention.add(rows_.record(row, head, KvSide::kKey, p), rows_.record(row, head, KvSide::kValue, p));
    }
    return attention.result();
  }

  PaddedRows rows_{{.geometry = floats(), .head_end = 2, .tail = kTail}};
  std::vector<RowSlot> list_;
  std::mt19937 random_{3};
};

TEST(PaddedLayout, DenseAttentionUnderTheMaskIsAttentionOverThePositions) {
  DenseTwin twin;
  for (int round = 0; round < 1500; ++round) {
    if (twin.random() % 4 == 0) twin.change_rows();
    ASSERT_FALSE(HasFatalFailure());
    const int64_t tokens = 1 + twin.random() % 4;
    ASSERT_NO_FATAL_FAILURE(twin.step(tokens));
    twin.close(std::min<int64_t>(tokens, 4));
  }
}

}  // namespace
}  // namespace kvern::state
