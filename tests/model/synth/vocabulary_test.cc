#include "model/synth/vocabulary.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace kvern::model {
namespace {

TEST(SynthVocabulary, has_the_size_that_was_asked_for_and_no_token_twice) {
  const SynthVocabulary v = make_synth_vocabulary(1024);
  EXPECT_EQ(v.tokens.size(), 1024U);
  EXPECT_EQ(v.types.size(), 1024U);
  EXPECT_EQ(std::set<std::string>(v.tokens.begin(), v.tokens.end()).size(), 1024U);
  EXPECT_EQ(v.begin_token, 1022U);
  EXPECT_EQ(v.end_token, 1023U);
  EXPECT_EQ(v.types[v.end_token], 3);
}

TEST(SynthVocabulary, spells_bytes_as_gpt_2_does) {
  const SynthVocabulary v = make_synth_vocabulary(512);
  EXPECT_EQ(v.tokens['A'], "A");
  EXPECT_EQ(v.tokens[' '], "\u0120");
  EXPECT_EQ(v.tokens['\n'], "\u010a");
  EXPECT_EQ(v.tokens[0], "\u0100");
  EXPECT_EQ(v.tokens[0xa1], "\u00a1");
  EXPECT_EQ(v.tokens[0xad], "\u0143");
  EXPECT_EQ(v.tokens[0xff], "\u00ff");
}

TEST(SynthVocabulary, merges_tokens_that_exist_into_tokens_that_exist) {
  const SynthVocabulary v = make_synth_vocabulary(512);
  ASSERT_FALSE(v.merges.empty());
  const std::set<std::string> tokens(v.tokens.begin(), v.tokens.end());
  for (const std::string& merge : v.merges) {
    const size_t space = merge.find(' ');
    const std::string left = merge.substr(0, space);
    const std::string right = merge.substr(space + 1);
    EXPECT_TRUE(tokens.contains(left) && tokens.contains(right) && tokens.contains(left + right)) << merge;
  }
}

}  // namespace
}  // namespace kvern::model
