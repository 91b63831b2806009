// One conversation: a row of KV state that stays between generations, so that a prompt which begins like what
// the row already holds is computed from the first difference on.
#pragma once

#include <vector>

#include "engine/load/engine.h"
#include "engine/request/request.h"

namespace kvern::engine {

/// One thread, the engine's. The engine outlives the session.
class Session {
 public:
  explicit Session(Engine& engine);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs one request. The result depends on the request and the model alone, not on what the row held
  /// before. Errors: kInvalidArgument for a request that cannot be run (empty prompt, longer than the
  /// context: both numbers are named); what the computation reports. The row stays usable.
  Result<GenerateResult> generate(const GenerateRequest& request, const GenerateEvents& events = {});

 private:
  Status check(const GenerateRequest& request) const;
  Result<size_t> cut_row(size_t length);
  Result<std::span<float>> compute_prompt(const GenerateRequest& request, const GenerateEvents& events,
                                          GenerateResult& result);
  Status decode(const GenerateRequest& request, const GenerateEvents& events, std::span<float> logits,
                GenerateResult& result);

  Engine& engine_;
  state::RowId row_;
  std::vector<int32_t> tokens_;  // what the row's state holds
};

}  // namespace kvern::engine
