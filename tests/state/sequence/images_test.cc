// Rows that leave a cache and come into one: extract, evict, adopt, merge, filter, between all layouts and in
// every stage of a row.
#include "conformance/world.h"

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::state {
namespace {

using conformance::kAbroad;
using conformance::kHome;
using conformance::World;
using conformance::WorldSpec;

constexpr LayoutKind kLayouts[] = {LayoutKind::kSlab, LayoutKind::kRing, LayoutKind::kPaged,
                                   LayoutKind::kPadded};
constexpr KvType kQ4{.kind = CodecKind::kAffine, .bits = 4, .group = 32};
constexpr KvLayerSpec kPlain{.kv_heads = 2, .k_dim = 32, .v_dim = 32};
constexpr KvLayerSpec kWindowed{.kv_heads = 1, .k_dim = 32, .v_dim = 32, .window = 8, .sinks = 2};

compute::Context& context() {
  static compute::Context made(*compute::best_target(), 2);
  return made;
}

KvOptions options(LayoutKind layout, const KvPrecision& precision = {}, int64_t slack = 4) {
  return {.types = {kQ4, kQ4},
          .precision = precision,
          .layout = layout,
          .page = 16,
          .slack = slack,
          .poison = true};
}

WorldSpec world_of(LayoutKind home, LayoutKind abroad, const KvPrecision& precision = {}) {
  return {.layers = {kPlain, kWindowed},
          .options = {options(home, precision), options(abroad, precision)},
          .group = 2};
}

conformance::StepPlan one_row(size_t row, int64_t tokens) { return {.brings = {{row, tokens, tokens}}}; }

std::unique_ptr<KvCache> cache_of(const KvOptions& options) {
  return *KvCache::create({{kPlain, kWindowed}}, options);
}

// Tokens whose bytes nobody looks at.
void grow(KvCache& cache, RowId row, int64_t tokens) {
  const RowAppend append[] = {{row, tokens}};
  auto step = cache.begin(append);
  ASSERT_OK(step);
  const std::vector<float> numbers(static_cast<size_t>(tokens * 64), 0.25F);
  for (const int layer : {0, 1}) {
    cache.append(context(), static_cast<LayerIndex>(layer), *step,
                 {.k = numbers.data(), .v = numbers.data()});
  }
  cache.commit(*std::move(step));
}

TEST(Images, CarryARowBetweenAllLayoutsInEveryStageOfItsPrecision) {
  const KvPrecision rules[] = {{},
                               {.quant_start = 10},
                               {.keep_first = 5},
                               {.keep_last = 5},
                               {.quant_start = 10, .keep_first = 3, .keep_last = 4}};
  for (const KvPrecision& rule : rules) {
    for (const LayoutKind home : kLayouts) {
      for (const LayoutKind abroad : kLayouts) {
        for (const int64_t length : {0, 1, 4, 9, 10, 11, 30, 300}) {
          SCOPED_TRACE(testing::Message() << to_string(home) << " to " << to_string(abroad) << ", " << length
                                          << " tokens, start " << rule.quant_start << " first "
                                          << rule.keep_first << " last " << rule.keep_last);
          World world(world_of(home, abroad, rule), context(), 3);
          world.add_row();
          conformance::StepPlan unread = one_row(0, length);
          unread.attends = 0;
          world.step(unread);
          world.move(0, kAbroad, true);
          world.step(one_row(0, 3));
          world.move(0, kHome, false);
          world.step(one_row(0, 1));
          world.check();
          ASSERT_EQ(world.problem(), "");
        }
      }
    }
  }
}

TEST(Images, AreTakenOfRowsThatWereCutToWhereNothingWasDropped) {
  // The window had moved on, but only over sinks.
  World world(world_of(LayoutKind::kSlab, LayoutKind::kPaged), context(), 3);
  world.add_row();
  world.step(one_row(0, 14));
  world.truncate(0, 9);
  world.move(0, kAbroad, true);
  world.truncate(0, world.minimum(0));
  world.move(0, kHome, true);
  world.step(one_row(0, 5));
  EXPECT_EQ(world.problem(), "");
}

TEST(Images, AreTakenOfRowsWhoseFirstEncodedStepWasRolledBack) {
  for (const LayoutKind layout : kLayouts) {
    SCOPED_TRACE(to_string(layout));
    World world(world_of(layout, LayoutKind::kSlab, {.quant_start = 12}), context(), 3);
    world.add_row();
    world.step(one_row(0, 11));
    conformance::StepPlan undone = one_row(0, 6);
    undone.end = conformance::StepEnd::kRollback;
    world.step(undone);
    world.check();  // it can still be cut back by its slack
    world.move(0, kAbroad, true);
    world.step(one_row(0, 4));
    EXPECT_EQ(world.problem(), "");
  }
}

TEST(Images, AreTakenOfRowsThatKeptLessAndLessInFullPrecision) {
  // The window had dropped more of the full form, before the row was encoded, than the row has in it now.
  const KvPrecision rule{.quant_start = 66, .keep_first = 3};
  const KvLayerSpec narrow{.kv_heads = 1, .k_dim = 32, .v_dim = 32, .window = 1, .sinks = 17};
  World world(
      {.layers = {narrow}, .options = {options(LayoutKind::kPaged, rule), options(LayoutKind::kSlab, rule)}},
      context(), 3);
  world.add_row();
  world.step(one_row(0, 64));
  world.step(one_row(0, 29));
  world.move(0, kAbroad, true);
  world.step(one_row(0, 3));
  EXPECT_EQ(world.problem(), "");
}

TEST(Images, PinNothingOfTheirCache) {
  RowImage image;
  {
    auto from = cache_of(options(LayoutKind::kPaged));
    const RowId row = from->add_row();
    grow(*from, row, 100);
    ASSERT_OK_AND_ASSIGN(image, from->evict(row));
    EXPECT_EQ(from->live_bytes(), 0U);
    EXPECT_ERROR(from->extract(row), kNotFound, "no such row");
  }
  auto to = cache_of(options(LayoutKind::kRing));
  ASSERT_OK_AND_ASSIGN(const RowId row, to->adopt(image));
  EXPECT_EQ(*to->length(row), 100);
  ASSERT_OK_AND_ASSIGN(const RowImage again, to->extract(row));
  EXPECT_EQ(to_bytes(again), to_bytes(image));
}

TEST(Images, HoldTheFewestBytes) {
  auto cache = cache_of(options(LayoutKind::kSlab));
  const RowId row = cache->add_row();
  grow(*cache, row, 100);
  ASSERT_OK_AND_ASSIGN(const RowImage image, cache->extract(row));
  // A head of 32 numbers in 4 bits with a scale and a bias: 20 bytes. 100 positions of two heads and two
  // sides, and 2 sinks and window 8 + slack 4 of one head.
  ASSERT_EQ(image.stores.size(), 2U);
  EXPECT_EQ(image.stores[0].records.size(), 100U * 2 * 2 * 20);
  EXPECT_EQ(image.stores[1].records.size(), (2U + 12) * 2 * 20);
}

TEST(Images, ThatContradictThemselvesAreRefusedAndChangeNothing) {
  const KvPrecision rule{.quant_start = 10, .keep_first = 3, .keep_last = 4};
  for (const LayoutKind layout : kLayouts) {
    auto cache = cache_of(options(layout, rule));
    const RowId row = cache->add_row();
    grow(*cache, row, 40);
    ASSERT_OK_AND_ASSIGN(const RowImage good, cache->extract(row));
    const LayoutUsage before = cache->usage();
    const auto refused = [&](const char* what, const auto& change) {
      RowImage image = good;
      change(image);
      EXPECT_ERROR(cache->adopt(image), kCorrupt, "image") << what << " in " << to_string(layout);
      EXPECT_EQ(cache->live_bytes(), before.live);
    };
    refused("longer", [](RowImage& i) { ++i.length; });
    refused("shorter", [](RowImage& i) { --i.length; });
    refused("nothing", [](RowImage& i) { i.length = 0; });
    refused("negative", [](RowImage& i) { i.length = -1; });
    refused("a store less", [](RowImage& i) { i.stores.pop_back(); });
    refused("a store more", [](RowImage& i) { i.stores.emplace_back(); });
    refused("stores exchanged", [](RowImage& i) { std::swap(i.stores[0], i.stores[2]); });
    for (size_t s = 0; s < good.stores.size(); ++s) {
      refused("a byte less", [&](RowImage& i) { i.stores[s].records.pop_back(); });
      refused("a byte more", [&](RowImage& i) { i.stores[s].records.emplace_back(); });
      refused("store longer", [&](RowImage& i) { ++i.stores[s].held.length; });
      refused("store shorter", [&](RowImage& i) { --i.stores[s].held.length; });
      refused("no store", [&](RowImage& i) { i.stores[s] = {}; });
      refused("begins before all", [&](RowImage& i) { i.stores[s].held.tail_begin = -1; });
      refused("begins behind its end", [&](RowImage& i) { i.stores[s].held.tail_begin = 41; });
    }
    refused("less of the window than it needs", [](RowImage& i) { i.stores[2].held.tail_begin += 5; });
    EXPECT_OK(cache->adopt(good));
  }
}

TEST(Images, OfAnotherTypeRuleOrModelAreRefused) {
  auto cache = cache_of(options(LayoutKind::kSlab));
  const RowId row = cache->add_row();
  grow(*cache, row, 20);
  ASSERT_OK_AND_ASSIGN(const RowImage image, cache->extract(row));
  KvOptions wider = options(LayoutKind::kSlab);
  wider.types.v.bits = 8;
  KvOptions rotated = options(LayoutKind::kSlab);
  rotated.types.k.rotation = Rotation::kHadamard;
  for (const KvOptions& other : {wider, rotated, options(LayoutKind::kSlab, {.keep_last = 1})}) {
    auto to = cache_of(other);
    EXPECT_NE(to->identity(), cache->identity());
    EXPECT_ERROR(to->adopt(image), kInvalidArgument, "another model, type or precision");
    EXPECT_ERROR(to->merge(*cache), kInvalidArgument, "another model, type or precision");
    EXPECT_EQ(to->allocated_bytes(), 0U);
    EXPECT_EQ(*cache->length(row), 20);
  }
}

TEST(Images, MergeMovesAllRowsOrNone) {
  for (const LayoutKind layout : kLayouts) {
    SCOPED_TRACE(to_string(layout));
    auto from = cache_of(options(LayoutKind::kPaged));
    std::vector<RowId> rows;
    for (const int64_t tokens : {5, 0, 70}) {
      rows.push_back(from->add_row());
      if (tokens > 0) grow(*from, rows.back(), tokens);
    }
    auto to = cache_of(options(layout));
    const RowId resident = to->add_row();
    grow(*to, resident, 9);
    const auto before = to_bytes(*to->extract(resident));
    const size_t live = to->live_bytes();
    size_t failures = 0;
    for (size_t allowed = 0;; ++allowed) {
      to->fail_allocations_after(allowed);
      auto merged = to->merge(*from);
      to->fail_allocations_after();
      if (merged) {
        ASSERT_EQ(merged->size(), 3U);
        EXPECT_EQ(*to->length((*merged)[0]), 5);
        EXPECT_EQ(*to->length((*merged)[1]), 0);
        EXPECT_EQ(*to->length((*merged)[2]), 70);
        break;
      }
      ++failures;
      EXPECT_ERROR(merged, kExhausted, "");
      EXPECT_EQ(to->live_bytes(), live);
      for (const RowId row : rows) EXPECT_OK(from->length(row));
    }
    // The pool of pages has enough from the first row's arena.
    EXPECT_EQ(failures > 0, layout != LayoutKind::kPaged);
    EXPECT_EQ(from->live_bytes(), 0U);
    EXPECT_FALSE(from->length(rows[0]).has_value());
    EXPECT_EQ(to_bytes(*to->extract(resident)), before);
  }
}

TEST(Images, FilterKeepsWhatIsNamedAndRefusesStrangers) {
  for (const LayoutKind layout : kLayouts) {
    SCOPED_TRACE(to_string(layout));
    auto cache = cache_of(options(layout));
    std::vector<RowId> rows;
    for (const int64_t tokens : {10, 50, 3, 20}) {
      rows.push_back(cache->add_row());
      grow(*cache, rows.back(), tokens);
    }
    const auto kept = to_bytes(*cache->extract(rows[2]));
    ASSERT_OK(cache->remove_row(rows[1]));
    const RowId with_stranger[] = {rows[2], rows[1]};
    EXPECT_ERROR(cache->filter(with_stranger), kNotFound, "no such row");
    EXPECT_OK(cache->length(rows[0]));
    const RowId keep[] = {rows[2], rows[2]};
    EXPECT_OK(cache->filter(keep));
    EXPECT_FALSE(cache->length(rows[0]).has_value());
    EXPECT_FALSE(cache->length(rows[3]).has_value());
    EXPECT_EQ(to_bytes(*cache->extract(rows[2])), kept);
    EXPECT_EQ(cache->live_bytes(), cache->projected_bytes(3));
  }
}

}  // namespace
}  // namespace kvern::state
