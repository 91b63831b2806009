// Up to kTile vectors of any runs, found together: where their codes lie and their parameters side by side.
#if defined(KVERN_STATE_CODEC_INTEGER_PIECE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KVERN_STATE_CODEC_INTEGER_PIECE_INL_H_
#undef KVERN_STATE_CODEC_INTEGER_PIECE_INL_H_
#else
#define KVERN_STATE_CODEC_INTEGER_PIECE_INL_H_
#endif

#include "hwy/highway.h"

#include <algorithm>
#include <array>

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

/// Fetches the planes of runs into L2, some cache lines at a time: many requests at once would block the
/// loads. What is beyond kMaxLines is left to the processor's own prefetching.
class FetchAhead {
 public:
  /// The planes of `runs`, whose records have `bytes`, in `steps` steps.
  HWY_INLINE void plan(EncodedRuns runs, const std::array<int64_t, 3>& bytes, int64_t steps) {
    int64_t count = 0;
    for (const EncodedRun& run : runs) {
      for (size_t plane = 0; plane < 3; ++plane) {
        const int64_t lines = std::min((run.count * bytes[plane] + 63) / 64, kMaxLines - count);
        const std::byte* p = run.planes[plane];
        for (int64_t i = 0; i < lines; ++i, p += 64) lines_[count + i] = p;
        count += lines;
      }
    }
    next_ = 0;
    count_ = count;
    each_ = (count + steps - 1) / steps;
  }

  HWY_INLINE void step() {
    const int64_t end = std::min(next_ + each_, count_);
    for (; next_ < end; ++next_) __builtin_prefetch(lines_[next_], 0, 2);
  }

 private:
  static constexpr int64_t kMaxLines = 320;
  const std::byte* lines_[kMaxLines];
  int64_t next_;
  int64_t count_;
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
