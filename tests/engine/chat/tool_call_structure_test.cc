#include "engine/chat/tool_call_structure.h"

#include <gtest/gtest.h>

#include "engine/chat/reply_parser.h"

namespace kvern::engine {
namespace {

const std::vector<ToolFunction> kFunctions = {
    {.name = "get", .parameters = {{"type", "object"}, {"required", {"city"}}}, .strict = true},
    {.name = "set", .parameters = {{"type", "object"}}}};

TEST(ToolCallStructure, what_it_demands_the_parser_reads_as_calls) {
  for (const ToolCallStyle style :
       {ToolCallStyle::kTagged, ToolCallStyle::kBareJson, ToolCallStyle::kBracketed}) {
    SCOPED_TRACE(static_cast<int>(style));
    const text::Structure structure = tool_call_structure(kFunctions, {.style = style, .required = true});
    ASSERT_EQ(structure.parts.size(), 2U);
    EXPECT_EQ(structure.min_parts, 1U);
    EXPECT_FALSE(structure.free_before || structure.free_between || structure.free_after);
    for (const text::StructuredPart& part : structure.parts) {
      EXPECT_EQ(part.begin.rfind(structure.triggers.front(), 0), 0U) << part.begin;
      ReplyParser parser({.calls = style, .tools = {"get", "set"}});
      std::vector<ReplyDelta> deltas;
      const std::string call = part.begin + "{\"city\": \"Oslo\"}" + part.end;
      parser.push(call + structure.separator + call, deltas);
      parser.finish(deltas);
      EXPECT_EQ(parser.calls(), 2U);
      for (const ReplyDelta& delta : deltas) EXPECT_NE(delta.kind, ReplyDelta::Kind::kContent) << delta.text;
    }
  }
}

TEST(ToolCallStructure, a_demanded_call_follows_its_schema_and_a_free_one_if_it_is_strict) {
  const text::Structure required = tool_call_structure(kFunctions, {.required = true, .several = false});
  EXPECT_EQ(required.max_parts, 1U);
  EXPECT_EQ(required.parts[0].schema, json::value(kFunctions[0].parameters));
  EXPECT_EQ(required.parts[1].schema, json::value(kFunctions[1].parameters));
  const text::Structure free =
      tool_call_structure({kFunctions[0], {.name = "loose", .parameters = {{"x", 1}}}}, {});
  EXPECT_EQ(free.min_parts, 0U);
  EXPECT_TRUE(free.free_before && free.free_between && free.free_after && free.separator.empty());
  EXPECT_EQ(free.parts[0].schema, json::value(kFunctions[0].parameters));
  EXPECT_EQ(free.parts[1].schema, (json::value{{"type", "object"}}));
}

}  // namespace
}  // namespace kvern::engine
