// From what a cache is asked to keep to the groups that keep it.
#pragma once

#include <vector>

#include "base/result.h"
#include "state/sequence/group.h"
#include "state/sequence/kv_spec.h"

namespace kvern::state {

/// Far beyond any row; keeps products of sizes inside 64 bits.
inline constexpr int64_t kMaxRowLength = int64_t{1} << 32;

/// Layers that keep the same positions, in the order of their first layer. kInvalidArgument names the layer
/// and what is possible.
Result<std::vector<KvGroup::Config>> plan_groups(const KvSpec& spec, const KvOptions& options);

}  // namespace kvern::state
