// Random scripts on every type, layout and policy: append in random chunks, keep a part, truncate, fork,
// remove. Every attention output is compared bit for bit with the slow reference, and the books with the
// allocator, after every operation.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "state/codec/registry.h"
#include "support/kv_script.h"

namespace kvern::state {
namespace {

using test::KvScene;

// What the present scene is, for messages.
std::string scene_text;

// Sizes around every border: tile, page, chunk of the slab, span.
int64_t draw_tokens() {
  return *rc::gen::weightedOneOf<int64_t>({{8, rc::gen::inRange<int64_t>(0, 20)},
                                           {3, rc::gen::inRange<int64_t>(60, 70)},
                                           {1, rc::gen::inRange<int64_t>(250, 260)},
                                           {1, rc::gen::inRange<int64_t>(510, 515)}});
}

KvType draw_type(bool key, int64_t dim) {
  std::vector<KvType> possible;
  for (const Codec* codec : all_codecs()) {
    if (!codec->takes(*codec, dim)) continue;
    if (codec->kind == (key ? CodecKind::kTurboValue : CodecKind::kTurboKey)) continue;
    KvType type{.kind = codec->kind, .bits = codec->bits, .group = codec->group};
    if (codec->kind == CodecKind::kTurboValue) type.rotation = Rotation::kSignedHadamard;
    possible.push_back(type);
    if (codec->kind == CodecKind::kAffine) {
      type.rotation = Rotation::kHadamard;
      possible.push_back(type);
    }
  }
  return *rc::gen::elementOf(possible);
}

KvPrecision draw_precision() {
  KvPrecision precision;
  if (*rc::gen::inRange(0, 2) == 0) return precision;
  const auto number = [] { return *rc::gen::element<int64_t>(0, 0, 1, 5, 16, 64, 70, 300); };
  precision.quant_start = number();
  precision.keep_first = number();
  precision.keep_last = number();
  precision.full.kind = *rc::gen::element(CodecKind::kF16, CodecKind::kBF16, CodecKind::kF32);
  return precision;
}

bool is_float(CodecKind kind) {
  return kind == CodecKind::kF32 || kind == CodecKind::kF16 || kind == CodecKind::kBF16;
}

std::unique_ptr<KvScene> draw_scene() {
  KvLayerSpec spec{.kv_heads = *rc::gen::inRange<int64_t>(1, 3),
                   .k_dim = *rc::gen::element<int64_t>(8, 20, 32, 64, 96, 128),
                   .v_dim = *rc::gen::element<int64_t>(8, 20, 32, 64, 128)};
  if (*rc::gen::inRange(0, 2) == 0) {
    spec.window = *rc::gen::element<int64_t>(1, 2, 8, 33, 64, 100, 600);
    spec.sinks = *rc::gen::element<int64_t>(0, 0, 1, 4, 70);
  }
  KvOptions options{.types = {draw_type(true, spec.k_dim), draw_type(false, spec.v_dim)},
                    .layout = *rc::gen::element(LayoutKind::kSlab, LayoutKind::kRing, LayoutKind::kPaged,
                                                LayoutKind::kPadded),
                    .page = *rc::gen::element<int64_t>(16, 32, 64, 128, 256),
                    .slack = *rc::gen::element<int64_t>(0, 1, 4, 16),
                    .poison = true};
  if (!is_float(options.types.k.kind) || !is_float(options.types.v.kind))
    options.precision = draw_precision();
  std::vector<compute::CpuTarget> targets;
  for (const compute::CpuTarget target : compute::compiled_targets()) {
    if (compute::is_supported(target)) targets.push_back(target);
  }
  const test::SceneCompute compute{*rc::gen::elementOf(targets), *rc::gen::inRange(1, 4)};
  scene_text = to_string(options.types) + " heads " + std::to_string(spec.kv_heads);
  const auto add = [&](const char* name, int64_t value) {
    scene_text += std::string(" ") + name + " " + std::to_string(value);
  };
  add("k", spec.k_dim);
  add("v", spec.v_dim);
  add("window", spec.window);
  add("sinks", spec.sinks);
  add("layout", static_cast<int64_t>(options.layout));
  add("page", options.page);
  add("slack", options.slack);
  add("start", options.precision.quant_start);
  add("first", options.precision.keep_first);
  add("last", options.precision.keep_last);
  add("threads", compute.threads);
  scene_text += " " + std::string(compute::to_string(compute.target));
  auto scene = std::make_unique<KvScene>(spec, *rc::gen::inRange<int64_t>(1, 6), options, compute);
  if (*rc::gen::inRange(0, 3) == 0) scene->set_logits(*rc::gen::element(0.5F, 30.0F), {});
  return scene;
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
  for (size_t i = 0; i < brings.size(); ++i) {
    RC_LOG() << "row " << brings[i].row << " of " << scene.length(brings[i].row) << " + " << brings[i].tokens
             << " keep " << keep[i] << std::endl;
  }
  scene.step_keeping(brings, keep);
  RC_LOG() << scene_text << std::endl;
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
    const int64_t minimum = scene.minimum(row);
    RC_ASSERT(minimum <= scene.length(row));
    if (minimum > 0) RC_ASSERT(!scene.cache().truncate(scene.row(row), minimum - 1).has_value());
    scene.truncate(row, *rc::gen::inRange<int64_t>(minimum, scene.length(row) + 1));
  } else if (choice == 3) {
    scene.remove(any_row());
  } else {
    run_random_step(scene);
  }
}

RC_GTEST_PROP(KvConformance, EveryScriptGivesTheBitsOfTheReference, ()) {
  const auto owned = draw_scene();
  KvScene& scene = *owned;
  const int operations = *rc::gen::inRange(1, 16);
  for (int i = 0; i < operations; ++i) {
    run_random_operation(scene);
    const LayoutUsage usage = scene.cache().usage();
    RC_ASSERT(usage.live + usage.slack == scene.cache().allocated_bytes());
  }
}

}  // namespace
}  // namespace kvern::state
