#include "text/grammar/grammar_cache.h"

#include <barrier>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/result_matchers.h"
#include "text/grammar/grammar_support.h"

namespace kvern::text {
namespace {

constexpr size_t kPlenty = size_t{1} << 30;

json::value enum_of(int first) {
  json::array values;
  for (int i = 0; i < 300; ++i) values.emplace_back(fmt::format("value {}", first + i));
  return json::object{{"enum", values}};
}

TEST(GrammarCache, GivesTheSameGrammarForTheSameRequest) {
  GrammarCache cache(test::byte_vocabulary(), kPlenty);
  const json::value schema = json::parse(R"({"type":"integer"})");
  ASSERT_OK_AND_ASSIGN(const auto first, cache.json_schema(schema));
  ASSERT_OK_AND_ASSIGN(const auto again, cache.json_schema(json::parse(R"( { "type" : "integer" } )")));
  EXPECT_EQ(first, again);
  ASSERT_OK_AND_ASSIGN(const auto object, cache.json_object());
  EXPECT_NE(object, first);
  ASSERT_OK_AND_ASSIGN(const auto gbnf, cache.gbnf("root ::= \"a\""));
  ASSERT_OK_AND_ASSIGN(const auto other, cache.gbnf("root ::= \"b\""));
  EXPECT_NE(gbnf, other);
  EXPECT_EQ(cache.size(), 4U);
}

TEST(GrammarCache, TellsSchemasAndStructuresApartThatDifferInOnePart) {
  GrammarCache cache(test::byte_vocabulary(), kPlenty);
  const json::value integer = json::parse(R"({"type":"integer"})");
  const json::value string = json::parse(R"({"type":"string"})");
  ASSERT_OK_AND_ASSIGN(const auto a, cache.json_schema(integer));
  ASSERT_OK_AND_ASSIGN(const auto b, cache.json_schema(string));
  EXPECT_NE(a, b);
  Structure structure{.parts = {{.begin = "<", .schema = integer, .end = ">"}}};
  ASSERT_OK_AND_ASSIGN(const auto c, cache.structure(structure));
  structure.free_after = true;
  ASSERT_OK_AND_ASSIGN(const auto d, cache.structure(structure));
  structure.triggers = {"<"};
  ASSERT_OK_AND_ASSIGN(const auto e, cache.structure(structure));
  EXPECT_NE(c, d);
  EXPECT_NE(d, e);
}

TEST(GrammarCache, DropsWhatWasUsedLongestAgo) {
  GrammarCache sized(test::byte_vocabulary(), kPlenty);
  ASSERT_OK(sized.json_schema(enum_of(0)));
  const size_t one = sized.memory_bytes();
  GrammarCache cache(test::byte_vocabulary(), 3 * one + one / 2);
  std::vector<std::shared_ptr<const Grammar>> made;
  for (const int first : {1000, 2000, 3000}) {
    ASSERT_OK_AND_ASSIGN(made.emplace_back(), cache.json_schema(enum_of(first)));
  }
  EXPECT_EQ(cache.size(), 3U);
  ASSERT_OK(cache.json_schema(enum_of(1000)));  // used again
  ASSERT_OK(cache.json_schema(enum_of(4000)));
  EXPECT_EQ(cache.size(), 3U);
  EXPECT_LE(cache.memory_bytes(), 3 * one + one / 2);
  EXPECT_EQ(*cache.json_schema(enum_of(1000)), made[0]);
  EXPECT_EQ(*cache.json_schema(enum_of(3000)), made[2]);
  EXPECT_NE(*cache.json_schema(enum_of(2000)), made[1]);
}

TEST(GrammarCache, KeepsTheLastOneHoweverLarge) {
  GrammarCache cache(test::byte_vocabulary(), 1);
  ASSERT_OK(cache.json_schema(enum_of(0)));
  ASSERT_OK(cache.json_schema(enum_of(1)));
  EXPECT_EQ(cache.size(), 1U);
}

TEST(GrammarCache, DoesNotKeepErrors) {
  GrammarCache cache(test::byte_vocabulary(), kPlenty);
  EXPECT_ERROR(cache.gbnf("root ::= x"), kInvalidArgument, "rule x");
  EXPECT_ERROR(cache.gbnf("root ::= x"), kInvalidArgument, "rule x");
  EXPECT_EQ(cache.size(), 0U);
}

TEST(GrammarCache, ThreadsThatAskAtOnceGetOneGrammar) {
  GrammarCache cache(test::byte_vocabulary(), kPlenty);
  constexpr size_t kThreads = 8;
  std::barrier together(kThreads);
  std::vector<std::shared_ptr<const Grammar>> grammars(kThreads);
  std::vector<std::thread> threads;
  for (auto& grammar : grammars) {
    threads.emplace_back([&] {
      together.arrive_and_wait();
      if (auto made = cache.json_schema(enum_of(7))) grammar = *made;
      static_cast<void>(cache.gbnf("root ::= nothing"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(grammars[0], nullptr);
  for (const auto& grammar : grammars) EXPECT_EQ(grammar, grammars[0]);
  EXPECT_EQ(cache.size(), 1U);
}

}  // namespace
}  // namespace kvern::text
