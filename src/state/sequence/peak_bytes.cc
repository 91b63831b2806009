// The most that a row holds while it grows.
#include <algorithm>
#include <array>
#include <vector>

#include "state/layout/ranges.h"
#include "state/layout/slab.h"
#include "state/sequence/kv_cache.h"

namespace kvern::state {
namespace {

// The lengths from `first` to `last` at which a row can hold the most, if it does nothing but grow, or
// shrink, or move on there: it takes pages where it begins one and gives some back anywhere.
std::array<int64_t, 4> lengths_of_most(int64_t first, int64_t last, int64_t page) {
  const auto inside = [&](int64_t length) { return std::clamp(length, first, last); };
  return {first, inside(round_up(first - 1, page) + 1), inside((last - 1) / page * page + 1), last};
}

}  // namespace

size_t KvCache::peak_bytes(const RowGrowth& growth) const {
  const int64_t page = options_.layout == LayoutKind::kSlab ? kSlabChunk : options_.page;
  std::vector<int64_t> turns{growth.first + 1, growth.first + growth.step + 1, growth.end + 1};
  for (const auto& group : groups_) group->add_turns(growth.step, turns);
  std::ranges::sort(turns);
  size_t peak = projected_bytes(growth.first);
  for (size_t i = 0; i + 1 < turns.size(); ++i) {
    const int64_t first = std::max(turns[i], growth.first + 1);
    const int64_t last = std::min(turns[i + 1] - 1, growth.end);
    if (first > last) continue;
    size_t sum = 0;
    for_stores([&](const KvGroup& group, KvForm form) {
      size_t most = 0;
      for (const int64_t end : lengths_of_most(first, last, page)) {
        const Growth step{std::max(growth.first, end - growth.step), end};
        most = std::max(most, group.layout(form)->row_bytes(group.held_during(form, step)));
      }
      sum += most;
    });
    peak = std::max(peak, sum);
  }
  return peak;
}

}  // namespace kvern::state
