#include "engine/chat/tool_call_style.h"

namespace kvern::engine {

ToolCallStyle detect_tool_call_style(std::string_view chat_template) {
  const auto has = [&](std::string_view words) {
    return chat_template.find(words) != std::string_view::npos;
  };
  if (!has("tools")) return ToolCallStyle::kNone;
  // Qwen 3 Coder puts XML between the same tags.
  if (has("<tool_call>")) return has("<function=") ? ToolCallStyle::kNone : ToolCallStyle::kTagged;
  // Later Mistral models write [TOOL_CALLS]name[ARGS]{…}.
  if (has("[TOOL_CALLS]")) return has("[ARGS]") ? ToolCallStyle::kNone : ToolCallStyle::kBracketed;
  if (has("\"parameters\": ") && (has("<|python_tag|>") || has("ipython"))) return ToolCallStyle::kBareJson;
  return ToolCallStyle::kNone;
}

std::string_view opening_marker(ToolCallStyle style) {
  switch (style) {
    case ToolCallStyle::kNone:
      return {};
    case ToolCallStyle::kTagged:
      return "<tool_call>";
    case ToolCallStyle::kBareJson:
      return "<|python_tag|>";
    case ToolCallStyle::kBracketed:
      return "[TOOL_CALLS]";
  }
  return {};
}

std::string_view closing_marker(ToolCallStyle style) {
  return style == ToolCallStyle::kTagged ? "</tool_call>" : "";
}

}  // namespace kvern::engine
