// What a server answers, in pieces, and what is no answer.
#include "store/remote/redis_reply.h"

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::store {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(RedisReply, ComesInAnyPieces) {
  const std::string_view text =
      "+OK\r\n:42\r\n$5\r\na\r\nbc\r\n$-1\r\n*3\r\n:1\r\n*1\r\n$1\r\nx\r\n$0\r\n\r\n-ERR no\r\n";
  for (const size_t piece : {size_t{1}, size_t{3}, text.size()}) {
    RedisReader reader;
    std::vector<RedisReply> replies;
    for (size_t at = 0; at < text.size(); at += piece) {
      reader.feed(bytes_of(text.substr(at, piece)));
      while (true) {
        ASSERT_OK_AND_ASSIGN(auto reply, reader.next());
        if (!reply) break;
        replies.push_back(*std::move(reply));
      }
    }
    ASSERT_EQ(replies.size(), 6U);
    EXPECT_EQ(replies[0].text, "OK");
    EXPECT_EQ(replies[1].integer, 42);
    EXPECT_EQ(replies[2].text, "a\r\nbc");
    EXPECT_EQ(replies[3].type, RedisReply::Type::kNothing);
    ASSERT_EQ(replies[4].items.size(), 3U);
    EXPECT_EQ(replies[4].items[1].items[0].text, "x");
    EXPECT_EQ(replies[4].items[2].type, RedisReply::Type::kText);
    EXPECT_EQ(replies[5].type, RedisReply::Type::kError);
    EXPECT_OK(check_reply(replies[1], RedisReply::Type::kInteger, 0));
    EXPECT_ERROR(check_reply(replies[1], RedisReply::Type::kText, 0), kCorrupt, "something else");
    EXPECT_ERROR(check_reply(replies[4], RedisReply::Type::kList, 2), kCorrupt, "something else");
    EXPECT_ERROR(check_reply(replies[5], RedisReply::Type::kText, 0), kIo, "ERR no");
  }
  EXPECT_ERROR(
      check_reply({.type = RedisReply::Type::kError, .text = "OOM command"}, RedisReply::Type::kText, 0),
      kExhausted, "OOM");
}

TEST(RedisReply, ThatIsNoneIsAnErrorAndTakesNoMemory) {
  for (const std::string text : {"garbage\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "*1000000000\r\n",
                                 "*-5\r\n", ":x\r\n", "$99999999999999999999\r\n", "*2\r\n*70000\r\n"}) {
    RedisReader reader;
    reader.feed(bytes_of(text));
    EXPECT_ERROR(reader.next(), kCorrupt, "does not speak as Redis does") << text;
  }
  // Only as much as came.
  RedisReader reader;
  reader.feed(bytes_of("$536870000\r\nabc"));
  ASSERT_OK_AND_ASSIGN(const auto reply, reader.next());
  EXPECT_FALSE(reply.has_value());
}

}  // namespace
}  // namespace kvern::store
