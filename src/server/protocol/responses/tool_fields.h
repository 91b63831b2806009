// `tools` and `tool_choice` of a response.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "server/protocol/fields.h"
#include "server/protocol/tool_request.h"

namespace kvern::server::responses {

/// Functions; tools that a server runs are refused by name. `strict` is false unless it is asked for.
Result<ToolRequest> read_tools(ObjectReader& body, size_t max_tools);

/// The members `tools`, `tool_choice` and `parallel_tool_calls` as answers say them.
void tell_tools(const ToolRequest& tools, json::object& response);

}  // namespace kvern::server::responses
