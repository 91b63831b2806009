// What a reply with tool calls may look like, for a grammar.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "engine/chat/tool_call_style.h"
#include "text/grammar/structure.h"

namespace kvern::engine {

/// A function that an assistant may call.
struct ToolFunction {
  std::string name;
  std::string description;
  json::object parameters;  ///< a JSON Schema
  /// The arguments must follow the schema, also where a call is the model's own wish.
  bool strict = false;
};

struct ToolCallRules {
  ToolCallStyle style = ToolCallStyle::kTagged;  ///< not kNone
  /// Nothing but calls is written, at least one. Else text and calls are free to mix, and only what is strict
  /// is held to its schema.
  bool required = false;
  /// More than one call may be written.
  bool several = true;
};

/// The parts are the calls of `functions`, at least one.
text::Structure tool_call_structure(const std::vector<ToolFunction>& functions, const ToolCallRules& rules);

}  // namespace kvern::engine
