// The transactions of KvCache, and that what it computes is exact: equal bits with the slow reference for
// every codec, chunking, thread count, instruction set and company in the step.
#include "state/sequence/kv_cache.h"

#include <cstring>

#include <gtest/gtest.h>

#include "support/kv_script.h"
#include "support/result_matchers.h"

namespace kvern::state {
namespace {

using test::KvScene;

constexpr KvLayerSpec kSmall{.kv_heads = 2, .k_dim = 40, .v_dim = 24};
constexpr int64_t kGroup = 3;

KvOptions poisoned(CodecKind kind) { return {.types = {{.kind = kind}, {.kind = kind}}, .poison = true}; }

TEST(KvCache, GivesTheBitsOfTheReferenceForEveryFloatCodec) {
  for (const CodecKind kind : {CodecKind::kF32, CodecKind::kF16, CodecKind::kBF16}) {
    SCOPED_TRACE(static_cast<int>(kind));
    KvScene scene(kSmall, kGroup, poisoned(kind));
    scene.add_row();
    for (const int64_t chunk : {1, 15, 16, 17, 40, 64, 300, 200}) {
      scene.step({{0, chunk}});
      ASSERT_TRUE(scene.outputs_equal_reference())
          << "chunk of " << chunk << " ending at " << scene.length(0);
    }
  }
}

TEST(KvCache, IsCloseToDoublePrecision) {
  KvScene scene(kSmall, kGroup, poisoned(CodecKind::kF32));
  scene.add_row();
  scene.step({{0, 600}});
  EXPECT_LT(scene.worst_error_against_double(), 2e-6);
}

TEST(KvCache, IsExactForHeadSizesThatFillNoRegister) {
  for (const auto& [k_dim, v_dim] :
       {std::pair<int64_t, int64_t>{1, 1}, {80, 80}, {96, 128}, {72, 20}, {256, 17}}) {
    SCOPED_TRACE(testing::Message() << k_dim << " and " << v_dim);
    KvScene scene({.kv_heads = 1, .k_dim = k_dim, .v_dim = v_dim}, 2, poisoned(CodecKind::kF16));
    scene.add_row();
    for (const int64_t chunk : {70, 1, 2, 5, 64}) {
      scene.step({{0, chunk}});
      ASSERT_TRUE(scene.outputs_equal_reference());
    }
  }
}

TEST(KvCache, IsExactForEveryNumberOfQueryHeadsThatShareKeys) {
  for (const int64_t group : {1, 2, 4, 5, 7, 8, 12, 16}) {
    SCOPED_TRACE(group);
    KvScene scene(kSmall, group, poisoned(CodecKind::kBF16));
    scene.add_row();
    for (const int64_t chunk : {65, 1, 1, 3, 20}) {
      scene.step({{0, chunk}});
      ASSERT_TRUE(scene.outputs_equal_reference());
    }
  }
}

TEST(KvCache, DoesNotShowThreadsOrInstructionSets) {
  for (const compute::CpuTarget target : compute::compiled_targets()) {
    if (!compute::is_supported(target)) continue;
    for (const int threads : {1, 2, 3, 8}) {
      SCOPED_TRACE(testing::Message() << compute::to_string(target) << " with " << threads << " threads");
      KvScene scene(kSmall, kGroup, poisoned(CodecKind::kF16), {target, threads});
      scene.add_row();
      for (const int64_t chunk : {600, 1, 1, 4, 70}) {
        scene.step({{0, chunk}});
        ASSERT_TRUE(scene.outputs_equal_reference());
      }
    }
  }
}

TEST(KvCache, DoesNotShowOtherRowsOfTheStep) {
  KvScene scene(kSmall, kGroup, poisoned(CodecKind::kF16), {*compute::best_target(), 3});
  for (int i = 0; i < 5; ++i) scene.add_row();
  scene.step({{0, 700}, {1, 1}, {2, 33}});
  ASSERT_TRUE(scene.outputs_equal_reference());
  scene.step({{3, 0}, {2, 1}, {4, 64}, {0, 1}, {1, 20}});
  ASSERT_TRUE(scene.outputs_equal_reference());
  scene.step({{4, 1}, {3, 513}, {0, 2}});
  ASSERT_TRUE(scene.outputs_equal_reference());
}

TEST(KvCache, SeesNoFutureTokenEvenIfItIsNotANumber) {
  KvScene scene(kSmall, kGroup, poisoned(CodecKind::kF32));
  scene.add_row();
  scene.step({{0, 50}});
  scene.poison_next_token_at(30);  // of a chunk of 40
  scene.step({{0, 40}});
  EXPECT_TRUE(scene.first_outputs_equal_reference(30));
  EXPECT_TRUE(scene.outputs_are_nan_from(30));
}

TEST(KvCache, SeesThePositionOfItsOwnQuery) {
  KvScene scene({.kv_heads = 1, .k_dim = 16, .v_dim = 16}, 1, poisoned(CodecKind::kF32));
  scene.add_row();
  scene.step({{0, 1}});
  EXPECT_TRUE(scene.outputs_equal_reference()) << "one token attends to itself: the output is its value";
  scene.poison_next_token_at(0);
  scene.step({{0, 1}});
  EXPECT_TRUE(scene.outputs_are_nan_from(0));
}

TEST(KvCache, RollbackAndAbandonedStepsLeaveNoTrace) {
  KvScene scene(kSmall, kGroup, poisoned(CodecKind::kF16));
  scene.add_row();
  scene.add_row();
  scene.step({{0, 250}, {1, 3}});
  const size_t before = scene.cache().live_bytes();
  {
    const RowAppend append[] = {{scene.row(0), 40}, {scene.row(1), 600}};
    ASSERT_OK_AND_ASSIGN(Step step, scene.cache().begin(append));
    EXPECT_GT(scene.cache().live_bytes(), before);
    scene.cache().rollback(std::move(step));
    EXPECT_EQ(scene.cache().live_bytes(), before);
    ASSERT_OK_AND_ASSIGN(Step abandoned, scene.cache().begin(append));
  }
  EXPECT_EQ(scene.cache().live_bytes(), before);
  EXPECT_EQ(*scene.cache().length(scene.row(0)), 250);
  scene.step({{0, 30}, {1, 1}});
  EXPECT_TRUE(scene.outputs_equal_reference());
}

TEST(KvCache, CommitKeepsAsMuchOfEachRowAsItIsTold) {
  KvScene scene(kSmall, kGroup, poisoned(CodecKind::kF16));
  scene.add_row();
  scene.add_row();
  scene.step({{0, 100}, {1, 255}});
  scene.step_keeping({{0, 8}, {1, 6}}, {3, 0});
  EXPECT_EQ(*scene.cache().length(scene.row(0)), 103);
  EXPECT_EQ(*scene.cache().length(scene.row(1)), 255);
  EXPECT_EQ(scene.cache().live_bytes(), scene.projected_bytes());
  scene.step({{0, 5}, {1, 5}});
  EXPECT_TRUE(scene.outputs_equal_reference());
}

TEST(KvCache, TruncatedAndForkedRowsGoOnAsIfTheyHadAlwaysBeenSo) {
  KvScene scene(kSmall, kGroup, poisoned(CodecKind::kBF16));
  scene.add_row();
  scene.step({{0, 530}});
  scene.fork(0);
  scene.truncate(0, 257);
  scene.step({{0, 7}, {1, 9}});
  EXPECT_TRUE(scene.outputs_equal_reference());
  scene.truncate(1, 0);
  scene.step({{1, 3}, {0, 1}});
  EXPECT_TRUE(scene.outputs_equal_reference());
}

TEST(KvCache, CountsItsBytesExactly) {
  KvScene scene(kSmall, kGroup, {.types = {{.kind = CodecKind::kF16}, {.kind = CodecKind::kF32}}});
  KvCache& cache = scene.cache();
  // 2 heads; 40 is stored as 48 halves and 24 as 32 floats; KvScene has two layers.
  EXPECT_EQ(cache.bytes_per_token(), 2U * 2U * (48 * 2 + 32 * 4));
  EXPECT_EQ(cache.live_bytes(), 0U);
  scene.add_row();
  EXPECT_EQ(cache.live_bytes(), 0U);
  scene.step({{0, 1}});
  EXPECT_EQ(cache.live_bytes(), cache.projected_bytes(1));
  EXPECT_GE(cache.projected_bytes(1), cache.bytes_per_token());
  scene.add_row();
  scene.step({{0, 299}, {1, 256}});
  EXPECT_EQ(cache.live_bytes(), cache.projected_bytes(300) + cache.projected_bytes(256));
  scene.truncate(0, 10);
  EXPECT_EQ(cache.live_bytes(), cache.projected_bytes(10) + cache.projected_bytes(256));
  ASSERT_OK(cache.remove_row(scene.row(1)));
  EXPECT_EQ(cache.live_bytes(), cache.projected_bytes(10));
}

TEST(KvCache, CountsWhatSomeRowsHoldAndWhatTheyShareOnce) {
  for (const LayoutKind layout :
       {LayoutKind::kSlab, LayoutKind::kRing, LayoutKind::kPaged, LayoutKind::kPadded}) {
    SCOPED_TRACE(to_string(layout));
    KvOptions options = poisoned(CodecKind::kF16);
    options.layout = layout;
    KvScene scene(kSmall, kGroup, options);
    KvCache& cache = scene.cache();
    for (int i = 0; i < 2; ++i) {
      scene.add_row();
      scene.step({{static_cast<size_t>(i), 100 + 300 * i}});
    }
    scene.fork(1);
    const RowId all[] = {scene.row(0), scene.row(1), scene.row(2)};
    const size_t small = cache.projected_bytes(100);
    const size_t large = cache.projected_bytes(400);
    const size_t fork = layout == LayoutKind::kPaged ? 0 : large;
    EXPECT_EQ(*cache.live_bytes_of({}), 0U);
    EXPECT_EQ(*cache.live_bytes_of({all, 1}), small);
    EXPECT_EQ(*cache.live_bytes_of({all + 1, 1}), large);
    EXPECT_EQ(*cache.live_bytes_of({all + 1, 2}), large + fork);
    EXPECT_EQ(*cache.live_bytes_of(all), cache.live_bytes());
    const RowId twice[] = {all[0], all[0]};
    EXPECT_EQ(*cache.live_bytes_of(twice), small);
    const RowId stranger[] = {all[0], static_cast<RowId>(99)};
    EXPECT_ERROR(cache.live_bytes_of(stranger), kNotFound, "99");
  }
}

TEST(KvCache, SaysHowFarALongerRowCouldBeCut) {
  KvOptions options = poisoned(CodecKind::kF16);
  options.slack = 4;
  KvLayerSpec layer = kSmall;
  EXPECT_EQ((*KvCache::create({{layer}}, options))->projected_minimum_reusable_position(1000), 0);
  layer.window = 8;
  const auto windows = *KvCache::create({{kSmall, layer}}, options);
  EXPECT_EQ(windows->projected_minimum_reusable_position(12), 0);
  EXPECT_EQ(windows->projected_minimum_reusable_position(20), 15);
  EXPECT_EQ(windows->projected_minimum_reusable_position(int64_t{1} << 31), (int64_t{1} << 31) - 5);
}

TEST(KvCache, AStepThatDoesNotFitChangesNothing) {
  KvOptions options = poisoned(CodecKind::kF16);
  ASSERT_OK_AND_ASSIGN(auto sizes, KvCache::create({{kSmall, kSmall}}, options));
  const size_t chunk = sizes->projected_bytes(1);
  // The step below needs five chunks beside the two: it fails after each number of allocations.
  for (size_t room = 2; room < 7; ++room) {
    SCOPED_TRACE(room);
    options.budget_bytes = room * chunk;
    KvScene scene(kSmall, kGroup, options);
    scene.add_row();
    scene.add_row();
    scene.step({{0, 10}, {1, 20}});
    const RowAppend append[] = {{scene.row(0), 600}, {scene.row(1), 1000}};
    EXPECT_ERROR(scene.cache().begin(append), kExhausted, "budget");
    EXPECT_EQ(scene.cache().live_bytes(), 2 * chunk);
    EXPECT_EQ(scene.cache().length(scene.row(0)).value(), 10);
    if (room == 2) {
      EXPECT_ERROR(scene.cache().fork(scene.row(0)), kExhausted, "budget");
      EXPECT_EQ(scene.cache().live_bytes(), 2 * chunk);
    }
    scene.step({{0, 3}, {1, 1}});
    EXPECT_TRUE(scene.outputs_equal_reference());
  }
}

TEST(KvCache, RefusesWhatItsCallerMayGetWrong) {
  EXPECT_ERROR(KvCache::create({}, {}), kInvalidArgument, "layers");
  EXPECT_ERROR(KvCache::create({{{.kv_heads = 0, .k_dim = 64, .v_dim = 64}}}, {}), kInvalidArgument,
               "KV layer 0");
  EXPECT_ERROR(KvCache::create({{kSmall, {.kv_heads = 1, .k_dim = 64, .v_dim = -1}}}, {}), kInvalidArgument,
               "KV layer 1");
  ASSERT_OK_AND_ASSIGN(auto cache, KvCache::create({{kSmall}}, {}));
  const RowId row = cache->add_row();
  const RowAppend twice[] = {{row, 1}, {row, 1}};
  EXPECT_ERROR(cache->begin(twice), kInvalidArgument, "once");
  const RowAppend negative[] = {{row, -1}};
  EXPECT_ERROR(cache->begin(negative), kInvalidArgument, "row 1");
  EXPECT_ERROR(cache->truncate(row, 1), kInvalidArgument, "cannot cut a row of 0 tokens to 1");
  EXPECT_OK(cache->remove_row(row));
  const RowAppend removed[] = {{row, 1}};
  EXPECT_ERROR(cache->begin(removed), kNotFound, "row 1");
  EXPECT_ERROR(cache->length(row), kNotFound, "no such row");
  EXPECT_ERROR(cache->fork(row), kNotFound, "no such row");
  EXPECT_ERROR(cache->remove_row(row), kNotFound, "no such row");
}

}  // namespace
}  // namespace kvern::state
