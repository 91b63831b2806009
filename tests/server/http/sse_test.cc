#include "server/http/sse.h"

#include <gtest/gtest.h>

namespace kvern::server {
namespace {

TEST(Sse, AnEventIsItsDataAndAnEmptyLine) { EXPECT_EQ(sse_event("{\"a\":1}"), "data: {\"a\":1}\n\n"); }

TEST(Sse, LineEndsBecomeFurtherDataLines) {
  EXPECT_EQ(sse_event("a\nb\r\nc\rd\n"), "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n");
  EXPECT_EQ(sse_event(""), "data: \n\n");
}

TEST(Sse, MayHaveAType) { EXPECT_EQ(sse_event("message_stop", "{}"), "event: message_stop\ndata: {}\n\n"); }

TEST(Sse, PingsBeforeClientsGiveUp) {
  const HttpResponse head = sse_head();
  EXPECT_EQ(head.content_type, "text/event-stream");
  EXPECT_EQ(head.idle_bytes, ": ping\n\n");
  EXPECT_LT(head.idle_after, std::chrono::seconds(5));
}

}  // namespace
}  // namespace kvern::server
