#include "engine/schedule/admission.h"

#include <algorithm>

namespace kvern::engine {
namespace {

size_t add(size_t a, size_t b) {
  size_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

size_t multiply(size_t a, size_t b) {
  size_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

size_t less(size_t a, size_t b) { return a > b ? a - b : 0; }

}  // namespace

int64_t final_tokens(const Demand& demand) {
  const int64_t room = std::max<int64_t>(0, demand.context_tokens - demand.prompt_tokens);
  return demand.prompt_tokens + std::clamp<int64_t>(demand.max_new_tokens - 1, 0, room);
}

size_t own_bytes(const Projection& projection, int64_t shared, int64_t end) {
  const int64_t start = projection.quant_start;
  const size_t shared_bytes = projection.peak(shared, shared);
  if (shared >= start || end < start) return less(projection.peak(shared, end), shared_bytes);
  return std::max(less(projection.peak(shared, start), shared_bytes), projection.peak(start, end));
}

size_t least_bytes(const Projection& projection, const Demand& demand) {
  const int64_t end = final_tokens(demand);
  const size_t whole = projection.peak(0, end);
  const size_t own = own_bytes(projection, demand.prompt_tokens, end);
  return add(whole, multiply(own, static_cast<size_t>(std::max(demand.choices, 1) - 1)));
}

std::optional<int64_t> most_new_tokens(const Projection& projection, Demand demand, size_t budget_bytes) {
  const auto fits = [&](int64_t count) {
    demand.max_new_tokens = count;
    return least_bytes(projection, demand) <= budget_bytes;
  };
  int64_t low = 0;
  int64_t high = demand.max_new_tokens;
  if (!fits(low)) return std::nullopt;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

Room room_for(size_t bytes, const MemoryView& memory) {
  if (memory.budget_bytes == 0) return Room::kFree;
  const size_t wanted = add(bytes, memory.growth_bytes);
  if (add(memory.live_bytes, wanted) <= memory.budget_bytes) return Room::kFree;
  if (add(less(memory.live_bytes, memory.kept_bytes), wanted) <= memory.budget_bytes)
    return Room::kAfterPrefixes;
  return Room::kNone;
}

bool all_can_end(std::span<const Standing> requests, size_t budget_bytes, size_t outside_limit) {
  size_t younger = 0;
  for (size_t i = requests.size(); i-- > 0;) {
    if (younger > outside_limit && add(requests[i].final_bytes, younger) > budget_bytes) return false;
    younger = add(younger, requests[i].outside_bytes);
  }
  return true;
}

std::optional<size_t> row_to_move_out(std::span<const MovableRow> rows, MoveRule rule) {
  for (size_t i = rows.size(); i-- > 1;) {
    if (rule == MoveRule::kAny || rows[i].advanced_tokens >= kTokensBetweenMoves) return i;
  }
  return std::nullopt;
}

}  // namespace kvern::engine
