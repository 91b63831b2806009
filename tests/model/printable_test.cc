#include "model/printable.h"

#include <string>

#include <gtest/gtest.h>

namespace kvern::model {
namespace {

TEST(Printable, puts_ordinary_names_in_quotes) { EXPECT_EQ(printable("blk.0.attn_q"), "'blk.0.attn_q'"); }

TEST(Printable, escapes_what_a_terminal_would_act_on) {
  EXPECT_EQ(printable("a\x1b[2J\n'\\\xc3"), "'a\\x1b[2J\\x0a\\x27\\x5c\\xc3'");
}

TEST(Printable, keeps_messages_short) {
  const std::string text = printable(std::string(100000, 'x'));
  EXPECT_EQ(text, "'" + std::string(96, 'x') + "'…");
}

}  // namespace
}  // namespace kvern::model
