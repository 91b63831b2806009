// Hostile templates and contexts end in a clear error, within bounded time, memory and stack.
#include "template_support.h"

#include <chrono>

namespace kvern {
namespace {

std::string repeat(const std::string& text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

/// A tenth of the default steps: enough to tell bounded from endless, in a tenth of the time.
constexpr jinja::RenderLimits kFewSteps{.max_steps = 2'000'000};

ErrorCode code_of(const std::string& source, const json::value& context = json::object{}) {
  const auto result = try_render(source, context, kFewSteps);
  if (result) ADD_FAILURE() << "rendered " << result->size() << " bytes: " << source.substr(0, 100);
  return result ? ErrorCode::kInternal : result.error().code;
}

TEST(Limits, DeepTemplatesAreRefusedByTheParser) {
  constexpr size_t kMany = 50'000;
  EXPECT_EQ(code_of("{{ " + repeat("(", kMany) + "1" + repeat(")", kMany) + " }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ " + repeat("[", kMany) + repeat("]", kMany) + " }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ " + repeat("{'a':", kMany) + "1" + repeat("}", kMany) + " }}"),
            ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ " + repeat("not ", kMany) + "1 }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ " + repeat("- ", kMany) + "1 }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ 1" + repeat(" + 1", kMany) + " }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ 1" + repeat("|abs", kMany) + " }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ x" + repeat(".a", kMany) + " }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ x" + repeat("(x", kMany) + repeat(")", kMany) + " }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ 1" + repeat(" if 1 else 1", kMany) + " }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of(repeat("{% if 1 %}", kMany)), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{% set " + repeat("(", kMany) + "a" + repeat(")", kMany) + " = 1 %}"),
            ErrorCode::kExhausted);
}

TEST(Limits, LongChainsOfFlatSyntaxAreFine) {
  EXPECT_EQ(render("{{ 'a'" + repeat(" ~ 'a'", 5000) + " }}"), std::string(5001, 'a'));
  EXPECT_EQ(render("{% if 0 %}" + repeat("{% elif 0 %}", 5000) + "{% else %}x{% endif %}"), "x");
  EXPECT_EQ(render("{{ 1" + repeat(" < 2 > 1", 2000) + " }}"), "True");
}

TEST(Limits, EndlessRecursionOfMacrosStops) {
  EXPECT_EQ(code_of("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{% macro m(a) %}{% if a %}{% for x in [1] %}{{ [m(a + 1)] }}{% endfor %}{% endif %}{% "
                    "endmacro %}{{ m(1) }}"),
            ErrorCode::kExhausted);
  EXPECT_EQ(
      code_of(
          "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{{ caller() }}{% endmacro %}{{ m() }}"),
      ErrorCode::kExhausted);
}

TEST(Limits, ModestRecursionOfMacrosWorks) {
  EXPECT_EQ(
      render(
          "{% macro m(n) %}{% if n > 0 %}{% for x in [1] %}{{ m(n - 1) }}{% endfor %}{% else %}end{% endif %}"
          "{% endmacro %}{{ m(40) }}"),
      "end");
}

TEST(Limits, EndlessLoopsRunOutOfSteps) {
  EXPECT_EQ(code_of("{% set l = [1] %}{% for x in l %}{% set _ = l.append(1) %}{% endfor %}"),
            ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{% set l = range(99999) %}{% for a in l %}{% for b in l %}{% endfor %}{% endfor %}"),
            ErrorCode::kExhausted);
}

TEST(Limits, RangesStringsAndOutputAreBounded) {
  EXPECT_EQ(render("{{ range(100000)|length }}"), "100000");
  EXPECT_EQ(code_of("{{ range(100001) }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ 'abc' * 1000000000000 }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ [1, 2] * 1000000000000 }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ 'x' * 9000000 }}"), ErrorCode::kExhausted);
  EXPECT_EQ(
      code_of(
          "{% set ns = namespace(s='x') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}"),
      ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ 'x'|indent(1000000000) }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ 'x'|center(1000000000) }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ '%1000000000d' % 1 }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ '{:1000000000}'.format(1) }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ ('a' * 100000).replace('', 'b' * 100000) }}"), ErrorCode::kExhausted);
  EXPECT_EQ(render("{{ 'x' * -1 }}{{ '' * 1000000000000 }}"), "");
}

TEST(Limits, ValuesThatHoldThemselvesNeitherCrashNorHang) {
  EXPECT_EQ(code_of("{% set l = [] %}{% set _ = l.append(l) %}{{ l }}"), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{% set l = [] %}{% set _ = l.append(l) %}{{ l|tojson }}"), ErrorCode::kExhausted);
  EXPECT_EQ(
      code_of(
          "{% set a = [] %}{% set _ = a.append(a) %}{% set b = [] %}{% set _ = b.append(b) %}{{ a == b }}"),
      ErrorCode::kExhausted);
}

TEST(Limits, LongChainsOfListsAreFreedWithoutRecursion) {
  EXPECT_EQ(
      render(
          "{% set ns = namespace(l=[]) %}{% for i in range(90000) %}{% set ns.l = [ns.l] %}{% endfor %}ok"),
      "ok");
}

TEST(Limits, SharedListsThatPrintExponentiallyStop) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(code_of("{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% "
                    "endfor %}{{ ns.l }}"),
            ErrorCode::kExhausted);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(Limits, WorkOnLongTextIsPaidFor) {
  const auto start = std::chrono::steady_clock::now();
  const std::string begin =
      "{% set s = 'a' * 4000000 %}{% set t = 'a' * 2000000 ~ 'b' %}{% set d = {s: 1, s ~ 'x': 2} %}"
      "{% set l = range(100000) %}{% for i in l %}{% for j in l %}{% set x = ";
  for (const std::string work :
       {"t in s", "s == s ~ ''", "s.find(t)", "s.rfind(t)", "s.startswith(s)", "s is lower", "d[s]",
        "s.split(t)", "s.rsplit(t)", "s.count(t)", "s.replace(t, '')", "s.partition(t)", "s|int", "[][s]",
        "s < s", "s % ()", "dict(**d)", "s.strip(t)", "s.isascii()"}) {
    EXPECT_EQ(code_of(begin + work + " %}{% endfor %}{% endfor %}"), ErrorCode::kExhausted) << work;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(Limits, TemplatesWithVeryManyNamesStop) {
  std::string names;
  for (int i = 0; i < 60'000; ++i) names += "{% set v" + std::to_string(i) + " = 1 %}";
  EXPECT_EQ(code_of(names), ErrorCode::kExhausted);
  EXPECT_EQ(code_of("{{ " + std::string(2 << 20, 'x') + " }}"), ErrorCode::kExhausted);
  std::string parameters = "p";
  for (int i = 0; i < 300; ++i) parameters += ", p" + std::to_string(i);
  EXPECT_EQ(code_of("{% macro m(" + parameters + ") %}{% endmacro %}"), ErrorCode::kUnsupported);
}

TEST(Limits, KeysThatShareListsStayCheap) {
  EXPECT_EQ(code_of("{% set ns = namespace(t=(1, 2)) %}{% for i in range(60) %}{% set ns.t = (ns.t, ns.t) "
                    "%}{% endfor %}"
                    "{{ {ns.t: 1} }}"),
            ErrorCode::kCorrupt);
  EXPECT_EQ(render("{% set d = {(1, 'a'): 2} %}{{ d[(1.0, 'a')] }}"), "2");
}

TEST(Limits, DeepContextsAreRefused) {
  json::value deep = json::array{};
  for (int i = 0; i < 2000; ++i) deep = json::array{std::move(deep)};
  EXPECT_EQ(code_of("{{ x }}", json::object{{"x", deep}}), ErrorCode::kExhausted);
}

TEST(Limits, CallersChooseTheLimits) {
  EXPECT_EQ(try_render("{{ 'x' * 100 }}", json::object{}, {.max_output_bytes = 99}).error().code,
            ErrorCode::kExhausted);
  EXPECT_EQ(try_render("{{ 'x' * 100 }}", json::object{}, {.max_output_bytes = 100}).value().size(), 100U);
  EXPECT_FALSE(
      try_render("{% for i in range(100) %}{% endfor %}", json::object{}, {.max_steps = 100}).has_value());
  EXPECT_FALSE(try_render("{{ range(11) }}", json::object{}, {.max_range = 10}).has_value());
}

}  // namespace
}  // namespace kvern
