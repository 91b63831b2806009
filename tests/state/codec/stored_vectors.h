// Stored vectors for the tests of codecs: planes with a guard behind each, encoded by a kernel, and the same
// by the reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "state/codec/codec.h"
#include "support/every_target.h"
#include "support/reference/codec_reference.h"

namespace kvern::state {

/// Planes for `count` vectors, filled with 0xff (NaN for every codec), and a guard behind each.
class Stored {
 public:
  Stored(const Codec& codec, int64_t count, int64_t dim) : codec_(codec), dim_(dim) {
    run.count = count;
    for (int p = 0; p < codec.planes; ++p) {
      auto& plane = planes_[static_cast<size_t>(p)];
      const size_t bytes = static_cast<size_t>(count) * codec.record_bytes(codec, p, dim);
      plane.assign(bytes + kGuardBytes, std::byte{0xff});
      std::fill(plane.end() - kGuardBytes, plane.end(), kGuard);
      run.planes[static_cast<size_t>(p)] = plane.data();
    }
  }
  Stored(const Stored&) = delete;
  Stored& operator=(const Stored&) = delete;

  bool guards_stand() const {
    return std::all_of(planes_.begin(), planes_.begin() + codec_.planes, [](const auto& plane) {
      return std::all_of(plane.end() - kGuardBytes, plane.end(), [](std::byte b) { return b == kGuard; });
    });
  }
  /// Vectors [first, first + count).
  EncodedRun part(int64_t first, int64_t count) const {
    EncodedRun out{.count = count};
    for (int p = 0; p < codec_.planes; ++p) {
      const auto plane = static_cast<size_t>(p);
      out.planes[plane] =
          run.planes[plane] + static_cast<size_t>(first) * codec_.record_bytes(codec_, p, dim_);
    }
    return out;
  }
  void write(int64_t index, const reference::StoredVector& vector) const {
    for (int p = 0; p < codec_.planes; ++p) {
      const auto plane = static_cast<size_t>(p);
      std::memcpy(part(index, 1).planes[plane], vector.planes[plane].data(), vector.planes[plane].size());
    }
  }
  bool equals(int64_t index, const reference::StoredVector& vector) const {
    for (int p = 0; p < codec_.planes; ++p) {
      const auto plane = static_cast<size_t>(p);
      const auto& want = vector.planes[plane];
      if (want.size() != codec_.record_bytes(codec_, p, dim_)) return false;
      if (std::memcmp(part(index, 1).planes[plane], want.data(), want.size()) != 0) return false;
    }
    return true;
  }

  EncodedRun run;

 private:
  static constexpr size_t kGuardBytes = 64;
  static constexpr std::byte kGuard{0xa5};
  const Codec& codec_;
  int64_t dim_;
  std::array<std::vector<std::byte>, kMaxPlanes> planes_;
};

/// 64-byte aligned bytes.
class AlignedBytes {
 public:
  explicit AlignedBytes(size_t bytes) : memory_(bytes + 64) {}
  std::byte* data() { return memory_.data() + (64 - reinterpret_cast<uintptr_t>(memory_.data()) % 64) % 64; }

 private:
  std::vector<std::byte> memory_;
};

/// Queries [count, padded(dim)] in the form of the codec.
inline AlignedBytes prepared(const CodecKernels& kernels, const VectorShape& shape,
                             const std::vector<float>& q, int64_t count) {
  AlignedBytes out(static_cast<size_t>(count) * kernels.query_bytes(shape));
  kernels.prepare({q.data(), count, shape, out.data()});
  return out;
}

/// The same bits, or both not a number.
inline bool same(float a, float b) {
  return std::memcmp(&a, &b, sizeof(float)) == 0 || (std::isnan(a) && std::isnan(b));
}

/// Vectors of `dim` numbers with what is hard to store: constants, zeros, one sign only, outliers, huge and
/// tiny magnitudes, among ordinary ones.
inline std::vector<float> awkward_vectors(int64_t count, int64_t dim, unsigned seed) {
  std::vector<float> x = test::normal_floats(count * dim, 1.0F, seed);
  for (int64_t i = 0; i < count; ++i) {
    float* v = x.data() + i * dim;
    for (int64_t d = 0; d < dim; ++d) {
      switch (i % 12) {
        case 1:
          v[d] = 0.0F;
          break;
        case 2:
          v[d] = 3.25F;
          break;
        case 3:
          v[d] = -std::abs(v[d]) - 1.0F;
          break;
        case 4:
          v[d] = 100.0F + 0.001F * v[d];
          break;
        case 5:
          v[d] = d % 37 == 5 ? 60.0F * v[d] : v[d];
          break;
        case 6:
          v[d] *= 1e-9F;
          break;
        case 7:
          v[d] *= 1e-41F;
          break;
        case 8:
          v[d] *= 20000.0F;
          break;
        case 9:
          v[d] = d % 2 == 0 ? 1.0F : -1.0F;
          break;
        case 10:
          v[d] = std::abs(v[d]) * 1e-7F;
          break;
        default:
          break;
      }
    }
  }
  return x;
}

}  // namespace kvern::state
