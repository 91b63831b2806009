// What a running render offers to operators and builtins: the heap, limits, time. One thread, one render.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "text/template/value.h"

namespace kvern::jinja {

/// Bounds on one render, so that a hostile template or context cannot hang or exhaust the process.
struct RenderLimits {
  size_t max_output_bytes = size_t{8} << 20;
  size_t max_memory_bytes = size_t{256} << 20;  ///< Held by values at one time.
  uint64_t max_steps = 20'000'000;              ///< Evaluated nodes, visited items, bytes / 64.
  uint32_t max_depth = 400;                     ///< Nested evaluation, macro calls included.
  int64_t max_range = 100'000;                  ///< Length of range().
};

class Runtime {
 public:
  Runtime(const RenderLimits& limits, const Clock* clock)
      : limits_(limits), clock_(clock), heap_(limits.max_memory_bytes) {}
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  Heap& heap() { return heap_; }
  const RenderLimits& limits() const { return limits_; }
  const Clock* clock() const { return clock_; }

  /// Pays for work; fails (kExhausted) when the render has done too much.
  Status charge(uint64_t steps) {
    steps_ += steps;
    if (steps_ > limits_.max_steps) return out_of_steps();
    return Ok{};
  }
  Status charge_bytes(size_t bytes) { return charge(bytes / 64); }
  uint64_t steps() const { return steps_; }

  /// A new string, paid for.
  Result<Value> string(std::string text) {
    KVERN_TRY_STATUS(charge_bytes(text.size()));
    return heap_.string(std::move(text));
  }
  Result<Value> list(std::vector<Value> items, List::Kind kind = List::Kind::kList) {
    KVERN_TRY_STATUS(charge(items.size()));
    return heap_.list(std::move(items), kind);
  }

  /// Levels of evaluation that are open; see DepthScope.
  uint32_t depth = 0;

 private:
  Status out_of_steps() const;
  RenderLimits limits_;
  const Clock* clock_;
  Heap heap_;
  uint64_t steps_ = 0;
};

/// One level of nested evaluation; ask ok() before going on.
class DepthScope {
 public:
  explicit DepthScope(Runtime& runtime) : runtime_(runtime) { ++runtime_.depth; }
  ~DepthScope() { --runtime_.depth; }
  DepthScope(const DepthScope&) = delete;
  DepthScope& operator=(const DepthScope&) = delete;
  Status ok() const;

 private:
  Runtime& runtime_;
};

/// An error of the running template (kCorrupt); the interpreter adds where it happened.
inline std::unexpected<Error> template_error(std::string message) {
  return fail(ErrorCode::kCorrupt, std::move(message));
}

}  // namespace kvern::jinja
