// One conversation: a batch of one row that is kept between generations, so that a prompt which begins like
// what the row holds is computed from the first difference on.
#pragma once

#include <memory>

#include "base/clock.h"
#include "engine/load/engine.h"
#include "engine/loop/batch.h"
#include "engine/request/request.h"

namespace kvern::engine {

/// One thread, the engine's. The engine outlives the session.
class Session {
 public:
  /// With tiers, prefixes come from there, and what is kept is saved; the tiers outlive the session and are
  /// gone before the engine.
  explicit Session(Engine& engine, TierOptions tiers = {});

  /// Runs one request. The result depends on the request and the model alone, not on what the row held
  /// before. Errors: kInvalidArgument for a request that cannot be run (empty prompt, longer than the
  /// context: both numbers are named), kExhausted for one whose keys and values exceed the budget; what the
  /// computation reports. The session stays usable.
  Result<GenerateResult> generate(const GenerateRequest& request, const GenerateEvents& events = {});

  /// Saves the conversation to the tiers, until the deadline.
  FlushReport save(TimePoint deadline) { return batch_.flush(deadline); }

 private:
  std::unique_ptr<Clock> clock_;
  Batch batch_;
};

}  // namespace kvern::engine
