#include "engine/chat/reply_parser.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"

namespace kvern::engine {
namespace {

using Kind = ReplyDelta::Kind;

/// A reply with its deltas joined.
struct Reply {
  std::string reasoning;
  std::string content;
  std::vector<std::pair<std::string, std::string>> calls;
  bool operator==(const Reply&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Reply& reply) {
  out << "reasoning \"" << reply.reasoning << "\" content \"" << reply.content << "\"";
  for (const auto& [name, arguments] : reply.calls) out << " call " << name << " " << arguments;
  return out;
}

void take(Reply& reply, const std::vector<ReplyDelta>& deltas) {
  for (const ReplyDelta& delta : deltas) {
    ASSERT_TRUE(is_valid_utf8(delta.text)) << delta.text;
    switch (delta.kind) {
      case Kind::kReasoning:
        reply.reasoning += delta.text;
        break;
      case Kind::kContent:
        reply.content += delta.text;
        break;
      case Kind::kCallBegin:
        ASSERT_EQ(delta.call, reply.calls.size());
        reply.calls.emplace_back(delta.text, "");
        break;
      case Kind::kCallArguments:
        ASSERT_EQ(delta.call + 1, reply.calls.size());
        reply.calls.back().second += delta.text;
        break;
    }
  }
}

/// `pieces`, pushed one after the other.
Reply read(const ReplyFormat& format, const std::vector<std::string>& pieces) {
  ReplyParser parser(format);
  Reply reply;
  for (const std::string& piece : pieces) {
    std::vector<ReplyDelta> deltas;
    parser.push(piece, deltas);
    take(reply, deltas);
  }
  std::vector<ReplyDelta> deltas;
  parser.finish(deltas);
  take(reply, deltas);
  EXPECT_EQ(parser.calls(), reply.calls.size());
  return reply;
}

/// Cut between characters: what a decoder gives out is whole characters.
std::vector<std::string> cut(const std::string& text, std::mt19937& random) {
  std::vector<std::string> pieces(1);
  for (size_t at = 0; at < text.size();) {
    const size_t length = decode_utf8(std::string_view(text).substr(at)).length;
    pieces.back() += text.substr(at, length);
    at += length;
    if (random() % 3 == 0) pieces.emplace_back();
  }
  return pieces;
}

struct Case {
  std::string text;
  Reply expected;
};

void check(const ReplyFormat& format, const std::vector<Case>& cases) {
  std::mt19937 random(1);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(read(format, {c.text}), c.expected);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(read(format, cut(c.text, random)), c.expected);
  }
}

const ReplyFormat kTagged{.calls = ToolCallStyle::kTagged};
const std::string kCall =
    "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
const std::pair<std::string, std::string> kGet{"get", "{\"city\": \"Oslo\"}"};

TEST(ReplyParser, without_anything_to_look_for_all_is_content) {
  check({}, {{kCall, {.content = kCall}},
             {"<think>a</think> b ", {.content = "<think>a</think> b "}},
             {"  {\"name\": 1}\n", {.content = "  {\"name\": 1}\n"}},
             {"", {}}});
}

TEST(ReplyParser, tagged_calls) {
  check(kTagged, {{kCall, {.calls = {kGet}}},
                  {"I look it up.\n" + kCall, {.content = "I look it up.", .calls = {kGet}}},
                  {kCall + "\n" + kCall, {.calls = {kGet, kGet}}},
                  {kCall + kCall + "\n", {.calls = {kGet, kGet}}},
                  {kCall + "\nDone. ", {.content = "Done. ", .calls = {kGet}}},
                  {" a  b\n", {.content = " a  b\n"}},
                  {"1 < 2 <tool <tool_call", {.content = "1 < 2 <tool <tool_call"}},
                  {"<<tool_call>{\"name\":\"f\",\"arguments\":{}}", {.content = "<", .calls = {{"f", "{}"}}}},
                  // Between the text's end and </tool_call> nothing is lost but the mark itself.
                  {kCall.substr(0, kCall.size() - 4), {.calls = {kGet}}},
                  {"caf\u00e9 \U0001F600\n" + kCall, {.content = "caf\u00e9 \U0001F600", .calls = {kGet}}}});
}

TEST(ReplyParser, keys_may_stand_in_any_order_and_arguments_have_many_forms) {
  const auto call = [](const std::string& json) { return "<tool_call>" + json + "</tool_call>"; };
  check(
      kTagged,
      {{call(R"({"arguments": {"a": [1, {"b": "}"}]}, "name": "f"})"),
        {.calls = {{"f", R"({"a": [1, {"b": "}"}]})"}}}},
       {call(R"({"type": "function", "id": 7, "name": "f", "arguments": {}})"), {.calls = {{"f", "{}"}}}},
       {call(R"({"name": "f", "parameters": {"x": "\"}"}})"), {.calls = {{"f", R"({"x": "\"}"})"}}}},
       {call(R"({"name": "f"})"), {.calls = {{"f", "{}"}}}},
       {call(R"({"name": "f", "arguments": null})"), {.calls = {{"f", "{}"}}}},
       {call(R"({"name": "f", "arguments": "{\"a\": 1}"})"), {.calls = {{"f", R"({"a": 1})"}}}},
       {call(R"({"n\u0061me": "caf\u00e9", "arguments": {}, "x": true })"), {.calls = {{"caf\u00e9", "{}"}}}},
       {call(R"({"name": "f", "arguments": {"name": "g"}, "name": "h", "arguments": {"i": 1}})"),
        {.calls = {{"f", R"({"name": "g"})"}}}}});
}

TEST(ReplyParser, what_is_no_call_is_given_back_as_it_was_written) {
  for (const std::string text :
       {"<tool_call>\nnot json\n</tool_call>", "<tool_call>{}</tool_call>",
        "<tool_call>{\"name\": 7}</tool_call>", "<tool_call>[{\"name\": \"f\"}]</tool_call>",
        "a \n <tool_call> {\"name\": \"f\",}", "<tool_call>", "<tool_call>\n{\"name\": \"f\"",
        "<tool_call>{\"name\": \"f\", \"arguments\": 5}", "<tool_call>{\"name\": \"\", \"arguments\": {}}",
        "<tool_call>{\"x\": ]}", "<tool_call>{\"x\": 1\"2\"}"})
    check(kTagged, {{text, {.content = text}}});
  // A second beginning is not lost in the first.
  check(kTagged, {{"<tool_call>\n" + kCall, {.content = "<tool_call>", .calls = {kGet}}}});
}

TEST(ReplyParser, a_call_that_was_cut_short_keeps_the_arguments_it_had) {
  check(kTagged,
        {{"<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"b", {.calls = {{"f", "{\"a\": \"b"}}}},
         {"<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": ]} tail",
          {.content = "]} tail", .calls = {{"f", "{\"a\": "}}}}});
}

TEST(ReplyParser, bare_json_is_a_call_only_of_a_function_that_was_offered) {
  const ReplyFormat format{.calls = ToolCallStyle::kBareJson, .tools = {"get", "f"}};
  const std::string json = R"({"name": "get", "parameters": {"city": "Oslo"}})";
  check(format, {{json, {.calls = {kGet}}},
                 {"\n" + json + "\n", {.calls = {kGet}}},
                 {"<|python_tag|>" + json, {.calls = {kGet}}},
                 {json + "; " + json, {.calls = {kGet, kGet}}},
                 {json + "\n" + json + ";", {.calls = {kGet, kGet}}},
                 {"{\"answer\": 42}", {.content = "{\"answer\": 42}"}},
                 {"{\"name\": \"other\", \"parameters\": {}}",
                  {.content = "{\"name\": \"other\", \"parameters\": {}}"}},
                 {"{\"parameters\": {}, \"name\": \"other\"}",
                  {.content = "{\"parameters\": {}, \"name\": \"other\"}"}},
                 {"The answer: " + json, {.content = "The answer: " + json}},
                 {"<|python_tag|>f.call(x=1)", {.content = "<|python_tag|>f.call(x=1)"}},
                 {json + " And so on. " + json, {.content = "And so on. " + json, .calls = {kGet}}}});
}

TEST(ReplyParser, bracketed_calls) {
  const ReplyFormat format{.calls = ToolCallStyle::kBracketed};
  const std::string json = R"({"name": "get", "arguments": {"city": "Oslo"}, "id": "abcdefghi"})";
  check(format, {{"[TOOL_CALLS] [" + json + "]", {.calls = {kGet}}},
                 {"[TOOL_CALLS][" + json + ", " + json + "]", {.calls = {kGet, kGet}}},
                 {"[TOOL_CALLS] [" + json + "][TOOL_CALLS] [" + json + "]", {.calls = {kGet, kGet}}},
                 {"[TOOL_CALLS]" + json, {.calls = {kGet}}},
                 {"Wait. [TOOL_CALLS] [" + json + "]\nSo.", {.content = "Wait.\nSo.", .calls = {kGet}}},
                 {"[TOOL_CALLS] none", {.content = "[TOOL_CALLS] none"}},
                 {"[TOOL_CALLS]", {.content = "[TOOL_CALLS]"}},
                 {"[1, 2]", {.content = "[1, 2]"}}});
}

TEST(ReplyParser, one_call_may_be_all_that_is_allowed) {
  const ReplyFormat format{.calls = ToolCallStyle::kTagged, .single_call = true};
  check(format, {{"a " + kCall + " b " + kCall, {.content = "a", .calls = {kGet}}}});
  ReplyParser parser(format);
  std::vector<ReplyDelta> deltas;
  parser.push(kCall.substr(0, kCall.size() - 15), deltas);
  EXPECT_FALSE(parser.complete());
  parser.push(kCall.substr(kCall.size() - 15), deltas);
  EXPECT_TRUE(parser.complete());
}

TEST(ReplyParser, reasoning_stands_at_the_beginning) {
  const ReplyFormat format{.calls = ToolCallStyle::kTagged, .reasoning = true};
  check(format,
        {{"<think>\nHm. So\nit is.\n</think>\n\nYes.", {.reasoning = "Hm. So\nit is.", .content = "Yes."}},
         {"\n<think>a < b </th </think>" + kCall, {.reasoning = "a < b </th", .calls = {kGet}}},
         {"<think>\n\n</think>\n\nYes. ", {.content = "Yes. "}},
         {"Yes. <think>no</think>", {.content = "Yes. <think>no</think>"}},
         {" <thin", {.content = " <thin"}},
         {"<think>cut </thi", {.reasoning = "cut </thi"}},
         {"<think>cut \n", {.reasoning = "cut"}},
         {"", {}}});
  const ReplyFormat begun{.reasoning = true, .begins_in_reasoning = true};
  check(begun,
        {{"\nHm.\n</think>\nYes.", {.reasoning = "Hm.", .content = "Yes."}}, {"Hm.", {.reasoning = "Hm."}}});
}

TEST(ReplyParser, gives_out_what_is_certain_at_once) {
  ReplyParser parser(kTagged);
  std::vector<ReplyDelta> deltas;
  const auto push = [&](std::string_view text) {
    deltas.clear();
    parser.push(text, deltas);
    return deltas;
  };
  EXPECT_EQ(push("Yes"), (std::vector<ReplyDelta>{{Kind::kContent, "Yes"}}));
  EXPECT_TRUE(push(" <tool").empty());
  EXPECT_EQ(push("s"), (std::vector<ReplyDelta>{{Kind::kContent, " <tools"}}));
  EXPECT_TRUE(push("<tool_call>{\"name\": \"f\", \"arguments\": ").empty());
  EXPECT_EQ(push("{\"a"), (std::vector<ReplyDelta>{{Kind::kCallBegin, "f"}, {Kind::kCallArguments, "{\"a"}}));
  EXPECT_EQ(push("\": 1}"), (std::vector<ReplyDelta>{{Kind::kCallArguments, "\": 1}"}}));
  EXPECT_TRUE(push("}</tool_call>").empty());
}

/// Texts made of what matters to the parser.
rc::Gen<std::string> any_reply() {
  const auto word = rc::gen::element<std::string>(
      "<tool_call>", "</tool_call>", "<think>", "</think>", "[TOOL_CALLS]", "<|python_tag|>",
      "{\"name\": \"get\", ", "\"arguments\": {\"a\": \"}\\\"\"}", "\"parameters\": {",
      "\"arguments\": ", "}", "]", "[", ",", ";", " ", "\n", "{", "\"", "\\", "get", "<", "\u00e9",
      "\U0001F600", "null", "1", kCall, "{\"name\": \"get\", \"arguments\": {}}");
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(word),
                      [](const std::vector<std::string>& words) {
                        std::string text;
                        for (const std::string& w : words) text += w;
                        return text;
                      });
}

RC_GTEST_PROP(ReplyParserProperty, cutting_the_text_anywhere_changes_nothing, ()) {
  const std::string text = *any_reply();
  const auto style = *rc::gen::element(ToolCallStyle::kNone, ToolCallStyle::kTagged, ToolCallStyle::kBareJson,
                                       ToolCallStyle::kBracketed);
  const ReplyFormat format{.calls = style,
                           .tools = {"get"},
                           .single_call = *rc::gen::arbitrary<bool>(),
                           .reasoning = *rc::gen::arbitrary<bool>()};
  const Reply whole = read(format, {text});
  std::mt19937 random(*rc::gen::arbitrary<uint32_t>());
  for (int i = 0; i < 5; ++i) RC_ASSERT(read(format, cut(text, random)) == whole);
  // Without calls and reasoning nothing is lost.
  if (style == ToolCallStyle::kNone && !format.reasoning) RC_ASSERT(whole.content == text);
}

TEST(ReplyParser, takes_time_linear_in_the_text) {
  // Each of these would be read again and again by a parser that went back.
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "<tool_call>{\"";
  const Reply reply = read(kTagged, {text});
  EXPECT_TRUE(reply.calls.empty());
  EXPECT_EQ(reply.content, text);
}

}  // namespace
}  // namespace kvern::engine
