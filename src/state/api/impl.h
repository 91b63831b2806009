// What the public handles of kvern/state.h and kvern/compute.h hold.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "compute/context.h"
#include "kvern/compute.h"
#include "kvern/state.h"
#include "state/sequence/kv_cache.h"

namespace kvern {

struct Compute::Impl {
  Impl(compute::CpuTarget target, int count) : threads(count), context(target, count) {}
  int threads;
  compute::Context context;
};

struct KvRowImage::Impl {
  state::RowImage image;
};

/// Lives as long as the KvState or its open step.
struct KvState::Impl {
  std::unique_ptr<state::KvCache> cache;
  bool step_open = false;
};

struct KvStep::Impl {
  Impl(std::shared_ptr<KvState::Impl> owner, state::Step opened);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  /// Rolls an open step back.
  ~Impl() { end(); }
  void end();
  const state::KvLayerSpec& layer(size_t index) const { return state->cache->spec().layers[index]; }

  std::shared_ptr<KvState::Impl> state;  // outlives `step`
  std::optional<state::Step> step;       // empty once it has ended
  std::vector<KvStepRow> rows;
  std::vector<bool> appended;  // by layer
};

}  // namespace kvern
