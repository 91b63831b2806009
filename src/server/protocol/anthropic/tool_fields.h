// `tools` and `tool_choice` of a message request.
#pragma once

#include "base/result.h"
#include "server/protocol/fields.h"
#include "server/protocol/tool_request.h"

namespace kvern::server::anthropic {

/// Tools of clients ({name, description, input_schema}); those that a server runs are refused by name.
Result<ToolRequest> read_tools(ObjectReader& body, size_t max_tools);

}  // namespace kvern::server::anthropic
