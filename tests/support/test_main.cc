// main() of every test program. Says in one line when nothing but skipped tests ran, so that CTest shows a
// skip.
#include <cstdio>

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  const auto* unit = testing::UnitTest::GetInstance();
  if (result == 0 && unit->skipped_test_count() > 0 && unit->successful_test_count() == 0)
    std::puts("all tests skipped");
  return result;
}
