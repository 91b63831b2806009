// About 700 small templates with what Python's jinja2 made of them (tests/data/template, written by
// tools/fixtures/make_template_cases.py).
#include "template_support.h"

namespace kvern {
namespace {

/// What the case expects, as one line.
std::string expected_of(const json::object& item) {
  if (const auto* rendered = item.if_contains("rendered"))
    return "text: " + std::string(rendered->as_string());
  if (const auto* refused = item.if_contains("refused"))
    return "refused: " + std::string(refused->as_string());
  return "error";
}

std::string actual_of(const Result<std::string>& result) {
  if (result) return "text: " + *result;
  if (result.error().code == ErrorCode::kInvalidArgument) return "refused: " + result.error().message;
  return "error";
}

TEST(ReferenceCases, EverySmallTemplateGivesWhatPythonGives) {
  const std::string text = read_text(KVERN_TEST_DATA_DIR "/template/jinja_cases.json");
  ASSERT_FALSE(text.empty());
  const json::value file = boost::json::parse(text);
  const auto& cases = file.at("cases").as_array();
  ASSERT_GT(cases.size(), 600U);
  for (const auto& item : cases) {
    const std::string source(item.at("template").as_string());
    const auto result = try_render(source, file.at("context"));
    EXPECT_EQ(actual_of(result), expected_of(item.as_object())) << source;
    if (!result) {
      EXPECT_FALSE(result.error().where.empty()) << source;
      EXPECT_FALSE(result.error().message.empty()) << source;
    }
  }
}

}  // namespace
}  // namespace kvern
