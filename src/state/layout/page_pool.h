// A pool of pages of one size, with reference counts.
//
// Pages come from arenas of some MiB, which are large so that the system can back them with huge pages. Free
// pages form one list; the page that was given back last is taken first, so the same history gives the same
// pages. An arena with no page in use goes back to the account, all but one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "state/account/memory.h"

namespace kvern::state {

struct PageArena;

/// A page of a pool. The pool owns it; who took it or shares it gives it back by release().
struct Page {
  std::byte* data = nullptr;
  PageArena* arena = nullptr;
  uint32_t references = 0;
  uint32_t count = 0;  // PagePool::new_count() when it was counted last
  // Neighbours in the list of free pages.
  Page* previous = nullptr;
  Page* next = nullptr;
};

/// One thread.
class PagePool final : public MemoryAccount::Saver {
 public:
  /// `account` outlives the pool. `poison` fills free pages with 0xff.
  PagePool(MemoryAccount& account, size_t page_bytes, bool poison);
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  /// Appends `count` pages with one reference each to `out`, or kExhausted and nothing. Contents undefined.
  Status take(size_t count, std::vector<Page*>& out);
  /// One more reference to a page that is in use.
  void share(Page* page);
  void release(Page* page);

  /// Begins to count pages, each once: a page has been counted when its `count` is the number given here.
  uint32_t new_count();

  size_t page_bytes() const { return page_bytes_; }
  size_t used_pages() const { return used_pages_; }
  size_t free_pages() const { return free_pages_; }
  /// References beyond the first, of all pages in use.
  size_t shared_pages() const { return references_ - used_pages_; }

  /// Gives the arena that is kept for later back to the account.
  void give_back() override;

 private:
  Status grow(size_t count);
  Status add_arena(size_t missing);
  size_t arena_pages(size_t missing);
  void remove_arena(PageArena* arena);
  void push_free(Page* page);
  void append_free(Page* page);
  void unlink(Page* page);

  MemoryAccount& account_;
  size_t page_bytes_;
  bool poison_;
  std::vector<std::unique_ptr<PageArena>> arenas_;
  Page* free_ = nullptr;
  Page* last_free_ = nullptr;
  PageArena* spare_ = nullptr;  // the arena with no page in use, if there is one
  size_t free_pages_ = 0;
  size_t used_pages_ = 0;
  size_t references_ = 0;
  uint32_t count_ = 0;
};

}  // namespace kvern::state
