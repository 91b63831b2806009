// The public state is the KvCache behind it: the same bits, the same bytes, and errors where that has checks.
#include <algorithm>
#include <cstring>
#include <utility>

#include <gtest/gtest.h>

#include "kvern/state.h"
#include "state/api/twin.h"
#include "support/result_matchers.h"

namespace kvern {
namespace {

using test::kTwinLayers;
using test::TwinArrays;

struct Twin {
  KvState state;
  std::unique_ptr<state::KvCache> cache;
  Compute compute;
  compute::Context context;
  std::mt19937 random{7};

  // One step of both; the outputs have equal bits.
  void step(const std::vector<KvAppend>& rows, const std::vector<int64_t>& keep) {
    std::vector<state::RowAppend> appends;
    for (const KvAppend& append : rows)
      appends.push_back({static_cast<state::RowId>(append.row), append.tokens});
    ASSERT_OK_AND_ASSIGN(KvStep open, state.begin(rows));
    ASSERT_OK_AND_ASSIGN(state::Step inner, cache->begin(appends));
    ASSERT_TRUE(std::ranges::equal(open.positions(), inner.positions()));
    for (size_t layer = 0; layer < kTwinLayers.size(); ++layer) {
      TwinArrays arrays(random, kTwinLayers[layer], open.tokens());
      ASSERT_OK(open.append(compute, layer, arrays.input()));
      KvAttention attention = arrays.attention();
      attention.softcap = 30.0F;
      ASSERT_OK(open.attend(compute, layer, attention));

      std::vector<float> out(arrays.out.size());
      const auto index = static_cast<state::LayerIndex>(layer);
      cache->append(context, index, inner, {.k = arrays.k.data(), .v = arrays.v.data()});
      cache->attend(context, index, inner,
                    {.q = arrays.q.data(),
                     .out = out.data(),
                     .heads = arrays.heads,
                     .scale = 0.125F,  // of heads of 64
                     .softcap = 30.0F});
      ASSERT_EQ(std::memcmp(out.data(), arrays.out.data(), out.size() * sizeof(float)), 0)
          << "layer " << layer;
    }
    ASSERT_OK(open.commit(keep));
    cache->commit(std::move(inner), keep);
    ASSERT_EQ(state.usage().live, cache->usage().live);
    ASSERT_EQ(state.allocated_bytes(), cache->allocated_bytes());
  }
};

Twin make_twin(const KvStateOptions& options, state::LayoutKind layout) {
  state::KvSpec spec;
  for (const KvLayer& l : kTwinLayers)
    spec.layers.push_back({l.kv_heads, l.k_dim, l.v_dim, l.window, l.sinks});
  state::KvOptions inner{.types = *state::parse_kv_types(options.type),
                         .layout = layout,
                         .page = options.page,
                         .slack = options.slack};
  inner.precision.keep_last = options.precision.keep_last;
  return {*KvState::create(kTwinLayers, options), *state::KvCache::create(spec, inner),
          *Compute::create({.threads = 2}), compute::Context(*compute::best_target(), 2)};
}

class PublicKvState : public testing::TestWithParam<std::pair<KvLayout, state::LayoutKind>> {};
INSTANTIATE_TEST_SUITE_P(Layouts, PublicKvState,
                         testing::Values(std::pair(KvLayout::kSlab, state::LayoutKind::kSlab),
                                         std::pair(KvLayout::kRing, state::LayoutKind::kRing),
                                         std::pair(KvLayout::kPaged, state::LayoutKind::kPaged),
                                         std::pair(KvLayout::kPadded, state::LayoutKind::kPadded)));

TEST_P(PublicKvState, HasTheBitsAndTheBytesOfTheCacheBehindIt) {
  for (const char* type : {"f16", "k=h8,v=q4"}) {
    SCOPED_TRACE(type);
    KvStateOptions options{.type = type, .layout = GetParam().first, .page = 16, .slack = 8};
    if (type[0] == 'k') options.precision.keep_last = 5;
    Twin twin = make_twin(options, GetParam().second);
    ASSERT_OK_AND_ASSIGN(const KvRow a, twin.state.add_row());
    ASSERT_OK_AND_ASSIGN(const KvRow b, twin.state.add_row());
    static_cast<void>(twin.cache->add_row());
    static_cast<void>(twin.cache->add_row());
    twin.step({{a, 40}, {b, 3}}, {40, 3});
    twin.step({{b, 9}, {a, 4}}, {2, 4});
    ASSERT_OK_AND_ASSIGN(const KvRow c, twin.state.fork(a));
    ASSERT_OK(twin.cache->fork(static_cast<state::RowId>(a)));
    ASSERT_OK_AND_ASSIGN(const int64_t minimum, twin.state.minimum_reusable_position(c));
    EXPECT_EQ(minimum, *twin.cache->minimum_reusable_position(static_cast<state::RowId>(c)));
    ASSERT_OK(twin.state.truncate(c, 42));
    ASSERT_OK(twin.cache->truncate(static_cast<state::RowId>(c), 42));
    twin.step({{a, 1}, {b, 0}, {c, 20}}, {1, 0, 20});
    EXPECT_EQ(twin.state.identity(), twin.cache->identity());
    EXPECT_EQ(twin.state.bytes_per_token(), twin.cache->bytes_per_token());
    EXPECT_EQ(twin.state.projected_bytes(77), twin.cache->projected_bytes(77));
    EXPECT_EQ(twin.state.snapshot(c), state::to_bytes(*twin.cache->extract(static_cast<state::RowId>(c))));
  }
}

// A state with one layer, and rows that are filled with numbers that depend on the row.
class RowsOfKvState : public testing::Test {
 protected:
  static KvState make(KvStateOptions options = {}) {
    return *KvState::create({{.kv_heads = 1, .k_dim = 32, .v_dim = 32}}, options);
  }
  void grow(KvState& state, KvRow row, int64_t tokens) {
    ASSERT_OK_AND_ASSIGN(KvStep step, state.begin({{row, tokens}}));
    std::vector<float> numbers(static_cast<size_t>(tokens) * 32);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 97);
    ASSERT_OK(step.append(compute_, 0, {.k = numbers, .v = numbers}));
    ASSERT_OK(step.commit());
  }
  Compute compute_ = *Compute::create({.threads = 1});
};

TEST_F(RowsOfKvState, LeaveAndComeBackInAnyLayoutWithTheSameBytes) {
  KvState slab = make({.type = "q8"});
  KvState paged = make({.type = "q8", .layout = KvLayout::kPaged, .page = 16});
  const KvRow row = *slab.add_row();
  grow(slab, row, 50);
  ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> bytes, slab.snapshot(row));
  ASSERT_OK_AND_ASSIGN(const KvRow restored, paged.restore(bytes));
  EXPECT_EQ(paged.length(restored), 50);
  EXPECT_EQ(paged.snapshot(restored), bytes);
  ASSERT_OK_AND_ASSIGN(const KvRowImage image, slab.evict(row));
  EXPECT_ERROR(slab.length(row), kNotFound, "no such row");
  EXPECT_EQ(slab.usage().live, 0U);
  ASSERT_OK_AND_ASSIGN(const KvRow back, slab.adopt(image));
  EXPECT_EQ(slab.snapshot(back), bytes);
  KvState other = make({.type = "q4"});
  EXPECT_ERROR(other.adopt(image), kInvalidArgument, "another model, type or precision");
}

TEST_F(RowsOfKvState, AreFilteredAndMerged) {
  KvState here = make();
  KvState there = make({.layout = KvLayout::kPaged});
  const KvRow stays = *here.add_row();
  const KvRow goes = *here.add_row();
  grow(here, stays, 3);
  grow(here, goes, 5);
  ASSERT_OK(here.filter(std::vector{stays}));
  EXPECT_ERROR(here.length(goes), kNotFound, "row 2");
  EXPECT_ERROR(here.filter(std::vector{goes}), kNotFound, "row 2");
  EXPECT_EQ(here.length(stays), 3);

  grow(there, *there.add_row(), 7);
  grow(there, *there.add_row(), 8);
  ASSERT_OK_AND_ASSIGN(const std::vector<KvRow> moved, here.merge(there));
  ASSERT_EQ(moved.size(), 2U);
  EXPECT_EQ(here.length(moved[0]), 7);
  EXPECT_EQ(here.length(moved[1]), 8);
  EXPECT_EQ(there.usage().live, 0U);
  EXPECT_ERROR(here.merge(here), kInvalidArgument, "into the state that has them");
}

TEST_F(RowsOfKvState, AreNotChangedWhileAStepIsOpen) {
  KvState state = make();
  KvState other = make();
  const KvRow row = *state.add_row();
  grow(state, row, 4);
  ASSERT_OK_AND_ASSIGN(KvStep step, state.begin({{row, 2}}));
  EXPECT_ERROR(state.add_row(), kInvalidArgument, "while a step is open");
  EXPECT_ERROR(state.remove_row(row), kInvalidArgument, "while a step is open");
  EXPECT_ERROR(state.truncate(row, 1), kInvalidArgument, "while a step is open");
  EXPECT_ERROR(state.fork(row), kInvalidArgument, "while a step is open");
  EXPECT_ERROR(state.filter({}), kInvalidArgument, "while a step is open");
  EXPECT_ERROR(state.merge(other), kInvalidArgument, "while a step is open");
  EXPECT_ERROR(other.merge(state), kInvalidArgument, "while a step is open");
  EXPECT_ERROR(state.snapshot(row), kInvalidArgument, "while a step is open");
  EXPECT_ERROR(state.evict(row), kInvalidArgument, "while a step is open");
  EXPECT_ERROR(state.begin({{row, 1}}), kInvalidArgument, "while a step is open");
  EXPECT_EQ(state.length(row), 4);
  ASSERT_OK(step.rollback());
  EXPECT_OK(state.truncate(row, 1));
}

TEST_F(RowsOfKvState, StayAsTheyWereWhenTheBudgetIsShort) {
  for (const KvLayout layout : {KvLayout::kSlab, KvLayout::kRing, KvLayout::kPaged, KvLayout::kPadded}) {
    SCOPED_TRACE(static_cast<int>(layout));
    KvState state = make({.layout = layout, .budget_bytes = 1 << 20});
    const KvRow row = *state.add_row();
    grow(state, row, 100);
    ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> before, state.snapshot(row));
    const size_t live = state.usage().live;
    EXPECT_ERROR(state.begin({{row, 100'000}}), kExhausted, "budget");
    EXPECT_TRUE(state.begin({{row, 100'000}}).error().retryable);
    EXPECT_ERROR(state.begin({{row, (int64_t{1} << 32) - 100}}), kExhausted, "budget");
    EXPECT_ERROR(state.begin({{row, int64_t{1} << 32}}), kInvalidArgument, "possible number");
    EXPECT_EQ(state.usage().live, live);
    EXPECT_EQ(state.snapshot(row), before);
    grow(state, row, 1);
  }
}

TEST_F(RowsOfKvState, TakeTheBytesThatAreProjected) {
  for (const KvLayout layout : {KvLayout::kSlab, KvLayout::kRing, KvLayout::kPaged, KvLayout::kPadded}) {
    SCOPED_TRACE(static_cast<int>(layout));
    KvState state = make({.type = "h8", .layout = layout});
    EXPECT_EQ(state.bytes_per_token(), 2U * (32 + 4));
    const KvRow row = *state.add_row();
    grow(state, row, 300);
    EXPECT_EQ(state.usage().live, state.projected_bytes(300));
    EXPECT_EQ(state.allocated_bytes(), state.usage().live + state.usage().slack);
    ASSERT_OK(state.truncate(row, 40));
    EXPECT_EQ(state.usage().live, state.projected_bytes(40));
  }
}

TEST(KvStateOptions, SayWhatIsPossible) {
  const std::vector<KvLayer> layer = {{.kv_heads = 1, .k_dim = 64, .v_dim = 64}};
  EXPECT_ERROR(KvState::create({}), kInvalidArgument, "layers");
  EXPECT_ERROR(KvState::create({{.kv_heads = 0, .k_dim = 64, .v_dim = 64}}), kInvalidArgument, "KV layer 0");
  EXPECT_ERROR(KvState::create(layer, {.type = "q9"}), kInvalidArgument, "q8");
  EXPECT_ERROR(KvState::create(layer, {.layer_types = {"q8", "q8"}}), kInvalidArgument, "2 of 1 KV layers");
  EXPECT_ERROR(KvState::create(layer, {.layout = static_cast<KvLayout>(9)}), kInvalidArgument, "slab, ring");
  EXPECT_ERROR(KvState::create(layer, {.layout = KvLayout::kPaged, .page = 48}), kInvalidArgument, "64");
  EXPECT_ERROR(KvState::create(layer, {.type = "q8", .precision = {.keep_first = 4, .full = "q8"}}),
               kInvalidArgument, "f32, f16 or bf16");
  EXPECT_ERROR(KvState::create(layer, {.type = "q8", .precision = {.keep_first = 4, .full = "k=f16,v=f32"}}),
               kInvalidArgument, "f32, f16 or bf16");
  EXPECT_ERROR(KvState::create({{.kv_heads = 1, .k_dim = 96, .v_dim = 64}}, {.type = "turbo:k8v3"}),
               kInvalidArgument, "KV layer 0");
  EXPECT_ERROR(KvState::create(layer, {.slack = -1}), kInvalidArgument, "slack");
  EXPECT_ERROR(KvState::create(layer)->projected_bytes(-1), kInvalidArgument, "-1");
  EXPECT_ERROR(KvState::create(layer)->projected_bytes(int64_t{1} << 33), kInvalidArgument, "2^32");
}

TEST(KvStateTypes, MayDifferFromLayerToLayer) {
  const KvLayer layer{.kv_heads = 1, .k_dim = 64, .v_dim = 64};
  ASSERT_OK_AND_ASSIGN(const KvState state, KvState::create({layer, layer}, {.layer_types = {"f32", "q8"}}));
  // f32: 256 bytes a side; q8: 64 codes and a scale and a bias of two bytes each.
  EXPECT_EQ(state.bytes_per_token(), 2U * 256 + 2U * (64 + 4));
  EXPECT_EQ(state.layers(), 2U);
}

}  // namespace
}  // namespace kvern
