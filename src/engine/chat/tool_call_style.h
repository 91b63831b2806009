// How models write calls of tools into their text. Which way a model was trained on is seen from its chat
// template, which writes earlier calls the same way.
#pragma once

#include <cstdint>
#include <string_view>

namespace kvern::engine {

enum class ToolCallStyle : uint8_t {
  kNone,  ///< the template knows no tools, or a way that is not one of these
  /// <tool_call>\n{"name": …, "arguments": {…}}\n</tool_call>, once for each call: Hermes, Qwen 2.5 and 3,
  /// the bundled model.
  kTagged,
  /// {"name": …, "parameters": {…}} as the whole answer, after an optional <|python_tag|>: Llama 3.
  kBareJson,
  /// [TOOL_CALLS] [{"name": …, "arguments": {…}}, …]: Mistral.
  kBracketed,
};

/// From the template's source.
ToolCallStyle detect_tool_call_style(std::string_view chat_template);

/// What a call begins with; empty for kNone. Nothing in it repeats its first character.
std::string_view opening_marker(ToolCallStyle style);
/// What ends a call of the style kTagged; empty for the others.
std::string_view closing_marker(ToolCallStyle style);

inline constexpr std::string_view kThinkOpen = "<think>";
inline constexpr std::string_view kThinkClose = "</think>";

}  // namespace kvern::engine
