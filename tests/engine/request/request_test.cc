#include "engine/request/request.h"

#include <gtest/gtest.h>

namespace kvern::engine {
namespace {

TEST(Finish_reasons, have_the_names_of_the_interfaces) {
  EXPECT_EQ(to_string(FinishReason::kStop), "stop");
  EXPECT_EQ(to_string(FinishReason::kLength), "length");
  EXPECT_EQ(to_string(FinishReason::kCancelled), "cancelled");
}

}  // namespace
}  // namespace kvern::engine
