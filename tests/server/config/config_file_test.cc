#include "server/config/config_file.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/result_matchers.h"

namespace kvern::server {
namespace {

using Values = std::vector<std::string>;

TEST(ConfigFile, HasAKeyALine) {
  ASSERT_OK_AND_ASSIGN(const auto entries, parse_config("# a server\n"
                                                        "model = \"models/a b.gguf\"  # quoted\n"
                                                        "\n"
                                                        "  max_queue=64\r\n"
                                                        "kv-budget = 2GiB\n"
                                                        "open-metrics = true\n"
                                                        "host = ['::1', \"0.0.0.0\",]\n"
                                                        "alias = []",
                                                        "f"));
  ASSERT_EQ(entries.size(), 6U);
  EXPECT_EQ(entries[0].key, "model");
  EXPECT_EQ(entries[0].values, Values{"models/a b.gguf"});
  EXPECT_EQ(entries[0].line, 2U);
  EXPECT_EQ(entries[1].key, "max-queue");
  EXPECT_EQ(entries[1].values, Values{"64"});
  EXPECT_EQ(entries[1].line, 4U);
  EXPECT_EQ(entries[2].values, Values{"2GiB"});
  EXPECT_EQ(entries[3].values, Values{"true"});
  EXPECT_EQ(entries[4].values, (Values{"::1", "0.0.0.0"}));
  EXPECT_TRUE(entries[5].values.empty());
}

TEST(ConfigFile, StringsHaveEscapesAndLiteralsHaveNone) {
  ASSERT_OK_AND_ASSIGN(const auto entries, parse_config(R"(a = "q\"b\\n\n\t\u00e4#"
b = 'q"\n#')",
                                                        "f"));
  EXPECT_EQ(entries[0].values, Values{"q\"b\\n\n\tä#"});
  EXPECT_EQ(entries[1].values, Values{"q\"\\n#"});
}

TEST(ConfigFile, ErrorsNameFileAndLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"[server]", "f:1: there are no tables"},
      {"\nport", "f:2: expected '='"},
      {"port =", "f:1: a value is missing"},
      {"port = # nothing", "f:1: a value is missing"},
      {"= 1", "f:1: expected 'key = value'"},
      {"a = 1 2", "f:1: there is more behind the value"},
      {"a = \"x", "f:1: the string does not end"},
      {"a = 'x", "f:1: the string does not end"},
      {"a = \"\\q\"", "f:1: an unknown escape"},
      {"a = \"\\u12\"", "f:1: \\u needs four"},
      {"a = \"\\", "f:1: an unknown escape"},
      {"a = [1 2]", "f:1: expected ',' or ']'"},
      {"a = [1,", "f:1: a value is missing"},
      {"max-queue = 1\nb = 2\nmax_queue = 3", "f:3: 'max-queue' is there twice, first in line 1"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_ERROR(parse_config(text, "f"), kInvalidArgument, message) << text;
}

RC_GTEST_PROP(ConfigFile, AnyTextIsEntriesOrAnError, (const std::string& text)) {
  const auto entries = parse_config(text, "f");
  RC_ASSERT(entries.has_value() || entries.error().where.starts_with("f:"));
}

RC_GTEST_PROP(ConfigFile, WhatIsQuotedComesBack, (const std::vector<std::string>& values)) {
  std::string text = "key = [";
  for (const std::string& value : values) {
    text += '"';
    for (const char c : value) {
      if (c == '\n') {
        text += "\\n";
        continue;
      }
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    text += "\",";
  }
  text += "]";
  const auto entries = parse_config(text, "f");
  RC_ASSERT(entries.has_value());
  RC_ASSERT(entries->front().values == values);
}

}  // namespace
}  // namespace kvern::server
