// Faults that systems of this kind have shown their users, as cases with the right answer. Named after the
// list in the specification (B01, …); docs/parity.md says which test shows what.
#include "conformance/product.h"
#include "conformance/world.h"

#include <gtest/gtest.h>

#include "support/kv_script.h"
#include "support/result_matchers.h"

namespace kvern::state {
namespace {

using conformance::kAbroad;
using conformance::kHome;
using conformance::StepPlan;
using conformance::World;
using conformance::WorldSpec;
using test::KvScene;

constexpr LayoutKind kLayouts[] = {LayoutKind::kSlab, LayoutKind::kRing, LayoutKind::kPaged,
                                   LayoutKind::kPadded};
constexpr KvLayerSpec kFull{.kv_heads = 1, .k_dim = 32, .v_dim = 32};
constexpr KvType kF16{.kind = CodecKind::kF16};
constexpr KvType kQ4{.kind = CodecKind::kAffine, .bits = 4, .group = 32};
constexpr KvType kH4{.kind = CodecKind::kAffine, .bits = 4, .group = 32, .rotation = Rotation::kHadamard};

KvLayerSpec windowed(int64_t window, int64_t sinks = 0) {
  KvLayerSpec layer = kFull;
  layer.window = window;
  layer.sinks = sinks;
  return layer;
}

struct Keeping {
  LayoutKind layout = LayoutKind::kSlab;
  int64_t slack = 0;
  KvType type = kF16;
  KvPrecision precision;
};

KvOptions options(const Keeping& keeping) {
  return {.types = {keeping.type, keeping.type},
          .precision = keeping.precision,
          .layout = keeping.layout,
          .page = 16,
          .slack = keeping.slack,
          .poison = true};
}

compute::Context& context() {
  static compute::Context made(*compute::best_target(), 2);
  return made;
}

World world_of(std::vector<KvLayerSpec> layers, const Keeping& keeping) {
  const KvOptions both = options(keeping);
  return World({.layers = std::move(layers), .options = {both, both}, .group = 2}, context(), 5);
}

StepPlan one_row(size_t row, int64_t tokens) { return {.brings = {{row, tokens, tokens}}}; }

TEST(Case, B01_AWrappedRingIsCutAsFarAsItsContentsGo) {
  for (const LayoutKind layout : kLayouts) {
    SCOPED_TRACE(to_string(layout));
    World world = world_of({kFull, windowed(8)}, {.layout = layout, .slack = 4});
    world.add_row();
    world.step(one_row(0, 20));
    EXPECT_EQ(world.minimum(0), 15);
    world.fork(0);
    world.truncate(0, 17);
    for (int i = 0; i < 10; ++i) world.step(one_row(0, 1));
    world.truncate(1, 15);
    world.step(one_row(1, 10));
    world.check();
    EXPECT_EQ(world.problem(), "");
  }
}

TEST(Case, B01_ACutThatOneGroupCannotHonourChangesNone) {
  auto cache = *KvCache::create({{kFull, windowed(8)}}, options({.layout = LayoutKind::kRing, .slack = 4}));
  const RowId row = cache->add_row();
  const RowAppend append[] = {{row, 20}};
  ASSERT_OK_AND_ASSIGN(Step step, cache->begin(append));
  cache->commit(std::move(step));
  EXPECT_ERROR(cache->truncate(row, 14), kInvalidArgument, "cut to 15 or more");
  EXPECT_EQ(*cache->length(row), 20);
  EXPECT_EQ(*cache->minimum_reusable_position(row), 15);
}

TEST(Case, B01_WithoutSlackOnlyTheLastTokenCanBeTakenBack) {
  for (const int64_t length : {20, 32}) {
    World world = world_of({kFull, windowed(8)}, {.layout = LayoutKind::kRing});
    world.add_row();
    world.step(one_row(0, length));
    EXPECT_EQ(world.minimum(0), length - 1);
    world.refused(0);  // among others: a cut to length - 2
    world.truncate(0, length - 1);
    world.step(one_row(0, 10));
    EXPECT_EQ(world.problem(), "");
  }
}

TEST(Case, B02_ForbiddenCallsLeaveTheBytesOfTheRow) {
  for (const LayoutKind layout : kLayouts) {
    World world = world_of({windowed(8)}, {.layout = layout});
    world.add_row();
    world.step(one_row(0, 20));
    KvCache& cache = world.cache(kHome);
    const auto before = to_bytes(*cache.extract(static_cast<RowId>(1)));
    EXPECT_ERROR(cache.truncate(static_cast<RowId>(1), 17), kInvalidArgument, "19");
    EXPECT_EQ(to_bytes(*cache.extract(static_cast<RowId>(1))), before);
    world.refused(0);
    world.step(one_row(0, 3));
    EXPECT_EQ(world.problem(), "");
  }
}

TEST(Case, B03_SeveralTokensAtOnceEvictAsManySingleOnes) {
  for (const LayoutKind layout : kLayouts) {
    SCOPED_TRACE(to_string(layout));
    for (const int64_t tokens : {4, 6}) {  // 6 are more than the slack
      World world = world_of({windowed(8)}, {.layout = layout, .slack = 4});
      world.add_row();
      world.step(one_row(0, 11));
      world.fork(0);
      world.step(one_row(0, tokens));
      for (int64_t i = 0; i < tokens; ++i) world.step(one_row(1, 1));
      world.check();
      const RowImage at_once = *world.cache(kHome).extract(static_cast<RowId>(1));
      const RowImage one_by_one = *world.cache(kHome).extract(static_cast<RowId>(2));
      EXPECT_EQ(at_once.stores[0].held, one_by_one.stores[0].held);
      EXPECT_EQ(at_once.stores[0].held.tail_begin, tokens == 4 ? 3 : 5);
      EXPECT_EQ(world.problem(), "");
    }
  }
}

TEST(Case, B03_AThousandRoundsOfSpeculationTakeNoMoreMemory) {
  for (const LayoutKind layout : kLayouts) {
    SCOPED_TRACE(to_string(layout));
    World world = world_of({windowed(8)}, {.layout = layout, .slack = 4});
    world.add_row();
    size_t most = 0;
    for (int round = 0; round < 1000; ++round) {
      StepPlan plan{.brings = {{0, 4, 1}}};
      plan.attends = round % 50 == 0 ? 1 : 0;
      world.step(plan);
      const size_t now = world.cache(kHome).allocated_bytes();
      if (round < 300) most = std::max(most, now);
      ASSERT_LE(now, most) << "round " << round;
      if (layout == LayoutKind::kRing && round > 20) {
        ASSERT_EQ(now, most);
      }
    }
    world.check();
    EXPECT_EQ(world.problem(), "");
  }
}

TEST(Case, B05_AWindowSeesItsOldestKeyAndNotTheOneBefore) {
  for (const KvType& type : {KvType{.kind = CodecKind::kF32}, kF16, kQ4, kH4}) {
    for (const int64_t poisoned : {12, 13}) {
      KvScene scene(windowed(8), 2, options({.type = type}));
      scene.add_row();
      scene.poison_next_token_at(poisoned);
      scene.step({{0, 20}});
      scene.step({{0, 1}});  // the query at 20
      EXPECT_EQ(scene.outputs_are_finite(), poisoned == 12);
    }
  }
}

TEST(Case, B05_NoQueryOfAChunkSeesBeforeItsWindow) {
  constexpr KvType kTurbo{.kind = CodecKind::kTurboValue, .bits = 3, .rotation = Rotation::kSignedHadamard};
  constexpr KvType kTurboK{.kind = CodecKind::kTurboKey, .bits = 8};
  for (const KvTypes& types : {KvTypes{kF16, kF16}, KvTypes{kQ4, kH4}, KvTypes{kTurboK, kTurbo}}) {
    for (const LayoutKind layout : kLayouts) {
      for (const int64_t chunk : {1, 15, 16, 17, 40}) {
        SCOPED_TRACE(testing::Message() << to_string(types) << " in " << to_string(layout) << ", " << chunk);
        KvOptions kept = options({.layout = layout});
        kept.types = types;
        KvLayerSpec layer = windowed(33);
        layer.k_dim = layer.v_dim = 64;
        KvScene scene(layer, 2, kept);
        scene.add_row();
        scene.poison_next_tokens(0, 168);
        scene.step({{0, 200}});
        for (int64_t at = 200; at < 240; at += chunk) {
          scene.step({{0, std::min(chunk, 240 - at)}});
          ASSERT_TRUE(scene.outputs_are_finite());
          ASSERT_TRUE(scene.outputs_equal_reference());
        }
      }
    }
  }
}

TEST(Case, B06_SinksStayBesideARing) {
  for (const LayoutKind layout : kLayouts) {
    for (const KvType& type : {kF16, kQ4}) {
      KvScene scene(windowed(8, 2), 2, options({.layout = layout, .slack = 4, .type = type}));
      scene.add_row();
      scene.poison_next_tokens(2, 20);
      scene.step({{0, 29}});
      scene.step({{0, 1}});  // the query at 29 sees 0, 1 and 22…29
      EXPECT_TRUE(scene.outputs_are_finite());
      EXPECT_TRUE(scene.outputs_equal_reference());
      KvScene cut(windowed(8, 2), 2, options({.layout = layout, .slack = 4, .type = type}));
      cut.add_row();
      cut.step({{0, 30}});
      EXPECT_EQ(cut.minimum(0), 25);
      cut.truncate(0, 28);
      cut.step({{0, 1}});
      EXPECT_TRUE(cut.outputs_equal_reference());
    }
  }
}

TEST(Case, B07_RowsOfAllLengthsJoinAWrappedRing) {
  for (const LayoutKind layout : {LayoutKind::kRing, LayoutKind::kPadded}) {
    for (int64_t a = 1; a <= 20; ++a) {
      for (int64_t b = 1; b <= 20; ++b) {
        World world = world_of({windowed(8)}, {.layout = layout});
        world.add_row();
        world.add_row();
        world.step({.brings = {{0, a, a}, {1, b, b}}, .attends = 0});
        world.move(1, kAbroad, false);
        world.merge();
        for (int i = 0; i < 5; ++i) world.step({.brings = {{0, 1, 1}, {1, 1, 1}}});
        world.check();
        ASSERT_EQ(world.problem(), "") << a << " and " << b;
      }
    }
  }
}

TEST(Case, B07_RowsJoinAndLeaveForTenThousandSteps) {
  World world = world_of({windowed(8)}, {.layout = LayoutKind::kRing, .slack = 1});
  std::mt19937 random(1);
  for (int i = 0; i < 10000 && world.problem().empty(); ++i) {
    if (world.rows() < 8 && random() % 8 == 0) world.add_row();
    if (world.rows() > 1 && random() % 16 == 0) world.remove(random() % world.rows());
    StepPlan plan;
    for (size_t row = 0; row < world.rows(); ++row) plan.brings.push_back({row, 1, 1});
    plan.attends = random() % 8 == 0 ? 1 : 0;
    world.step(plan);
    if (i % 100 == 0) world.check();
  }
  EXPECT_EQ(world.problem(), "");
}

TEST(Case, B09_ExtractionOfARaggedChunkHasItsRowAlone) {
  for (const LayoutKind layout : kLayouts) {
    World world = world_of({kFull}, {.layout = layout});
    for (int row = 0; row < 2; ++row) world.add_row();
    world.step({.brings = {{0, 5, 5}, {1, 9, 9}}});
    const RowImage image = *world.cache(kHome).extract(static_cast<RowId>(1));
    EXPECT_EQ(image.length, 5);
    EXPECT_EQ(image.stores[0].held, (Held{.tail_begin = 0, .length = 5}));
    EXPECT_EQ(image.bytes(), 5 * world.cache(kHome).bytes_per_token());
    world.move(0, kAbroad, true);  // compares the bytes
    world.step(one_row(0, 3));
    EXPECT_EQ(world.problem(), "");
  }
}

TEST(Case, B11_PositionsOfAStepStayAsTheyWere) {
  auto cache = *KvCache::create({{kFull}}, options({}));
  const RowId row = cache->add_row();
  const RowAppend prompt[] = {{row, 41}};
  cache->commit(*cache->begin(prompt));
  const RowAppend next[] = {{row, 1}};
  ASSERT_OK_AND_ASSIGN(Step step, cache->begin(next));
  const std::span<const int64_t> positions = step.positions();
  const std::vector<float> numbers(32, 1.0F);
  cache->append(context(), LayerIndex{0}, step, {.k = numbers.data(), .v = numbers.data()});
  EXPECT_EQ(positions[0], 41);
  EXPECT_EQ(step.rows()[0].first, Position{41});
  cache->commit(std::move(step));
}

TEST(Case, B13_NoCombinationOfTypeLayoutAndPolicyIsRefused) {
  const conformance::Product product;
  for (uint64_t cell = 0; cell < 2 * product.cells(); ++cell) {
    const conformance::Place place = product.place(cell);
    const WorldSpec spec = product.draw(place, cell);
    ASSERT_OK(KvCache::create({spec.layers}, spec.options[kHome])) << to_string(spec.options[kHome].types);
  }
}

TEST(Case, B14_HeadSizesThatFitNoGroup) {
  const auto make = [](int64_t k_dim, int64_t v_dim, int64_t group) {
    const KvType type{.kind = CodecKind::kAffine, .bits = 4, .group = group};
    return KvCache::create({{{.kv_heads = 2, .k_dim = k_dim, .v_dim = v_dim}}}, {.types = {type, type}});
  };
  EXPECT_ERROR(make(96, 96, 64), kInvalidArgument, "96");
  EXPECT_ERROR(make(80, 80, 0), kInvalidArgument, "80");
  for (const auto& [k_dim, v_dim] : {std::pair<int64_t, int64_t>{96, 96}, {192, 128}, {64, 96}}) {
    ASSERT_OK_AND_ASSIGN(auto cache, make(k_dim, v_dim, 0));  // chooses 64 or 32
    const RowId row = cache->add_row();
    const RowAppend append[] = {{row, 100}};
    cache->commit(*cache->begin(append));
    EXPECT_EQ(cache->allocated_bytes(), cache->projected_bytes(100));
    EXPECT_GE(cache->allocated_bytes(), 100 * cache->bytes_per_token());
  }
}

TEST(Case, B15_AllOperationsTouchBothForms) {
  for (const LayoutKind layout : kLayouts) {
    SCOPED_TRACE(to_string(layout));
    const KvPrecision newest{.keep_last = 4};
    World world = world_of({kFull}, {.layout = layout, .slack = 4, .type = kQ4, .precision = newest});
    world.add_row();
    world.step(one_row(0, 20));
    world.fork(0);
    world.truncate(0, 18);
    world.step({.brings = {{1, 2, 2}, {0, 3, 3}}});
    world.move(1, kAbroad, true);
    world.step(one_row(1, 4));
    world.move(1, kHome, false);
    world.step({.brings = {{0, 1, 1}, {1, 1, 1}}});
    world.check();
    EXPECT_EQ(world.problem(), "");
  }
}

TEST(Case, B15_FullPrecisionThatIsGoneDoesNotComeBack) {
  const KvPrecision newest{.keep_last = 4};
  World world = world_of({kFull}, {.slack = 4, .type = kQ4, .precision = newest});
  world.add_row();
  world.step(one_row(0, 20));
  // Positions 6…9 exist in 4 bits only: tokens after a cut to 10 could not see what they saw the first time.
  EXPECT_EQ(world.minimum(0), 15);
  EXPECT_ERROR(world.cache(kHome).truncate(static_cast<RowId>(1), 10), kInvalidArgument, "15");
  World patient = world_of({kFull}, {.slack = 16, .type = kQ4, .precision = newest});
  patient.add_row();
  patient.step(one_row(0, 20));
  patient.truncate(0, 10);
  for (int i = 0; i < 10; ++i) patient.step(one_row(0, 1));
  EXPECT_EQ(patient.problem(), "");
}

TEST(Case, B19_AnExactHitOnAFullRingTakesBackOneToken) {
  World world = world_of({windowed(8)}, {.layout = LayoutKind::kRing});
  world.add_row();
  world.step(one_row(0, 20));
  world.fork(0);
  world.truncate(1, 19);
  world.step(one_row(1, 1));
  EXPECT_EQ(world.problem(), "");
}

TEST(Case, B46_DraftsOfOneRowDoNotReachAnother) {
  for (const LayoutKind layout : kLayouts) {
    World world = world_of({kFull, windowed(8)}, {.layout = layout, .slack = 4});
    for (int row = 0; row < 3; ++row) world.add_row();
    world.step({.brings = {{0, 12, 12}, {1, 3, 3}, {2, 30, 30}}});
    for (int round = 0; round < 12; ++round) {
      const int64_t kept = round % 5;
      world.step({.brings = {{2, 4, kept}, {0, 4, 4 - kept}, {1, 4, round % 3}}});
    }
    world.check();
    EXPECT_EQ(world.problem(), "");
  }
}

TEST(Case, AppendixB9_ARowIsEncodedFromItsStartHoweverItsStepsAreCut) {
  // Start 6, a step of 4 that ends at 4, one that ends at 8: encoded then, and not before; a sibling that
  // crosses in the middle of its step changes nothing of this.
  for (const LayoutKind layout : kLayouts) {
    World world = world_of({kFull}, {.layout = layout, .type = kQ4, .precision = {.quant_start = 6}});
    world.add_row();
    world.add_row();
    const auto encoded = [&](uint64_t row) {
      return world.cache(kHome).extract(static_cast<RowId>(row))->stores[0].held.length;
    };
    world.step({.brings = {{0, 4, 4}, {1, 2, 2}}});
    EXPECT_EQ(encoded(1), 0);
    world.step({.brings = {{0, 4, 4}, {1, 3, 3}}});
    EXPECT_EQ(encoded(1), 8);
    EXPECT_EQ(encoded(2), 0);
    EXPECT_EQ(world.minimum(0), 6) << "the tokens before the start cannot be computed again";
    world.step({.brings = {{0, 1, 1}, {1, 4, 4}}});
    EXPECT_EQ(encoded(2), 9);
    world.check();
    EXPECT_EQ(world.problem(), "");
  }
}

}  // namespace
}  // namespace kvern::state
