#include "state/account/memory.h"

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::state {
namespace {

TEST(MemoryAccount, CountsWhatIsHeld) {
  MemoryAccount account(0);
  {
    ASSERT_OK_AND_ASSIGN(auto a, account.allocate(100));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0U);
    ASSERT_OK_AND_ASSIGN(auto b, account.allocate(28));
    EXPECT_EQ(account.live_bytes(), 128U);
    a = std::move(b);  // the larger one is given back at once or with b, never twice
    EXPECT_LE(account.live_bytes(), 128U);
  }
  EXPECT_EQ(account.live_bytes(), 0U);
  EXPECT_EQ(account.peak_bytes(), 128U);
}

TEST(MemoryAccount, HoldsItsBudgetExactly) {
  MemoryAccount account(100);
  ASSERT_OK_AND_ASSIGN(auto a, account.allocate(60));
  const auto refused = account.allocate(41);
  EXPECT_ERROR(refused, kExhausted, "41 more bytes, but only 40 of its budget of 100");
  EXPECT_TRUE(refused.error().retryable);
  EXPECT_OK(account.allocate(40));
  EXPECT_EQ(account.live_bytes(), 60U);
}

TEST(MemoryAccount, ReportsWhatTheSystemCannotGive) {
  MemoryAccount account(0);
  EXPECT_ERROR(account.allocate(size_t{1} << 62), kExhausted, "the system has no");
  EXPECT_EQ(account.live_bytes(), 0U);
}

TEST(MemoryAccount, AsksSaversBeforeTheBudgetIsShort) {
  struct Hoard final : MemoryAccount::Saver {
    void give_back() override { block = {}; }
    MemoryAccount::Block block;
  };
  MemoryAccount account(100);
  Hoard hoard;
  ASSERT_OK_AND_ASSIGN(hoard.block, account.allocate(60));
  account.add_saver(hoard);
  EXPECT_EQ(account.available(40), 40U);  // enough is left, so nobody is asked
  EXPECT_OK(account.allocate(40));
  EXPECT_EQ(account.live_bytes(), 60U);
  EXPECT_OK(account.allocate(41));
  EXPECT_EQ(hoard.block.data(), nullptr);
  ASSERT_OK_AND_ASSIGN(hoard.block, account.allocate(60));
  account.remove_saver(hoard);
  EXPECT_ERROR(account.allocate(41), kExhausted, "budget");
}

TEST(MemoryAccount, FailsAfterAsManyAllocationsAsATestSays) {
  MemoryAccount account(0);
  account.fail_after(1);
  EXPECT_OK(account.allocate(8));
  EXPECT_ERROR(account.allocate(8), kExhausted, "the system has no");
  EXPECT_ERROR(account.allocate(8), kExhausted, "the system has no");
  account.fail_after();
  EXPECT_OK(account.allocate(8));
}

}  // namespace
}  // namespace kvern::state
