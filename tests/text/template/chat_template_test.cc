// What the reference cases cannot say: error places and codes, order, ownership, the clock, what goes beyond
// or stays behind Python's Jinja.
#include "template_support.h"

#include <thread>
#include <vector>

namespace kvern {
namespace {

TEST(ChatTemplate, ASyntaxErrorNamesTemplateLineAndColumn) {
  EXPECT_EQ(render("a\n b {{ 1 + }}"), "corrupt at t:2:11: unexpected '}}'");
  EXPECT_EQ(render("{% if x %}a"),
            "corrupt at t:1:12: the template ends where 'elif' or 'else' or 'endif' is needed");
  EXPECT_EQ(render("{% nope %}"), "corrupt at t:1:4: Encountered unknown tag 'nope'.");
}

TEST(ChatTemplate, ARuntimeErrorNamesTheInnermostPlace) {
  EXPECT_EQ(render("\n{% for m in messages %}\n{{ m.a.b }}{% endfor %}", R"({"messages":[{}]})"),
            "corrupt at t:3:7: 'dict object' has no attribute 'a'");
  EXPECT_EQ(render("{{ x.y }}"), "corrupt at t:1:5: 'x' is undefined");
}

TEST(ChatTemplate, RaiseExceptionHasItsOwnCodeAndExactMessage) {
  const auto result = try_render("{{ raise_exception('No ' ~ role) }}", json::object{{"role", "system"}});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(result.error().message, "No system");
  EXPECT_EQ(result.error().where, "t:1:19");
}

TEST(ChatTemplate, TagsBeyondASingleTemplateAreUnsupported) {
  for (const std::string tag : {"include 'x'", "import 'x' as y", "from 'x' import y", "extends 'x'",
                                "block b", "autoescape true", "for x in y recursive"}) {
    const auto parsed = ChatTemplate::parse("{% " + tag + " %}", "t");
    ASSERT_FALSE(parsed.has_value()) << tag;
    EXPECT_EQ(parsed.error().code, ErrorCode::kUnsupported) << tag;
  }
}

TEST(ChatTemplate, UnknownFiltersAndTestsFailOnlyWhereTheyAreReached) {
  EXPECT_EQ(render("{% if false %}{{ 1|nope }}{% endif %}ok"), "ok");
  EXPECT_EQ(render("{{ 1|nope }}"), "unsupported at t:1:6: No filter named 'nope'.");
  EXPECT_EQ(render("{{ 1 is nope }}"), "unsupported at t:1:6: No test named 'nope'.");
}

TEST(ChatTemplate, MembersKeepTheirOrder) {
  EXPECT_EQ(render("{{ d|tojson }} {% for k in d %}{{ k }}{% endfor %}",
                   R"({"d":{"z":1,"a":{"y":2,"b":3},"m":null}})"),
            R"({"z": 1, "a": {"y": 2, "b": 3}, "m": null} zam)");
}

TEST(ChatTemplate, LargeDictsFindTheirKeysAndKeepTheirOrder) {
  EXPECT_EQ(render("{% set d = {} %}{% for i in range(100) %}{% set _ = d.update({i: i * i}) %}{% endfor %}"
                   "{{ d[7] }} {{ d[99.0] }} {{ 100 in d }} {{ d.pop(50) }} {{ d|length }} {{ "
                   "(d|list)[49:51] }} {{ d[51] }}"),
            "49 9801 False 2500 99 [49, 51] 2601");
}

TEST(ChatTemplate, ListsChangeInPlaceButNeverTheCallersContext) {
  const auto parsed = ChatTemplate::parse("{% set _ = l.append(4) %}{{ l }}{{ l.pop(0) }}{{ l }}", "t");
  ASSERT_TRUE(parsed.has_value());
  const json::value context = {{"l", {1, 2}}};
  EXPECT_EQ((*parsed)->render(context).value(), "[1, 2, 4]1[2, 4]");
  EXPECT_EQ((*parsed)->render(context).value(), "[1, 2, 4]1[2, 4]");
}

TEST(ChatTemplate, AMethodShadowsAMemberWithTheDotButNotInBrackets) {
  EXPECT_EQ(render("{{ d.items is callable }} {{ d['items'] }}", R"({"d":{"items":"x"}})"), "True x");
}

TEST(ChatTemplate, StrftimeNowExistsOnlyWithAClock) {
  const auto parsed =
      ChatTemplate::parse("{{ strftime_now('%d %b %Y') if strftime_now is defined else 'no clock' }}", "t");
  ASSERT_TRUE(parsed.has_value());
  const ManualClock clock = reference_clock();
  EXPECT_EQ((*parsed)->render(json::object{}, {.limits = {}, .clock = &clock}).value(), "26 Jul 2024");
  EXPECT_EQ((*parsed)->render(json::object{}).value(), "no clock");
}

TEST(ChatTemplate, IntegersNeverWrap) {
  EXPECT_EQ(render("{{ 9223372036854775807 }} {{ -9223372036854775807 - 1 }}"),
            "9223372036854775807 -9223372036854775808");
  for (const std::string bad :
       {"9223372036854775807 + 1", "9223372036854775807 * 2", "2 ** 63", "-(-9223372036854775807 - 1)",
        "(-9223372036854775807 - 1) // -1", "(-9223372036854775807 - 1)|abs"}) {
    EXPECT_NE(render("{{ " + bad + " }}").find("integer overflow"), std::string::npos) << bad;
  }
  EXPECT_EQ(render("{{ n }}", R"({"n":18446744073709551615})"),
            "unsupported at context variable 'n': an integer is beyond 64 bits with sign");
}

TEST(ChatTemplate, AContextThatIsNoObjectIsAnError) {
  const auto parsed = ChatTemplate::parse("x", "t");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ((*parsed)->render(json::array{}).error().code, ErrorCode::kInvalidArgument);
}

TEST(ChatTemplate, TextThatIsNotUtf8PassesThrough) {
  json::object context;
  context["s"] =
      "a\xff\xfe"
      "b";
  EXPECT_EQ(try_render("{{ s }}|{{ s|length }}|{{ s[::-1] }}|{{ s|upper }}", context).value(),
            "a\xff\xfe"
            "b|4|b\xfe\xff"
            "a|A\xff\xfe"
            "B");
}

TEST(ChatTemplate, AMacroKeepsTheScopeItWasDefinedIn) {
  EXPECT_EQ(render("{% set ns = namespace() %}{% for i in [1, 2] %}{% macro m() %}{{ i }}{% endmacro %}"
                   "{% set ns.m = m %}{% endfor %}{{ ns.m() }}"),
            "2");
}

TEST(ChatTemplate, ThreadsRenderOneTemplateAtTheSameTime) {
  const auto parsed = ChatTemplate::parse("{% for x in l %}{{ x ~ 'a' }}{% endfor %}{{ 'lit' ~ n }}", "t");
  ASSERT_TRUE(parsed.has_value());
  std::vector<std::thread> threads;
  std::vector<std::string> results(4);
  for (size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 200; ++round) {
        results[i] = (*parsed)->render({{"l", {1, 2, 3}}, {"n", i}}).value();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i], "1a2a3alit" + std::to_string(i));
}

}  // namespace
}  // namespace kvern
