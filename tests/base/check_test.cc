#include "base/check.h"

#include <gtest/gtest.h>

namespace kvern {
namespace {

TEST(CheckDeathTest, a_broken_invariant_ends_the_program_and_names_itself) {
  EXPECT_DEATH(KVERN_CHECK(1 + 1 == 3), "kvern: broken invariant: 1 \\+ 1 == 3 \\(.*check_test.cc:[0-9]+\\)");
}

TEST(Check, evaluates_its_condition_once) {
  int calls = 0;
  KVERN_CHECK(++calls == 1);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace kvern
