// Up to kTile vectors of any runs, found together: where their codes lie and their parameters side by side.
#if defined(KVERN_STATE_CODEC_INTEGER_PIECE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_STATE_CODEC_INTEGER_PIECE_INL_H_
#undef KVERN_STATE_CODEC_INTEGER_PIECE_INL_H_
#else
#define KVERN_STATE_CODEC_INTEGER_PIECE_INL_H_
#endif

#include "hwy/highway.h"

#include <algorithm>

#include "state/codec/integer/forms-inl.h"
#include "state/codec/integer/limits.h"

KVERN_BEFORE_INTEGER();
namespace kvern::state {
namespace HWY_NAMESPACE {
namespace integer {
using state::integer::kMaxGroups;

/// Goes through the vectors of runs, some at a time.
class RunCursor {
 public:
  explicit RunCursor(EncodedRuns runs) : runs_(runs) {}

  /// At most `limit` vectors of one run: the run and the first one's index. Nothing is left when count is 0.
  struct Stretch {
    const EncodedRun* run = nullptr;
    int64_t first = 0;
    int64_t count = 0;
  };
  HWY_INLINE Stretch next(int64_t limit) {
    while (index_ < runs_.size() && first_ == runs_[index_].count) {
      ++index_;
      first_ = 0;
    }
    if (index_ == runs_.size()) return {};
    const Stretch stretch{&runs_[index_], first_, std::min(limit, runs_[index_].count - first_)};
    first_ += stretch.count;
    return stretch;
  }

 private:
  EncodedRuns runs_;
  size_t index_ = 0;
  int64_t first_ = 0;
};

/// Fetches records into L2, some at a time.
template <typename F>
class NextRecords {
 public:
  NextRecords(EncodedRuns runs, const VectorShape& shape)
      : cursor_(runs),
        bytes_{F::code_bytes(shape.dim),
               shape.dim / shape.group * static_cast<int64_t>(sizeof(typename F::Raw))} {}

  HWY_INLINE void fetch(int64_t count) {
    while (count > 0) {
      const RunCursor::Stretch stretch = cursor_.next(count);
      if (stretch.count == 0) return;
      count -= stretch.count;
      fetch_plane(stretch, 0, bytes_[0]);
      fetch_plane(stretch, 1, bytes_[1]);
      fetch_plane(stretch, 2, bytes_[1]);
    }
  }

 private:
  HWY_INLINE void fetch_plane(const RunCursor::Stretch& stretch, size_t plane, int64_t record) {
    const std::byte* p = stretch.run->planes[plane] + stretch.first * record;
    for (int64_t i = 0; i < stretch.count * record; i += 64) __builtin_prefetch(p + i, 0, 2);
  }

  RunCursor cursor_;
  int64_t bytes_[2];
};

/// Fetches `records` records in `steps` steps of about the same size.
template <typename F>
class FetchSteps {
 public:
  FetchSteps(NextRecords<F>& next, int64_t records, int64_t steps)
      : next_(next), each_((records + steps - 1) / steps) {}
  HWY_INLINE void step() { next_.fetch(each_); }

 private:
  NextRecords<F>& next_;
  int64_t each_;
};

/// Scratch on the stack; only the part that `count` and the shape need is ever touched.
template <typename F>
struct Piece {
  using Raw = typename F::Raw;

  int64_t count;
  /// Of each vector; the last one stands for those up to the next multiple of 16.
  const std::byte* codes[kTile];
  alignas(64) Raw first[kMaxGroups * kTile];   ///< [group][kTile] of plane 1, zero beyond the count
  alignas(64) Raw second[kMaxGroups * kTile];  ///< of plane 2

  int64_t blocks() const { return (count + 15) / 16; }

  void fill(RunCursor& cursor, const VectorShape& shape) {
    const int64_t groups = shape.dim / shape.group;
    const int64_t record = F::code_bytes(shape.dim);
    count = 0;
    while (count < kTile) {
      const RunCursor::Stretch stretch = cursor.next(kTile - count);
      if (stretch.count == 0) break;
      const std::byte* p = stretch.run->planes[0] + stretch.first * record;
      for (int64_t i = 0; i < stretch.count; ++i, p += record) codes[count + i] = p;
      copy(stretch, 1, groups, first + count);
      copy(stretch, 2, groups, second + count);
      count += stretch.count;
    }
    if (count == kTile) return;
    for (int64_t i = count; i < blocks() * 16; ++i) codes[i] = codes[count - 1];
    for (int64_t g = 0; g < groups; ++g) {
      std::fill(first + g * kTile + count, first + (g + 1) * kTile, Raw{0});
      std::fill(second + g * kTile + count, second + (g + 1) * kTile, Raw{0});
    }
  }

  F32x16 scale(int64_t group, int64_t block) const {
    const int64_t at = group * kTile + block * 16;
    return F::Parameters::scale(first + at, second + at);
  }
  F32x16 bias(int64_t group, int64_t block) const {
    const int64_t at = group * kTile + block * 16;
    return F::Parameters::bias(first + at, second + at);
  }

 private:
  // Parameters [vector][group] of a plane to [group][vector].
  static HWY_INLINE void copy(const RunCursor::Stretch& stretch, size_t plane, int64_t groups, Raw* out) {
    const std::byte* from =
        stretch.run->planes[plane] + stretch.first * groups * static_cast<int64_t>(sizeof(Raw));
    if (groups == 1) {
      std::memcpy(out, from, static_cast<size_t>(stretch.count) * sizeof(Raw));
      return;
    }
    int64_t i = 0;
    const hn::CappedTag<Raw, 16> d;
    constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(d));
    if (groups == 2) {
      for (; i + kStep <= stretch.count; i += kStep, from += 2 * kStep * sizeof(Raw)) {
        hn::Vec<decltype(d)> a, b;
        hn::LoadInterleaved2(d, reinterpret_cast<const Raw*>(from), a, b);
        hn::StoreU(a, d, out + i);
        hn::StoreU(b, d, out + kTile + i);
      }
    } else if (groups == 4) {
      for (; i + kStep <= stretch.count; i += kStep, from += 4 * kStep * sizeof(Raw)) {
        hn::Vec<decltype(d)> a, b, c, e;
        hn::LoadInterleaved4(d, reinterpret_cast<const Raw*>(from), a, b, c, e);
        hn::StoreU(a, d, out + i);
        hn::StoreU(b, d, out + kTile + i);
        hn::StoreU(c, d, out + 2 * kTile + i);
        hn::StoreU(e, d, out + 3 * kTile + i);
      }
    }
    for (; i < stretch.count; ++i) {
      for (int64_t g = 0; g < groups; ++g, from += sizeof(Raw))
        std::memcpy(out + g * kTile + i, from, sizeof(Raw));
    }
  }
};

/// The codes of 16 * blocks vectors of a piece in one group, for forms that are not read directly.
struct UnpackedGroup {
  alignas(64) uint8_t bytes[kTile * state::integer::kMaxGroup];
  const std::byte* codes[kTile];

  template <typename F>
  void fill(Records records, int64_t vectors, int64_t number, int64_t group) {
    for (int64_t i = 0; i < vectors; ++i) {
      unpack_group<F>(records[i], number, group, bytes + i * group);
      codes[i] = reinterpret_cast<const std::byte*>(bytes + i * group);
    }
  }
};

}  // namespace integer
}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
