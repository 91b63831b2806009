// Names of entries as people write them.
#include "store/disk/entry_names.h"

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::store {
namespace {

ListedEntry named(const std::string& beginning) {
  std::string text = beginning;
  text.resize(64, '0');
  return {.manifest = *parse_content_name(text)};
}

TEST(EntryNames, AreKnownByAsMuchAsTellsThemApart) {
  const std::vector<ListedEntry> entries = {named("3fa9"), named("3fb1"), named("c")};
  EXPECT_EQ(entry_named(entries, "3fa")->manifest, entries[0].manifest);
  EXPECT_EQ(entry_named(entries, "c")->manifest, entries[2].manifest);
  EXPECT_EQ(entry_named(entries, entries[1].manifest.to_string())->manifest, entries[1].manifest);
  EXPECT_ERROR(entry_named(entries, "3f"), kInvalidArgument, "2 saved prefixes");
  EXPECT_ERROR(entry_named(entries, "3fc"), kNotFound, "no such");
  for (const std::string text : {"", "xyz", "3FA9", "../a"})
    EXPECT_ERROR(entry_named(entries, text), kInvalidArgument, "hexadecimal");
  EXPECT_ERROR(entry_named(entries, std::string(65, '3')), kInvalidArgument, "hexadecimal");
}

TEST(EntryNames, AreShownWithAsManyDigitsAsTellThemApart) {
  EXPECT_EQ(distinct_digits({}), 8U);
  EXPECT_EQ(distinct_digits(std::vector{named("1"), named("2")}), 8U);
  EXPECT_EQ(distinct_digits(std::vector{named("123456789a1"), named("0"), named("123456789a2")}), 11U);
}

}  // namespace
}  // namespace kvern::store
