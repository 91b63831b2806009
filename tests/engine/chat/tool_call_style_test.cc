#include "engine/chat/tool_call_style.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/files.h"
#include "engine/support/engines.h"
#include "support/shared_data.h"

namespace kvern::engine {
namespace {

TEST(ToolCallStyleTest, is_seen_from_how_a_template_writes_calls) {
  const auto style = [](std::string_view text) { return detect_tool_call_style(text); };
  EXPECT_EQ(style("{{ messages }}"), ToolCallStyle::kNone);
  EXPECT_EQ(style("{% for tool in tools %}<tool_call>\n{\"name\": "), ToolCallStyle::kTagged);
  EXPECT_EQ(style("<tool_call>"), ToolCallStyle::kNone) << "it takes no tools";
  EXPECT_EQ(style("tools <tool_call>\n<function=f>\n<parameter=x>"), ToolCallStyle::kNone) << "XML inside";
  EXPECT_EQ(style("tools [TOOL_CALLS] ["), ToolCallStyle::kBracketed);
  EXPECT_EQ(style("tools [TOOL_CALLS]f[ARGS]{}"), ToolCallStyle::kNone);
  EXPECT_EQ(style("tools '\"parameters\": ' <|python_tag|>"), ToolCallStyle::kBareJson);
}

TEST(ToolCallStyleTest, no_marker_repeats_its_first_character) {
  // The parser relies on it.
  for (const ToolCallStyle style :
       {ToolCallStyle::kTagged, ToolCallStyle::kBareJson, ToolCallStyle::kBracketed}) {
    for (const std::string_view marker :
         {opening_marker(style), closing_marker(style), kThinkOpen, kThinkClose}) {
      if (marker.empty()) continue;
      EXPECT_EQ(marker.find(marker.front(), 1), std::string_view::npos) << marker;
    }
  }
}

TEST(ToolCallStyleTest, of_published_templates) {
  KVERN_REQUIRE_SHARED("chat/templates");
  const auto files = make_posix_files();
  const auto style = [&](const std::string& name) {
    const std::string path = kvern::test::shared_data("chat/templates/" + name + ".jinja");
    return detect_tool_call_style(test::get_file(*files, path));
  };
  EXPECT_EQ(style("Qwen-Qwen2.5-7B-Instruct"), ToolCallStyle::kTagged);
  EXPECT_EQ(style("Qwen-Qwen3-0.6B"), ToolCallStyle::kTagged);
  EXPECT_EQ(style("meta-llama-Llama-3.1-8B-Instruct"), ToolCallStyle::kBareJson);
  EXPECT_EQ(style("meta-llama-Llama-3.2-3B-Instruct"), ToolCallStyle::kBareJson);
  EXPECT_EQ(style("mistralai-Mistral-Nemo-Instruct-2407"), ToolCallStyle::kBracketed);
  EXPECT_EQ(style("google-gemma-2-2b-it"), ToolCallStyle::kNone);
  EXPECT_EQ(style("microsoft-Phi-3.5-mini-instruct"), ToolCallStyle::kNone);
}

}  // namespace
}  // namespace kvern::engine
