// A layout beside an oracle that knows, for every row, which record was written last at each position.
//
// Every record's bytes say which write made them, at which position, in which stream and plane: a record that
// is missing, stale, doubled or misplaced shows. The layout is poisoned, and new storage is checked to be.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "state/layout/layout.h"
#include "state/layout/ranges.h"

namespace kvern::state::test {

/// A codec of some planes that only says how many they are.
inline const Codec& planes_only(int planes) {
  static const std::array<Codec, kMaxPlanes + 1> codecs = [] {
    std::array<Codec, kMaxPlanes + 1> made{};
    for (int p = 0; p <= kMaxPlanes; ++p)
      made[static_cast<size_t>(p)] = Codec{.kind = CodecKind::kF32, .planes = p};
    return made;
  }();
  return codecs[static_cast<size_t>(planes)];
}

inline SideGeometry side_of(std::vector<size_t> record_bytes) {
  SideGeometry side{.codec = &planes_only(static_cast<int>(record_bytes.size())), .dim = 1};
  std::ranges::copy(record_bytes, side.record_bytes.begin());
  return side;
}

/// Two layers with other heads and other planes, of odd sizes.
inline Geometry odd_geometry() {
  return {.layers = {{2, side_of({12, 2, 4}), side_of({10})}, {1, side_of({5}), side_of({3, 16})}}};
}

class LayoutScene {
 public:
  LayoutScene(const LayoutOptions& options, StoreSpec spec, size_t budget = 0)
      : spec_(spec), kind_(options.kind), account_(budget), layout_(make_layout(options, spec, account_)) {
    for (size_t l = 0; l < spec_.geometry.layers.size(); ++l) {
      for (int64_t head = 0; head < spec_.geometry.layers[l].kv_heads; ++head) {
        for (const KvSide side : {KvSide::kKey, KvSide::kValue}) {
          streams_.push_back({static_cast<LayerIndex>(l), head, side});
        }
      }
    }
  }

  struct Row {
    RowSlot slot{};
    Held held;
    std::map<int64_t, uint64_t> tags;  // position -> the write that made it
  };

  Layout& layout() { return *layout_; }
  MemoryAccount& account() { return account_; }
  std::vector<Row>& rows() { return rows_; }
  const StoreSpec& spec() const { return spec_; }
  /// The first difference found, empty while there is none.
  const std::string& problem() const { return problem_; }

  size_t add() {
    rows_.push_back({.slot = layout_->add_row(), .held = {spec_.origin, 0}, .tags = {}});
    return rows_.size() - 1;
  }
  void remove(size_t row) {
    layout_->remove_row(rows_[row].slot);
    rows_.erase(rows_.begin() + static_cast<int64_t>(row));
  }
  bool extend(size_t row, int64_t length) {
    const Held held{rows_[row].held.tail_begin, length};
    return attempt([&] { return layout_->extend(rows_[row].slot, length); },
                   [&] { hold_new(rows_[row], held, rows_[row].held.length); });
  }
  bool assign(size_t row, const Held& held) {
    return attempt([&] { return layout_->assign(rows_[row].slot, held); },
                   [&] { hold_new(rows_[row], held, 0); });
  }
  bool fork(size_t from) {
    const size_t to = add();
    const bool done = attempt([&] { return layout_->fork(rows_[from].slot, rows_[to].slot); },
                              [&] {
                                rows_[to].held = rows_[from].held;
                                rows_[to].tags = rows_[from].tags;
                              });
    if (!done) remove(to);
    return done;
  }
  void cut(size_t row, int64_t length) {
    layout_->cut(rows_[row].slot, length);
    rows_[row].held.length = length;
    if (length == 0) rows_[row].held.tail_begin = spec_.origin;  // as new
    forget(rows_[row]);
  }
  void drop(size_t row, int64_t tail_begin) {
    layout_->drop(rows_[row].slot, tail_begin);
    rows_[row].held.tail_begin = std::max(rows_[row].held.tail_begin, tail_begin);
    forget(rows_[row]);
  }

  /// Lets each operation fail at its first allocation, its second, ... before it may succeed.
  void inject_faults(bool on) { faults_ = on; }

  /// Compares every record and the books; false when something is wrong.
  bool check() {
    for (const Row& row : rows_) check_row(row);
    check_books();
    return problem_.empty();
  }
  /// Whether buffers have exactly the size that the rows ask for: true unless something failed on the way.
  void expect_exact(bool exact) { exact_ = exact; }

 private:
  bool attempt(const std::function<Status()>& operation, const std::function<void()>& apply) {
    for (size_t allowed = 0; faults_; ++allowed) {
      account_.fail_after(allowed);
      const Status status = operation();
      account_.fail_after();
      if (status) {
        apply();
        return true;
      }
      if (status.error().code != ErrorCode::kExhausted) complain("another error than kExhausted");
      if (!check()) return false;
    }
    if (!operation()) return false;
    apply();
    return true;
  }

  std::vector<PositionRange> ranges(const Held& held) const {
    return {head_range(spec_, held), tail_range(spec_, held)};
  }

  // New positions are poisoned until they are written.
  void hold_new(Row& row, const Held& held, int64_t first_new) {
    row.held = held;
    if (layout_->held(row.slot) != held) complain("held() is not what was asked for");
    ++writes_;
    for (const PositionRange& range : ranges(held)) {
      for_records(
          row, std::max(range.begin, first_new), range.end,
          [&](std::byte* record, size_t bytes, uint64_t, int64_t) {
            if (std::any_of(record, record + bytes, [](std::byte b) { return b != std::byte{0xff}; })) {
              complain("new storage is not poisoned");
            }
          });
      for (int64_t p = std::max(range.begin, first_new); p < range.end; ++p) row.tags[p] = writes_;
      for_records(row, std::max(range.begin, first_new), range.end,
                  [&](std::byte* record, size_t bytes, uint64_t plane, int64_t p) {
                    fill(record, bytes, pattern(row.tags[p], p, plane));
                  });
    }
  }

  void forget(Row& row) {
    std::erase_if(row.tags,
                  [&](const auto& tag) { return !holds_any(spec_, row.held, tag.first, tag.first + 1); });
  }

  // Calls f(record, bytes, number of the plane, position) for positions [begin, end), tile by tile.
  template <typename F>
  void for_records(const Row& row, int64_t begin, int64_t end, const F& f) {
    for (int64_t p = begin; p < end;) {
      const int64_t stop = std::min(end, round_up(p + 1, kTile));
      for (size_t s = 0; s < streams_.size(); ++s) for_stream(row, s, {p, stop}, f);
      p = stop;
    }
  }

  template <typename F>
  void for_stream(const Row& row, size_t stream, const PositionRange& range, const F& f) {
    const StreamId& id = streams_[stream];
    const SideGeometry& side = spec_.geometry.layers[static_cast<size_t>(to_int(id.layer))].side(id.side);
    RunList runs;
    layout_->collect(row.slot, id, range.begin, range.end, runs);
    int64_t p = range.begin;
    for (const EncodedRun& run : EncodedRuns(runs)) {
      if (run.count <= 0 || p + run.count > range.end) return complain("a run of a wrong size");
      for (int64_t i = 0; i < run.count; ++i, ++p) {
        for (size_t plane = 0; plane < static_cast<size_t>(side.planes()); ++plane) {
          const size_t bytes = side.record_bytes[plane];
          f(run.planes[plane] + static_cast<size_t>(i) * bytes, bytes, stream * kMaxPlanes + plane, p);
        }
      }
    }
    if (p != range.end) complain("runs do not cover what was asked for");
  }

  static uint64_t pattern(uint64_t tag, int64_t position, uint64_t plane) {
    uint64_t x =
        tag * 0x9e3779b97f4a7c15U + static_cast<uint64_t>(position) * 0xbf58476d1ce4e5b9U + plane + 1;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
  }
  static void fill(std::byte* record, size_t bytes, uint64_t value) {
    for (size_t i = 0; i < bytes; i += sizeof value) {
      std::memcpy(record + i, &value, std::min(sizeof value, bytes - i));
    }
  }
  static bool equals(const std::byte* record, size_t bytes, uint64_t value) {
    for (size_t i = 0; i < bytes; i += sizeof value) {
      if (std::memcmp(record + i, &value, std::min(sizeof value, bytes - i)) != 0) return false;
    }
    return true;
  }

  void check_row(const Row& row) {
    if (layout_->held(row.slot) != row.held) complain("held() has changed");
    for (const PositionRange& range : ranges(row.held)) {
      for_records(row, range.begin, range.end,
                  [&](std::byte* record, size_t bytes, uint64_t plane, int64_t p) {
                    if (!equals(record, bytes, pattern(row.tags.at(p), p, plane))) {
                      complain("position " + std::to_string(p) + " has other bytes than were written");
                    }
                  });
    }
  }

  void check_books() {
    const LayoutUsage usage = layout_->usage();
    if (usage.live + usage.slack != account_.live_bytes())
      complain("live + slack is not what the account gave");
    size_t sum = 0;
    std::vector<RowSlot> slots;
    for (const Row& row : rows_) {
      slots.push_back(row.slot);
      const size_t bytes = layout_->row_bytes(row.held);
      sum += bytes;
      if (exact_ && layout_->live_bytes({&row.slot, 1}) != bytes)
        complain("a row alone takes something else");
    }
    if (layout_->live_bytes(slots) != usage.live) complain("all rows together are not what is live");
    if (exact_ && usage.live + usage.shared != sum) complain("rows do not take what row_bytes says");
    const bool pools = kind_ == LayoutKind::kPaged;
    if (!pools && usage.shared != 0) complain("rows share storage");
    if ((kind_ == LayoutKind::kSlab || kind_ == LayoutKind::kRing) && usage.slack != 0)
      complain("unused storage");
  }

  void complain(const std::string& what) {
    if (problem_.empty()) problem_ = what;
  }

  StoreSpec spec_;
  LayoutKind kind_;
  MemoryAccount account_;
  std::unique_ptr<Layout> layout_;
  std::vector<StreamId> streams_;
  std::vector<Row> rows_;
  std::string problem_;
  uint64_t writes_ = 0;
  bool faults_ = false;
  bool exact_ = true;
};

}  // namespace kvern::state::test
