// One beginning of a prompt on its way from a tier into the cache.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/row/saved_row.h"

namespace kvern::engine {

/// The loop's thread. The cache outlives it; destroying it gives back what it holds.
class PrefixRestore {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Wanted {
    std::string name_space;
    std::vector<int32_t> tokens;  ///< those that the tier has promised
    size_t tier = 0;              ///< its number
    TimePoint deadline;
  };
  PrefixRestore(state::KvCache& kv, Wanted wanted, store::TierHit hit)
      : wanted_(std::move(wanted)), rows_(kv, std::move(hit)) {}

  const std::string& name_space() const { return wanted_.name_space; }
  std::span<const int32_t> tokens() const { return wanted_.tokens; }
  size_t tier() const { return wanted_.tier; }
  bool holds_storage() const { return rows_.holds_storage(); }
  uint64_t copied_bytes() const { return rows_.copied_bytes(); }

  enum class Progress : uint8_t {
    kGoesOn,
    kNoRoom,  ///< the cache has none for the row; the next step() tries again
    kOver,    ///< nothing more is to come, or the time has
  };
  Progress step(size_t most_bytes, TimePoint now) {
    if (now >= wanted_.deadline) return Progress::kOver;
    const auto more = rows_.step(most_bytes);
    if (!more) return more.error().code == ErrorCode::kExhausted ? Progress::kNoRoom : Progress::kOver;
    return *more ? Progress::kGoesOn : Progress::kOver;
  }
  /// Waits until step() has something to do, or so long.
  void wait(std::chrono::milliseconds at_most) { rows_.wait(std::chrono::steady_clock::now() + at_most); }
  /// A new row with the first tokens, as many as came whole and can be used; nothing when there are none.
  std::optional<store::RowRestore::Row> finish() {
    const auto made = rows_.finish();
    return made ? *made : std::nullopt;
  }

 private:
  Wanted wanted_;
  store::RowRestore rows_;
};

}  // namespace kvern::engine
