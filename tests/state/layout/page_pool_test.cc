#include "state/layout/page_pool.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::state {
namespace {

constexpr size_t kPageBytes = size_t{256} << 10;
constexpr size_t kFirstArena = 8;  // pages in 2 MiB

std::vector<Page*> take(PagePool& pool, size_t count) {
  std::vector<Page*> pages;
  EXPECT_OK(pool.take(count, pages));
  return pages;
}

TEST(PagePool, TheSameHistoryGivesTheSamePages) {
  MemoryAccount account(0);
  PagePool pool(account, kPageBytes, false);
  const std::vector<Page*> pages = take(pool, 4);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(pages[i]->data, pages[0]->data + i * kPageBytes);
  // The last one given back is the first one taken.
  pool.release(pages[1]);
  pool.release(pages[3]);
  EXPECT_EQ(take(pool, 2), (std::vector<Page*>{pages[3], pages[1]}));
}

TEST(PagePool, ArenasAreWholeHugePagesAndGrowWithThePool) {
  MemoryAccount account(0);
  PagePool pool(account, kPageBytes, false);
  const Page* first = take(pool, 1).front();
  EXPECT_EQ(account.live_bytes(), size_t{2} << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first->data) % (2 << 20), 0U);
  take(pool, 400);
  const size_t before = account.live_bytes();
  take(pool, pool.free_pages() + 1);
  EXPECT_GE(account.live_bytes() - before, size_t{16} << 20);  // a quarter of 100 MB
  EXPECT_EQ((pool.used_pages() + pool.free_pages()) * kPageBytes, account.live_bytes());
}

TEST(PagePool, OneUnusedArenaIsKept) {
  MemoryAccount account(0);
  PagePool pool(account, kPageBytes, false);
  std::vector<Page*> pages = take(pool, 5 * kFirstArena);
  EXPECT_EQ(account.live_bytes(), 5 * kFirstArena * kPageBytes);
  for (Page* page : pages) pool.release(page);
  EXPECT_EQ(account.live_bytes(), kFirstArena * kPageBytes);
  EXPECT_EQ(pool.free_pages(), kFirstArena);
  EXPECT_EQ(pool.used_pages(), 0U);
  EXPECT_EQ(take(pool, 1).front(), pages[kFirstArena - 1]);
}

TEST(PagePool, AnArenaWithAPageInUseStays) {
  MemoryAccount account(0);
  PagePool pool(account, kPageBytes, false);
  std::vector<Page*> pages = take(pool, 3 * kFirstArena);
  Page* used = pages[kFirstArena + 3];
  for (Page* page : pages) {
    if (page != used) pool.release(page);
  }
  EXPECT_EQ(account.live_bytes(), 2 * kFirstArena * kPageBytes);
  pool.release(used);
  EXPECT_EQ(account.live_bytes(), kFirstArena * kPageBytes);
}

TEST(PagePool, TheLastPageOfTheBudgetCanBeHad) {
  MemoryAccount account(11 * kPageBytes + 5);
  PagePool pool(account, kPageBytes, false);
  std::vector<Page*> pages;
  for (int i = 0; i < 11; ++i) ASSERT_OK(pool.take(1, pages));
  EXPECT_EQ(account.live_bytes(), 11 * kPageBytes);
  EXPECT_ERROR(pool.take(1, pages), kExhausted, "of its budget of");
  EXPECT_EQ(pages.size(), 11U);
}

TEST(PagePool, WhatDoesNotFitTakesNothing) {
  MemoryAccount account(20 * kPageBytes);
  PagePool pool(account, kPageBytes, false);
  std::vector<Page*> pages = take(pool, 3);
  const size_t before = account.live_bytes();
  EXPECT_ERROR(pool.take(18, pages), kExhausted, "budget");
  EXPECT_EQ(account.live_bytes(), before);
  EXPECT_EQ(pool.used_pages(), 3U);
  EXPECT_OK(pool.take(17, pages));
}

TEST(PagePool, WithoutALargePieceSmallOnesDo) {
  MemoryAccount account(0);
  PagePool pool(account, kPageBytes, false);
  std::vector<Page*> pages;
  account.fail_after(0);
  EXPECT_ERROR(pool.take(1, pages), kExhausted, "the system has no");
  account.fail_after(1);
  EXPECT_ERROR(pool.take(kFirstArena + 1, pages), kExhausted, "the system has no");
  account.fail_after();
  EXPECT_EQ(account.live_bytes(), 0U);
}

TEST(PagePool, AnUnusedArenaMakesRoomForOthers) {
  MemoryAccount account(2 * kFirstArena * kPageBytes);
  PagePool one(account, kPageBytes, false);
  PagePool other(account, kPageBytes, false);
  for (Page* page : take(one, kFirstArena)) one.release(page);
  EXPECT_GT(one.free_pages(), 0U);
  take(other, 2 * kFirstArena);
  EXPECT_EQ(one.free_pages(), 0U);
  EXPECT_EQ(account.live_bytes(), account.budget_bytes());
}

TEST(PagePool, SharedPagesAreCountedAndReleasedOnce) {
  MemoryAccount account(0);
  PagePool pool(account, kPageBytes, false);
  Page* page = take(pool, 2).front();
  pool.share(page);
  pool.share(page);
  EXPECT_EQ(pool.shared_pages(), 2U);
  pool.release(page);
  pool.release(page);
  EXPECT_EQ(pool.used_pages(), 2U);
  EXPECT_EQ(pool.shared_pages(), 0U);
  pool.release(page);
  EXPECT_EQ(pool.used_pages(), 1U);
  EXPECT_DEATH(pool.release(page), "references");
}

TEST(PagePool, FreePagesArePoisoned) {
  MemoryAccount account(0);
  PagePool pool(account, 4096, true);
  Page* page = take(pool, 1).front();
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < 4096; ++i) ASSERT_EQ(page->data[i], std::byte{0xff});
    page->data[17] = std::byte{1};
    pool.release(page);
    ASSERT_EQ(take(pool, 1).front(), page);
  }
}

TEST(PagePool, TheBooksBalanceInAnyHistory) {
  std::mt19937 random(7);
  MemoryAccount account(64 * kPageBytes);
  PagePool pool(account, kPageBytes, false);
  std::vector<Page*> held;  // one entry a reference
  for (int step = 0; step < 20000; ++step) {
    const size_t n = random() % 7;
    if (random() % 5 < 2) {
      static_cast<void>(pool.take(n, held));
    } else if (random() % 8 == 0 && !held.empty()) {
      held.push_back(held[random() % held.size()]);
      pool.share(held.back());
    } else {
      for (size_t i = 0; i < n && !held.empty(); ++i) {
        std::swap(held[random() % held.size()], held.back());
        pool.release(held.back());
        held.pop_back();
      }
    }
    ASSERT_EQ((pool.used_pages() + pool.free_pages()) * kPageBytes, account.live_bytes());
    ASSERT_EQ(pool.used_pages(), std::set<Page*>(held.begin(), held.end()).size());
  }
}

}  // namespace
}  // namespace kvern::state
