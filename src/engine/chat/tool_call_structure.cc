#include "engine/chat/tool_call_structure.h"

#include <limits>
#include <string_view>

#include "base/check.h"

namespace kvern::engine {
namespace {

/// What stands around one call, and between two.
struct Frame {
  std::string_view before;
  std::string_view arguments;  // the key
  std::string_view after;
  std::string_view separator;
  std::string_view trigger;
};

Frame frame_of(ToolCallStyle style) {
  switch (style) {
    case ToolCallStyle::kNone:
      break;
    case ToolCallStyle::kTagged:
      return {"<tool_call>\n", "arguments", "\n</tool_call>", "\n", "<tool_call>"};
    case ToolCallStyle::kBareJson:
      return {"", "parameters", "", "; ", "{\"name\": \""};
    // A list for each call: where a list may go on, the parts would not be alike.
    case ToolCallStyle::kBracketed:
      return {"[TOOL_CALLS] [", "arguments", "]", "", "[TOOL_CALLS]"};
  }
  KVERN_CHECK(false);
  return {};
}

}  // namespace

text::Structure tool_call_structure(const std::vector<ToolFunction>& functions, const ToolCallRules& rules) {
  const Frame frame = frame_of(rules.style);
  text::Structure structure;
  for (const ToolFunction& function : functions) {
    const bool bound = rules.required || function.strict;
    std::string begin(frame.before);
    begin.append("{\"name\": \"")
        .append(function.name)
        .append("\", \"")
        .append(frame.arguments)
        .append("\": ");
    structure.parts.push_back({.begin = std::move(begin),
                               .schema = bound ? function.parameters : json::object{{"type", "object"}},
                               .end = "}" + std::string(frame.after)});
  }
  structure.min_parts = rules.required ? 1 : 0;
  structure.max_parts = rules.several ? std::numeric_limits<uint32_t>::max() : 1;
  structure.triggers = {std::string(frame.trigger)};
  structure.free_before = structure.free_between = structure.free_after = !rules.required;
  if (rules.required) structure.separator = frame.separator;
  return structure;
}

}  // namespace kvern::engine
