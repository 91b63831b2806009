// All layouts against one oracle: random scripts, the edges of every size, and a fault at every allocation.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "state/layout/layout_scene.h"
#include "state/layout/padded.h"
#include "state/layout/ring.h"
#include "state/layout/slab.h"

namespace kvern::state {
namespace {

using test::LayoutScene;

// Every layout, pages of all sizes.
std::vector<LayoutOptions> all_layouts() {
  std::vector<LayoutOptions> all = {{.kind = LayoutKind::kSlab, .poison = true},
                                    {.kind = LayoutKind::kRing, .poison = true},
                                    {.kind = LayoutKind::kPadded, .poison = true}};
  for (const int64_t page : {16, 32, 64, 128, 256}) {
    all.push_back({.kind = LayoutKind::kPaged, .page = page, .poison = true});
  }
  return all;
}

StoreSpec spec_of(int64_t origin, int64_t head_end, int64_t tail) {
  return {.geometry = test::odd_geometry(), .origin = origin, .head_end = head_end, .tail = tail};
}

// Everything; a window; sinks; sinks that end inside a page; a store that begins late; a head longer than a
// chunk.
std::vector<StoreSpec> all_specs() {
  return {spec_of(0, 0, 0),   spec_of(0, 0, 12),   spec_of(0, 4, 24),
          spec_of(0, 70, 40), spec_of(37, 37, 90), spec_of(20, 300, 0)};
}

// Sizes that the layouts know, for this spec.
std::vector<int64_t> sizes(const StoreSpec& spec) {
  std::vector<int64_t> all = {1, 16, kTile, 128, kSlabChunk, 2 * kSlabChunk};
  for (const int64_t edge : {spec.origin, spec.head_end, spec.tail, spec.head_end + spec.tail + kRingRoom}) {
    if (edge > 0) all.push_back(edge);
  }
  return all;
}

// In [from, to), evenly: a plain inRange of RapidCheck stays near `from` in the first scripts.
int64_t draw(int64_t from, int64_t to) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<int64_t>(from, to));
}

bool one_in(int64_t n) { return draw(0, n) == 0; }

template <typename T>
T draw_of(const std::vector<T>& values) {
  return values[static_cast<size_t>(draw(0, std::ssize(values)))];
}

// Around the sizes, or a few more positions.
int64_t draw_length(const StoreSpec& spec, int64_t from) {
  const int64_t few = from + draw(0, 20);
  if (!one_in(3)) return few;
  const int64_t size = draw_of(sizes(spec));
  const int64_t edge = (from / size + draw(1, 3)) * size + draw(-1, 2);
  return std::max(from, std::min<int64_t>(edge, 900));
}

void run_growth(LayoutScene& scene, size_t row) {
  auto& target = scene.rows()[row];
  const int64_t length = draw_length(scene.spec(), target.held.length);
  if (target.held.length == 0 && one_in(2)) {
    const int64_t tail = draw(0, 100);
    scene.assign(row, {std::max({scene.spec().origin, target.held.tail_begin, length - tail}), length});
  } else {
    scene.extend(row, length);
  }
}

void run_random_operation(LayoutScene& scene) {
  const int64_t choice = draw(0, 12);
  const size_t count = scene.rows().size();
  if (count == 0 || (choice == 0 && count < 5)) {
    scene.add();
    return;
  }
  const auto row = static_cast<size_t>(draw(0, static_cast<int64_t>(count)));
  const Held held = scene.rows()[row].held;
  if (choice == 1 && count < 5) {
    scene.fork(row);
  } else if (choice == 2) {
    scene.remove(row);
  } else if (choice <= 4) {
    const int64_t most = one_in(3) ? held.length : std::min<int64_t>(held.length, 20);
    scene.cut(row, held.length - draw(0, most + 1));
  } else if (choice <= 6) {
    const int64_t keep = draw(0, 100);
    if (held.length - keep > held.tail_begin) scene.drop(row, held.length - keep);
  } else {
    run_growth(scene, row);
  }
}

LayoutScene draw_scene() { return {draw_of(all_layouts()), draw_of(all_specs())}; }

void run_script(LayoutScene& scene, int64_t operations) {
  for (int64_t i = 0; i < operations; ++i) {
    run_random_operation(scene);
    if (!scene.check()) RC_FAIL(scene.problem());
  }
}

RC_GTEST_PROP(LayoutConformance, EveryScriptKeepsEveryRecordAndTheBooks, ()) {
  LayoutScene scene = draw_scene();
  run_script(scene, draw(1, 40));
  while (!scene.rows().empty()) scene.remove(0);
  RC_ASSERT(scene.check());
  RC_ASSERT(scene.layout().usage().live == 0U);
}

RC_GTEST_PROP(LayoutConformance, AFaultAtAnyAllocationChangesNothing, ()) {
  LayoutScene scene = draw_scene();
  scene.inject_faults(true);
  run_script(scene, draw(1, 20));
}

// What cannot fail works without memory, too.
RC_GTEST_PROP(LayoutConformance, WithoutMemoryRowsAreCutDroppedAndRemoved, ()) {
  LayoutScene scene = draw_scene();
  scene.expect_exact(false);
  for (int64_t i = draw(1, 30); i-- > 0;) {
    if (one_in(2)) scene.account().fail_after(static_cast<size_t>(draw(0, 3)));
    run_random_operation(scene);
    scene.account().fail_after();
    if (!scene.check()) RC_FAIL(scene.problem());
  }
  // The next operation of each row makes up for what had no memory.
  for (size_t row = 0; row < scene.rows().size(); ++row) scene.cut(row, scene.rows()[row].held.length);
  scene.expect_exact(true);
  if (!scene.check()) RC_FAIL(scene.problem());
}

RC_GTEST_PROP(LayoutConformance, ASmallBudgetGivesErrorsAndNothingElse, ()) {
  const LayoutOptions options = draw_of(all_layouts());
  const auto budget = static_cast<size_t>(draw(1, 400000));
  LayoutScene scene(options, draw_of(all_specs()), budget);
  scene.expect_exact(false);  // a smaller copy may have had no room
  run_script(scene, draw(1, 30));
  RC_ASSERT(scene.account().peak_bytes() <= budget);
}

class EveryLayout : public testing::TestWithParam<LayoutOptions> {};

std::string name_of(const testing::TestParamInfo<LayoutOptions>& info) {
  std::string name(to_string(info.param.kind));
  return info.param.kind == LayoutKind::kPaged ? name + std::to_string(info.param.page) : name;
}
INSTANTIATE_TEST_SUITE_P(LayoutConformance, EveryLayout, testing::ValuesIn(all_layouts()), name_of);

TEST_P(EveryLayout, HoldsTheEdgesOfEverySize) {
  for (const StoreSpec& spec : all_specs()) {
    for (const int64_t size : sizes(spec)) {
      for (const int64_t length : {size - 1, size, size + 1, 2 * size}) {
        LayoutScene scene(GetParam(), spec);
        const size_t row = scene.add();
        ASSERT_TRUE(scene.extend(row, length));
        ASSERT_TRUE(scene.fork(row));
        ASSERT_TRUE(scene.extend(row, length + 1));
        ASSERT_TRUE(scene.check()) << scene.problem();
        scene.cut(row, length - 1 < 0 ? 0 : length - 1);
        ASSERT_TRUE(scene.extend(row, length + size));
        ASSERT_TRUE(scene.check()) << scene.problem() << ", length " << length;
        scene.drop(row, std::max(spec.origin, length - 1));
        ASSERT_TRUE(scene.extend(row, length + size + 1));
        scene.cut(1, 0);
        ASSERT_TRUE(scene.extend(1, size));
        ASSERT_TRUE(scene.check()) << scene.problem() << ", length " << length;
      }
    }
  }
}

// A window goes on for long: nothing grows, whatever part of each step is kept.
TEST_P(EveryLayout, AWindowThatMovesKeepsItsStorage) {
  constexpr int64_t kTail = 12;
  LayoutScene scene(GetParam(), spec_of(0, 2, kTail));
  const size_t row = scene.add();
  size_t most = 0;
  for (int64_t round = 0, length = 0; round < 3000; ++round) {
    ASSERT_TRUE(scene.extend(row, length + 4));
    length += round % 4 + 1;
    scene.cut(row, length);
    scene.drop(row, std::max<int64_t>(0, length - kTail));
    ASSERT_TRUE(round % 64 != 0 || scene.check()) << scene.problem();
    if (round < 600) most = std::max(most, scene.account().live_bytes());
    ASSERT_LE(scene.account().live_bytes(), most);
  }
}

TEST_P(EveryLayout, EmptyRowsTakeNothing) {
  LayoutScene scene(GetParam(), spec_of(30, 40, 8));
  for (int i = 0; i < 10; ++i) scene.add();
  EXPECT_EQ(scene.account().live_bytes(), 0U);
  // Positions before the origin are not held.
  EXPECT_TRUE(scene.extend(3, 30));
  EXPECT_EQ(scene.account().live_bytes(), 0U);
  EXPECT_TRUE(scene.extend(3, 31));
  EXPECT_GT(scene.layout().usage().live, 0U);
  EXPECT_TRUE(scene.check()) << scene.problem();
}

TEST_P(EveryLayout, ARowThatNeverFitsSaysSo) {
  MemoryAccount account(100);
  const auto layout = make_layout(GetParam(), spec_of(0, 0, 0), account);
  const RowSlot row = layout->add_row();
  const Status status = layout->extend(row, 1000);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kExhausted);
  EXPECT_TRUE(status.error().retryable);
  EXPECT_NE(status.error().message.find("of its budget of 100 are free"), std::string::npos)
      << status.error().message;
  EXPECT_EQ(layout->held(row), (Held{0, 0}));
}

}  // namespace
}  // namespace kvern::state
