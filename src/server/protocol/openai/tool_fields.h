// `tools` and `tool_choice` of a chat.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/chat/tool_call_structure.h"
#include "server/protocol/fields.h"

namespace kvern::server::openai {

enum class ToolChoice : uint8_t {
  kNone,      ///< the model is not told of the tools
  kAuto,      ///< it may call or answer
  kRequired,  ///< it must call one of them
};

struct ToolRequest {
  std::vector<engine::ToolFunction> functions;  ///< all that were given
  json::array for_template;                     ///< the same, as chat templates read them; empty with kNone
  ToolChoice choice = ToolChoice::kNone;
  /// With kRequired: the one that must be called; empty: any.
  std::string named;
  bool parallel = true;
};

/// Reads tools, tool_choice and parallel_tool_calls. Refuses `functions` and `function_call`.
Result<ToolRequest> read_tools(ObjectReader& body, size_t max_tools);

}  // namespace kvern::server::openai
