// `tools` and `tool_choice` of a chat.
#pragma once

#include "base/result.h"
#include "server/protocol/fields.h"
#include "server/protocol/tool_request.h"

namespace kvern::server::openai {

/// Reads tools, tool_choice and parallel_tool_calls. Refuses `functions` and `function_call`.
Result<ToolRequest> read_tools(ObjectReader& body, size_t max_tools);

}  // namespace kvern::server::openai
