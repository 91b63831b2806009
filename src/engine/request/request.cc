#include "engine/request/request.h"

#include "engine/request/generation_service.h"
#include "engine/sample/philox.h"

namespace kvern::engine {

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

Result<FlushReport> GenerationService::flush(std::chrono::steady_clock::time_point /*deadline*/) {
  return fail(ErrorCode::kUnsupported, "prefixes are kept in memory alone: there is nothing to save them to");
}

uint64_t choice_seed(uint64_t seed, int32_t choice) {
  return child_seed(seed, static_cast<uint32_t>(choice));
}

}  // namespace kvern::engine
