#include "state/codec/registry.h"

#include <set>

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::state {
namespace {

TEST(CodecRegistry, FindsEachCodecByIdAndByName) {
  std::set<std::string_view> names;
  for (const Codec* entry : all_codecs()) {
    EXPECT_EQ(&codec(entry->id), entry);
    ASSERT_OK_AND_ASSIGN(const CodecId id, parse_codec(entry->name));
    EXPECT_EQ(id, entry->id);
    EXPECT_TRUE(names.insert(entry->name).second);
    EXPECT_GE(entry->planes, 1);
    EXPECT_LE(entry->planes, kMaxPlanes);
  }
}

TEST(CodecRegistry, NamesThePossibleOnesWhenItRefuses) {
  EXPECT_ERROR(parse_codec("q3"), kInvalidArgument, "f32, f16, bf16");
  EXPECT_ERROR(parse_codec(""), kInvalidArgument, "f16");
}

}  // namespace
}  // namespace kvern::state
