// Which tools a chat offers, whatever its API calls them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/chat/tool_call_structure.h"
#include "server/protocol/fields.h"

namespace kvern::server {

enum class ToolChoice : uint8_t {
  kNone,      ///< the model is not told of the tools
  kAuto,      ///< it may call or answer
  kRequired,  ///< it must call one of them
};

struct ToolRequest {
  std::vector<engine::ToolFunction> functions;  ///< all that were given
  ToolChoice choice = ToolChoice::kNone;
  /// With kRequired: the one that must be called; empty: any.
  std::string named;
  bool parallel = true;
};

/// The functions as chat templates read them; none with kNone.
json::array template_tools(const ToolRequest& request);
/// The functions that may be called: all, or the one that is named.
std::vector<engine::ToolFunction> callable_tools(const ToolRequest& request);

inline constexpr size_t kMaxToolNameBytes = 64;

/// The member `name`: letters, digits, _ and -.
Result<std::string> read_tool_name(ObjectReader& tool, size_t max_bytes);

/// The schema of a function that takes no arguments.
json::object no_parameters();

/// How an API writes one tool.
struct ToolReader {
  std::function<Result<engine::ToolFunction>(const json::value& tool, const std::string& path)> read;
  std::string_view name;  ///< where the name stands in it: ".name"
};
/// The member `tools`: names differ, not too many.
Result<std::vector<engine::ToolFunction>> read_tool_list(ObjectReader& body, size_t max_tools,
                                                         const ToolReader& reader);

/// The function `named` must be called: it must be one of them. `path`: where it was named.
Status require_tool(ToolRequest& request, const std::string& path);

}  // namespace kvern::server
