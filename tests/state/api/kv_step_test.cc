// What a caller can get wrong inside a step is an error, and the step goes on.
#include <cmath>

#include <gtest/gtest.h>

#include "kvern/state.h"
#include "state/api/twin.h"
#include "support/result_matchers.h"

namespace kvern {
namespace {

using test::kTwinLayers;
using test::TwinArrays;

class KvStepTest : public testing::Test {
 protected:
  KvState state_ = *KvState::create(kTwinLayers);
  Compute compute_ = *Compute::create({.threads = 1});
  KvRow row_ = *state_.add_row();
  std::mt19937 random_{3};
};

TEST_F(KvStepTest, SaysWhichRowsBringWhat) {
  const KvRow other = *state_.add_row();
  ASSERT_OK_AND_ASSIGN(const KvStep step, state_.begin({{other, 2}, {row_, 3}}));
  EXPECT_EQ(step.tokens(), 5);
  ASSERT_EQ(step.rows().size(), 2U);
  EXPECT_EQ(step.rows()[1].row, row_);
  EXPECT_EQ(step.rows()[1].first, 0);
  EXPECT_EQ(step.rows()[1].tokens, 3);
  EXPECT_EQ(step.rows()[1].offset, 2);
  EXPECT_EQ(std::vector(step.positions().begin(), step.positions().end()),
            (std::vector<int64_t>{0, 1, 0, 1, 2}));
}

TEST_F(KvStepTest, RefusesWrongSizesAndGoesOn) {
  ASSERT_OK_AND_ASSIGN(KvStep step, state_.begin({{row_, 4}}));
  TwinArrays arrays(random_, kTwinLayers[0], 4);
  EXPECT_ERROR(step.append(compute_, 2, arrays.input()), kInvalidArgument, "layer 2");
  EXPECT_ERROR(step.append(compute_, 0, {.k = {}, .v = arrays.v}), kInvalidArgument,
               "k: 0 floats are too few");
  KvInput input = arrays.input();
  input.v = input.v.first(input.v.size() - 1);
  EXPECT_ERROR(step.append(compute_, 0, input), kInvalidArgument,
               "v: 255 floats are too few for 4 tokens of 64");
  input = arrays.input();
  input.k_stride = 127;
  EXPECT_ERROR(step.append(compute_, 0, input), kInvalidArgument, "stride of 127");
  input.k_stride = std::numeric_limits<int64_t>::max();
  EXPECT_ERROR(step.append(compute_, 0, input), kInvalidArgument, "too few");
  input.k_stride = std::numeric_limits<int64_t>::min();
  EXPECT_ERROR(step.append(compute_, 0, input), kInvalidArgument, "stride");

  EXPECT_ERROR(step.attend(compute_, 0, arrays.attention()), kInvalidArgument, "append");
  ASSERT_OK(step.append(compute_, 0, arrays.input()));
  EXPECT_ERROR(step.append(compute_, 0, arrays.input()), kInvalidArgument, "already");
  for (const int64_t heads : {0, -2, 3, 65538}) {
    KvAttention attention = arrays.attention();
    attention.heads = heads;
    EXPECT_ERROR(step.attend(compute_, 0, attention), kInvalidArgument, "query heads");
  }
  KvAttention attention = arrays.attention();
  attention.out = attention.out.first(1);
  EXPECT_ERROR(step.attend(compute_, 0, attention), kInvalidArgument, "out: 1 floats");
  attention = arrays.attention();
  attention.q = {};
  EXPECT_ERROR(step.attend(compute_, 0, attention), kInvalidArgument, "q: 0 floats");
  attention = arrays.attention();
  const std::vector<float> logits(3);
  attention.sink_logits = logits;
  EXPECT_ERROR(step.attend(compute_, 0, attention), kInvalidArgument, "one logit for each query head");
  EXPECT_ERROR(step.attend(compute_, 7, arrays.attention()), kInvalidArgument, "layers 0 to 1");
  EXPECT_OK(step.attend(compute_, 0, arrays.attention()));
  EXPECT_TRUE(std::isfinite(arrays.out[0]));
}

TEST_F(KvStepTest, KeepsNothingThatWasNotWritten) {
  {
    ASSERT_OK_AND_ASSIGN(KvStep step, state_.begin({{row_, 4}}));
    TwinArrays arrays(random_, kTwinLayers[0], 4);
    ASSERT_OK(step.append(compute_, 0, arrays.input()));
    EXPECT_ERROR(step.commit(), kInvalidArgument, "layer 1");
    EXPECT_ERROR(step.commit(std::vector<int64_t>{}), kInvalidArgument, "one number for each row");
    EXPECT_ERROR(step.commit(std::vector<int64_t>{5}), kInvalidArgument, "5 of 4");
    EXPECT_ERROR(step.commit(std::vector<int64_t>{-1}), kInvalidArgument, "row 1");
    EXPECT_OK(step.commit(std::vector<int64_t>{0})) << "keeping nothing needs nothing";
  }
  EXPECT_EQ(state_.length(row_), 0);
  EXPECT_EQ(state_.usage().live, 0U);
}

TEST_F(KvStepTest, EndsOnce) {
  ASSERT_OK_AND_ASSIGN(KvStep step, state_.begin({{row_, 1}}));
  for (size_t layer = 0; layer < kTwinLayers.size(); ++layer) {
    TwinArrays arrays(random_, kTwinLayers[layer], 1);
    ASSERT_OK(step.append(compute_, layer, arrays.input()));
  }
  ASSERT_OK(step.commit());
  TwinArrays arrays(random_, kTwinLayers[0], 1);
  EXPECT_ERROR(step.append(compute_, 0, arrays.input()), kInvalidArgument, "begin another one");
  EXPECT_ERROR(step.attend(compute_, 0, arrays.attention()), kInvalidArgument, "begin another one");
  EXPECT_ERROR(step.commit(), kInvalidArgument, "begin another one");
  EXPECT_ERROR(step.rollback(), kInvalidArgument, "begin another one");
  EXPECT_EQ(step.tokens(), 0);
  EXPECT_EQ(state_.length(row_), 1);
}

TEST_F(KvStepTest, IsRolledBackWhenItIsDropped) {
  {
    ASSERT_OK_AND_ASSIGN(const KvStep step, state_.begin({{row_, 300}}));
    EXPECT_GT(state_.usage().live, 0U);
  }
  EXPECT_EQ(state_.usage().live, 0U);
  ASSERT_OK_AND_ASSIGN(KvStep step, state_.begin({{row_, 1}}));
  KvStep moved = std::move(step);
  EXPECT_EQ(moved.tokens(), 1);
}

TEST_F(KvStepTest, MayOutliveItsState) {
  std::optional<KvStep> step;
  {
    KvState gone = *KvState::create(kTwinLayers);
    step = *gone.begin({{*gone.add_row(), 5}});
  }
  TwinArrays arrays(random_, kTwinLayers[0], 5);
  EXPECT_OK(step->append(compute_, 0, arrays.input()));
  EXPECT_OK(step->rollback());
}

TEST_F(KvStepTest, MayBringNothing) {
  ASSERT_OK_AND_ASSIGN(KvStep step, state_.begin({{row_, 0}}));
  EXPECT_OK(step.append(compute_, 0, {}));
  EXPECT_OK(step.attend(compute_, 0, {.heads = 2}));
  EXPECT_OK(step.commit());
  ASSERT_OK_AND_ASSIGN(KvStep none, state_.begin({}));
  EXPECT_OK(none.commit());
}

TEST_F(KvStepTest, TakesStridesOfOtherArrays) {
  ASSERT_OK_AND_ASSIGN(KvStep step, state_.begin({{row_, 3}}));
  TwinArrays arrays(random_, kTwinLayers[0], 3);
  // Queries and outputs of two layers beside each other.
  std::vector<float> wide(3 * 512, 0.0F);
  for (size_t t = 0; t < 3; ++t) std::copy_n(&arrays.q[t * 256], 256, &wide[t * 512]);
  ASSERT_OK(step.append(compute_, 0, arrays.input()));
  ASSERT_OK(step.attend(compute_, 0, arrays.attention()));
  std::vector<float> out(3 * 200, -1.0F);
  KvAttention attention{.q = wide, .out = out, .heads = arrays.heads, .q_stride = 512, .out_stride = 200};
  ASSERT_OK(step.attend(compute_, 0, attention));
  for (size_t t = 0; t < 3; ++t) {
    EXPECT_TRUE(std::equal(&arrays.out[t * 128], &arrays.out[t * 128] + 128, &out[t * 200]));
    EXPECT_EQ(out[t * 200 + 128], -1.0F);
  }
}

}  // namespace
}  // namespace kvern
