#include "state/layout/layout.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "state/layout/padded.h"
#include "state/layout/paged.h"
#include "state/layout/ring.h"
#include "state/layout/slab.h"

namespace kvern::state {
namespace {

constexpr std::array kNames = {
    std::pair{LayoutKind::kSlab, std::string_view("slab")},
    std::pair{LayoutKind::kRing, std::string_view("ring")},
    std::pair{LayoutKind::kPaged, std::string_view("paged")},
    std::pair{LayoutKind::kPadded, std::string_view("padded")},
};

constexpr std::array<int64_t, 5> kPages = {16, 32, 64, 128, 256};

}  // namespace

size_t Layout::live_bytes(std::span<const RowSlot> slots) {
  size_t sum = 0;
  for (const RowSlot slot : slots) sum += row_bytes(held(slot));
  return sum;
}

std::string_view to_string(LayoutKind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  KVERN_CHECK(false);
  return {};
}

Result<LayoutKind> parse_layout(std::string_view text) {
  for (const auto& [kind, name] : kNames) {
    if (name == text) return kind;
  }
  return fail(ErrorCode::kInvalidArgument,
              "there is no KV layout '" + std::string(text) + "'; possible are slab, ring, paged and padded");
}

Status check_page(int64_t page) {
  if (std::ranges::find(kPages, page) != kPages.end()) return Ok{};
  return fail(ErrorCode::kInvalidArgument,
              "a page of " + std::to_string(page) + " positions; possible are 16, 32, 64, 128 and 256");
}

std::unique_ptr<Layout> make_layout(const LayoutOptions& options, StoreSpec spec, MemoryAccount& account) {
  switch (options.kind) {
    case LayoutKind::kSlab:
      return std::make_unique<SlabLayout>(std::move(spec), account, options.poison);
    case LayoutKind::kRing:
      return std::make_unique<RingLayout>(std::move(spec), account, options.poison);
    case LayoutKind::kPaged:
      return std::make_unique<PagedLayout>(std::move(spec), account, options.page, options.poison);
    case LayoutKind::kPadded:
      return std::make_unique<PaddedLayout>(std::move(spec), account, options.poison);
  }
  KVERN_CHECK(false);
  return nullptr;
}

}  // namespace kvern::state
