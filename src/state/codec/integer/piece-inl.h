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
/// loads. What is beyond kMaxRanges is left to the processor's own prefetching.
class FetchAhead {
 public:
  /// The planes of `runs`, whose records have `bytes`, in `steps` steps.
  HWY_INLINE void plan(EncodedRuns runs, const std::array<int64_t, 3>& bytes, int64_t steps) {
    int64_t lines = 0;
    count_ = 0;
    for (const EncodedRun& run : runs) {
      for (size_t plane = 0; plane < 3 && count_ < kMaxRanges; ++plane) {
        const std::byte* first = run.planes[plane];
        const int64_t length = run.count * bytes[plane];
        ranges_[count_++] = {first, first + length};
        lines += (length + 63) / 64;
      }
    }
    next_ = 0;
    now_ = {};
    each_ = (lines + steps - 1) / steps;
  }

  HWY_INLINE void step() {
    for (int64_t i = 0; i < each_; ++i) {
      if (now_.next >= now_.end) {
        if (next_ == count_) return;
        now_ = ranges_[next_++];
      }
      __builtin_prefetch(now_.next, 0, 2);
      now_.next += 64;
    }
  }

 private:
  static constexpr int64_t kMaxRanges = 24;
  struct Range {
    const std::byte* next;
    const std::byte* end;
  };
  Range ranges_[kMaxRanges];
  Range now_;
  int64_t next_;
  int64_t count_;
  int64_t each_;
};

constexpr int64_t kBlock = 16;
constexpr int64_t kBlocks = kTile / kBlock;

/// Scratch on the stack; only the part that `count` and the shape need is ever touched.
template <typename F>
class Piece {
 public:
  int64_t count;

  int64_t blocks() const { return (count + kBlock - 1) / kBlock; }

  void fill(RunCursor& cursor, const VectorShape& shape) {
    groups_ = shape.groups();
    record_ = F::code_bytes(shape.dim);
    count = 0;
    for (int64_t b = 0; b < kBlocks; ++b) {
      const RunCursor::Stretch stretch = cursor.next(kBlock);
      if (stretch.count == kBlock) {
        place(stretch, b);
        count += kBlock;
      } else if (stretch.count > 0) {
        count += gather(stretch, cursor, b);
      }
      if (count < (b + 1) * kBlock) break;
    }
    static constexpr Raw kZeros[kMaxGroups * kBlock] = {};
    for (int64_t b = blocks(); b < kBlocks; ++b) first_[b] = second_[b] = kZeros;
  }

  /// The codes of a block's sixteen vectors. Those beyond the count are zero.
  HWY_INLINE Records codes(int64_t block) const { return {codes_[block], record_}; }
  /// The parameters of a block's vectors in one group, zero beyond the count, also in blocks beyond it.
  HWY_INLINE F32x16 scale(int64_t group, int64_t block) const {
    return F::Parameters::scale(first_[block] + group * kBlock, second_[block] + group * kBlock);
  }
  HWY_INLINE F32x16 bias(int64_t group, int64_t block) const {
    return F::Parameters::bias(first_[block] + group * kBlock, second_[block] + group * kBlock);
  }

 private:
  using Raw = typename F::Raw;

  static HWY_INLINE const Raw* parameters(const RunCursor::Stretch& stretch, size_t plane, int64_t groups) {
    return reinterpret_cast<const Raw*>(stretch.run->planes[plane]) + stretch.first * groups;
  }

  // A block that lies in one run is read there.
  HWY_INLINE void place(const RunCursor::Stretch& stretch, int64_t block) {
    codes_[block] = stretch.run->planes[0] + stretch.first * record_;
    first_[block] = parameters(stretch, 1, groups_);
    second_[block] = parameters(stretch, 2, groups_);
    if (groups_ == 1) return;
    Raw* first = own_first_ + block * groups_ * kBlock;
    Raw* second = own_second_ + block * groups_ * kBlock;
    transpose(first_[block], first);
    transpose(second_[block], second);
    first_[block] = first;
    second_[block] = second;
  }

  // Parameters [kBlock][groups] to [groups][kBlock].
  HWY_INLINE void transpose(const Raw* from, Raw* to) const {
    const hn::CappedTag<Raw, 16> d;
    constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(d));
    for (int64_t i = 0; i < kBlock; i += kStep, from += kStep * groups_) {
      if (groups_ == 2) {
        hn::Vec<decltype(d)> a, b;
        hn::LoadInterleaved2(d, from, a, b);
        hn::StoreU(a, d, to + i);
        hn::StoreU(b, d, to + kBlock + i);
      } else if (groups_ == 4) {
        hn::Vec<decltype(d)> a, b, c, e;
        hn::LoadInterleaved4(d, from, a, b, c, e);
        hn::StoreU(a, d, to + i);
        hn::StoreU(b, d, to + kBlock + i);
        hn::StoreU(c, d, to + 2 * kBlock + i);
        hn::StoreU(e, d, to + 3 * kBlock + i);
      } else {
        for (int64_t n = 0; n < kStep * groups_; ++n) to[n % groups_ * kBlock + i + n / groups_] = from[n];
      }
    }
  }

  // A block of several runs, or the last one, is brought together. Returns how many vectors it has.
  HWY_NOINLINE int64_t gather(RunCursor::Stretch stretch, RunCursor& cursor, int64_t block) {
    std::byte* codes = own_codes_ + block * kBlock * record_;
    Raw* first = own_first_ + block * groups_ * kBlock;
    Raw* second = own_second_ + block * groups_ * kBlock;
    std::fill_n(codes, kBlock * record_, std::byte{0});
    std::fill_n(first, groups_ * kBlock, Raw{0});
    std::fill_n(second, groups_ * kBlock, Raw{0});
    codes_[block] = codes;
    first_[block] = first;
    second_[block] = second;
    int64_t n = 0;
    for (; stretch.count > 0; stretch = cursor.next(kBlock - n)) {
      std::copy_n(stretch.run->planes[0] + stretch.first * record_, stretch.count * record_,
                  codes + n * record_);
      const Raw* from_first = parameters(stretch, 1, groups_);
      const Raw* from_second = parameters(stretch, 2, groups_);
      for (int64_t i = 0; i < stretch.count * groups_; ++i) {
        const int64_t to = i % groups_ * kBlock + n + i / groups_;
        first[to] = from_first[i];
        second[to] = from_second[i];
      }
      n += stretch.count;
      if (n == kBlock) break;
    }
    return n;
  }

  int64_t groups_;
  int64_t record_;
  const std::byte* codes_[kBlocks];
  const Raw* first_[kBlocks];  ///< plane 1: [group][kBlock]
  const Raw* second_[kBlocks];
  alignas(64) Raw own_first_[kMaxGroups * kTile];
  alignas(64) Raw own_second_[kMaxGroups * kTile];
  alignas(64) std::byte own_codes_[kTile * state::integer::kMaxDim];
};

/// The codes of a block in one group, for forms that are not read directly.
struct UnpackedBlock {
  alignas(64) uint8_t bytes[kBlock * state::integer::kMaxGroup];

  template <typename F>
  HWY_INLINE Records fill(const Records& records, int64_t number, int64_t group) {
    for (int64_t i = 0; i < kBlock; ++i) unpack_group<F>(records[i], number, group, bytes + i * group);
    return {reinterpret_cast<const std::byte*>(bytes), group};
  }
};

}  // namespace integer
}  // namespace HWY_NAMESPACE
}  // namespace kvern::state
HWY_AFTER_NAMESPACE();

#endif  // include guard that toggles with each target
