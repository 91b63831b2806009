// Random scripts on every codec: append in random chunks, keep a part, truncate, fork, remove. Every
// attention output is compared bit for bit with the slow reference, and the books with the allocator, after
// every operation.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "state/codec/registry.h"
#include "support/kv_script.h"

namespace kvern::state {
namespace {

using test::KvScene;

// Sizes around every border: tile, chunk of the slab, span.
int64_t draw_tokens() {
  return *rc::gen::weightedOneOf<int64_t>({{6, rc::gen::inRange<int64_t>(0, 20)},
                                           {3, rc::gen::inRange<int64_t>(60, 70)},
                                           {1, rc::gen::inRange<int64_t>(250, 260)},
                                           {1, rc::gen::inRange<int64_t>(510, 515)}});
}

KvScene draw_scene() {
  const KvLayerSpec spec{.kv_heads = *rc::gen::inRange<int64_t>(1, 3),
                         .k_dim = *rc::gen::element<int64_t>(8, 16, 20, 64),
                         .v_dim = *rc::gen::element<int64_t>(8, 16, 20, 32)};
  const auto codecs = all_codecs();
  const auto draw_codec = [&] { return codecs[*rc::gen::inRange<size_t>(0, codecs.size())]->id; };
  const KvOptions options{.k_codec = draw_codec(), .v_codec = draw_codec(), .poison = true};
  std::vector<compute::CpuTarget> targets;
  for (const compute::CpuTarget target : compute::compiled_targets()) {
    if (compute::is_supported(target)) targets.push_back(target);
  }
  return KvScene(spec, *rc::gen::inRange<int64_t>(1, 6), options,
                 {*rc::gen::elementOf(targets), *rc::gen::inRange(1, 4)});
}

void run_random_step(KvScene& scene) {
  std::vector<KvScene::Bring> brings;
  std::vector<int64_t> keep;
  for (size_t row = 0; row < scene.rows(); ++row) {
    if (*rc::gen::inRange(0, 3) == 0) continue;
    brings.push_back({row, draw_tokens()});
    const bool all = *rc::gen::inRange(0, 3) != 0;
    keep.push_back(all ? brings.back().tokens : *rc::gen::inRange<int64_t>(0, brings.back().tokens + 1));
  }
  scene.step_keeping(brings, keep);
  RC_ASSERT(scene.outputs_equal_reference());
}

void run_random_operation(KvScene& scene) {
  const auto any_row = [&] { return *rc::gen::inRange<size_t>(0, scene.rows()); };
  const int choice = *rc::gen::inRange(0, 10);
  if (scene.rows() == 0 || (choice == 0 && scene.rows() < 4)) {
    scene.add_row();
  } else if (choice == 1 && scene.rows() < 4) {
    scene.fork(any_row());
  } else if (choice == 2) {
    const size_t row = any_row();
    scene.truncate(row, *rc::gen::inRange<int64_t>(0, scene.length(row) + 1));
  } else if (choice == 3) {
    scene.remove(any_row());
  } else {
    run_random_step(scene);
  }
}

RC_GTEST_PROP(KvConformance, EveryScriptGivesTheBitsOfTheReference, ()) {
  KvScene scene = draw_scene();
  const int operations = *rc::gen::inRange(1, 16);
  for (int i = 0; i < operations; ++i) {
    run_random_operation(scene);
    RC_ASSERT(scene.cache().live_bytes() == scene.projected_bytes());
  }
}

}  // namespace
}  // namespace kvern::state
