#include "state/layout/page_pool.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "state/planted_fault.h"

namespace kvern::state {
namespace {

// Arenas begin with one huge page and grow with the pool, so that they are few in a large pool and a small
// model takes little.
constexpr size_t kSmallestArena = size_t{2} << 20;
constexpr size_t kLargestArena = size_t{32} << 20;
// An arena takes at most this part of what the budget has left, for other pools live on the same.
constexpr size_t kPartOfBudget = 8;

}  // namespace

struct PageArena {
  MemoryAccount::Block block;
  std::unique_ptr<Page[]> pages;
  size_t count = 0;
  size_t used = 0;
};

PagePool::PagePool(MemoryAccount& account, size_t page_bytes, bool poison)
    : account_(account), page_bytes_(page_bytes), poison_(poison) {
  account_.add_saver(*this);
}

PagePool::~PagePool() { account_.remove_saver(*this); }

// How many pages the next arena has; 0 when the budget has not enough for `missing` pages, in however many
// arenas.
size_t PagePool::arena_pages(size_t missing) {
  const size_t affordable = account_.available(missing * page_bytes_) / page_bytes_;
  if (affordable < missing) return 0;
  const size_t pool_bytes = (used_pages_ + free_pages_) * page_bytes_;
  const size_t wanted = std::clamp(pool_bytes / 4, kSmallestArena, kLargestArena) / page_bytes_;
  return std::clamp(wanted, size_t{1}, std::max({affordable / kPartOfBudget, missing, size_t{1}}));
}

Status PagePool::add_arena(size_t missing) {
  size_t count = arena_pages(missing);
  if (count == 0) return std::unexpected(account_.exhausted(missing * page_bytes_));
  auto block = account_.allocate(count * page_bytes_);
  // The system may lack a large piece and have small ones.
  while (!block && count > 1) {
    count /= 2;
    block = account_.allocate(count * page_bytes_);
  }
  if (!block) return std::unexpected(std::move(block).error());
  arenas_.reserve(arenas_.size() + 1);
  auto arena = std::make_unique<PageArena>();
  arena->pages = std::make_unique<Page[]>(count);
  arena->block = *std::move(block);
  arena->count = count;
  if (poison_) std::memset(arena->block.data(), 0xff, arena->block.size());
  // Behind the pages that are free already; the first page is taken first.
  for (size_t i = 0; i < count; ++i) {
    Page& page = arena->pages[i];
    page.data = arena->block.data() + i * page_bytes_;
    page.arena = arena.get();
    append_free(&page);
  }
  arenas_.push_back(std::move(arena));
  return Ok{};
}

Status PagePool::take(size_t count, std::vector<Page*>& out) {
  out.reserve(out.size() + count);
  if (free_pages_ < count) KVERN_TRY_STATUS(grow(count));
  for (size_t i = 0; i < count; ++i) {
    Page* page = free_;
    unlink(page);
    page->references = 1;
    if (page->arena->used++ == 0 && page->arena == spare_) spare_ = nullptr;
    out.push_back(page);
  }
  used_pages_ += count;
  references_ += count;
  return Ok{};
}

// Until `count` pages are free.
Status PagePool::grow(size_t count) {
  // The spare arena is about to be used, so it is not given back to make room.
  PageArena* spare = std::exchange(spare_, nullptr);
  const size_t arenas_before = arenas_.size();
  Status status = Ok{};
  while (status && free_pages_ < count) status = add_arena(count - free_pages_);
  if (!status) {
    while (arenas_.size() > arenas_before) remove_arena(arenas_.back().get());
  }
  spare_ = spare;
  return status;
}

void PagePool::share(Page* page) {
  KVERN_DCHECK(page->references > 0);
  ++page->references;
  ++references_;
}

void PagePool::release(Page* page) {
  KVERN_CHECK(page->references > 0);  // else it is free already, or was never taken
  --references_;
  if (--page->references > 0 && !planted(Fault::kFreedWhileShared)) return;
  --used_pages_;
  if (poison_) std::memset(page->data, 0xff, page_bytes_);
  push_free(page);
  PageArena* arena = page->arena;
  if (--arena->used > 0) return;
  if (spare_ == nullptr) {
    spare_ = arena;
  } else {
    remove_arena(arena);
  }
}

uint32_t PagePool::new_count() {
  if (++count_ != 0) return count_;
  for (const auto& arena : arenas_) {
    for (size_t i = 0; i < arena->count; ++i) arena->pages[i].count = 0;
  }
  return count_ = 1;
}

void PagePool::give_back() {
  if (spare_ == nullptr) return;
  remove_arena(spare_);
  spare_ = nullptr;
}

void PagePool::remove_arena(PageArena* arena) {
  for (size_t i = 0; i < arena->count; ++i) unlink(&arena->pages[i]);
  std::erase_if(arenas_, [&](const auto& a) { return a.get() == arena; });
}

void PagePool::push_free(Page* page) {
  page->previous = nullptr;
  page->next = free_;
  (free_ == nullptr ? last_free_ : free_->previous) = page;
  free_ = page;
  ++free_pages_;
}

void PagePool::append_free(Page* page) {
  page->next = nullptr;
  page->previous = last_free_;
  (last_free_ == nullptr ? free_ : last_free_->next) = page;
  last_free_ = page;
  ++free_pages_;
}

void PagePool::unlink(Page* page) {
  (page->previous == nullptr ? free_ : page->previous->next) = page->next;
  (page->next == nullptr ? last_free_ : page->next->previous) = page->previous;
  --free_pages_;
}

}  // namespace kvern::state
