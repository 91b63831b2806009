// What every registered codec must do: round trip, exact kernels, and not one byte beyond its records.
#include "state/codec/codec.h"

#include <cstring>

#include <gtest/gtest.h>

#include "state/codec/registry.h"
#include "support/every_target.h"
#include "support/reference/kv_reference.h"

namespace kvern::state {
namespace {

using test::normal_floats;
using test::supported_targets;

constexpr std::byte kGuard{0xa5};

/// Encoded vectors with a guard behind each plane.
struct Encoded {
  Encoded(const Codec& codec, int64_t count, int64_t dim) {
    run.count = count;
    for (int p = 0; p < codec.planes; ++p) {
      const auto plane = static_cast<size_t>(p);
      planes[plane].assign(static_cast<size_t>(count) * codec.record_bytes(p, dim) + 64, kGuard);
      run.planes[plane] = planes[plane].data();
    }
  }
  bool guards_stand() const {
    for (const auto& plane : planes) {
      for (size_t i = plane.size() - std::min<size_t>(plane.size(), 64); i < plane.size(); ++i) {
        if (plane[i] != kGuard) return false;
      }
    }
    return true;
  }
  std::array<std::vector<std::byte>, kMaxPlanes> planes;
  EncodedRun run;
};

struct Case {
  const Codec* codec;
  const CodecKernels* kernels;
  int64_t dim;
};

template <typename F>
void for_cases(const F& f) {
  for (const Codec* codec : all_codecs()) {
    for (const compute::CpuTarget target : supported_targets()) {
      for (const int64_t dim : {1, 16, 20, 64, 80, 128, 160}) {
        SCOPED_TRACE(testing::Message()
                     << codec->name << " on " << compute::to_string(target) << ", head size " << dim);
        f(Case{codec, &codec->kernels(target), dim});
      }
    }
  }
}

TEST(Codec, DecodesWhatItEncodedRoundedAndZeroExtended) {
  for_cases([](const Case& c) {
    constexpr int64_t kCount = 9;
    const int64_t stride = c.dim + 3;
    const auto vectors = normal_floats(kCount * stride, 100.0F);
    const Encoded encoded(*c.codec, kCount, c.dim);
    c.kernels->encode({vectors.data(), stride, c.dim}, encoded.run);
    EXPECT_TRUE(encoded.guards_stand());
    std::vector<float> decoded(static_cast<size_t>(kCount * padded(c.dim)), -1.0F);
    c.kernels->decode(encoded.run, c.dim, decoded.data());
    for (int64_t i = 0; i < kCount; ++i) {
      for (int64_t d = 0; d < padded(c.dim); ++d) {
        const float x = d < c.dim ? vectors[static_cast<size_t>(i * stride + d)] : 0.0F;
        ASSERT_EQ(decoded[static_cast<size_t>(i * padded(c.dim) + d)], reference::rounded_by(c.codec->id, x));
      }
    }
  });
}

TEST(Codec, ScoresAndSumsFollowTheReferenceBitForBitForAnyCounts) {
  for_cases([](const Case& c) {
    const int64_t width = padded(c.dim);
    for (const int64_t count : {1, 3, 16, 37}) {
      const auto vectors = normal_floats(count * c.dim);
      const Encoded encoded(*c.codec, count, c.dim);
      c.kernels->encode({vectors.data(), c.dim, c.dim}, encoded.run);
      std::vector<float> stored(static_cast<size_t>(count * width));
      c.kernels->decode(encoded.run, c.dim, stored.data());
      for (const int64_t queries : {1, 2, 3, 4, 7, 9}) {
        std::vector<float> q = normal_floats(queries * width, 1.0F, 5);
        for (int64_t i = 0; i < queries * width; ++i) {
          if (i % width >= c.dim) q[static_cast<size_t>(i)] = 0.0F;
        }
        const int64_t stride = count + 2;
        std::vector<float> scores(static_cast<size_t>(queries * stride), 99.0F);
        c.kernels->scores({q.data(), queries, c.dim, scores.data(), stride}, encoded.run);
        const auto weights = normal_floats(queries * stride, 1.0F, 6);
        std::vector<float> sums = normal_floats(queries * width, 1.0F, 7);
        std::vector<float> want_sums = sums;
        c.kernels->accumulate({weights.data(), stride, queries, c.dim, sums.data()}, encoded.run);
        for (int64_t i = 0; i < queries; ++i) {
          for (int64_t j = 0; j < count; ++j) {
            const auto at = static_cast<size_t>(i * stride + j);
            const auto n = static_cast<size_t>(width);
            ASSERT_EQ(scores[at],
                      reference::lanes_dot({q.data() + i * width, n}, {stored.data() + j * width, n}));
            for (int64_t d = 0; d < width; ++d) {
              float& sum = want_sums[static_cast<size_t>(i * width + d)];
              sum = std::fmaf(weights[at], stored[static_cast<size_t>(j * width + d)], sum);
            }
          }
          EXPECT_EQ(scores[static_cast<size_t>(i * stride + count)], 99.0F) << "written beyond the run";
        }
        ASSERT_EQ(std::memcmp(sums.data(), want_sums.data(), sums.size() * sizeof(float)), 0);
      }
    }
  });
}

}  // namespace
}  // namespace kvern::state
