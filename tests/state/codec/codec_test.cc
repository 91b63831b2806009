// What every registered codec must do on every instruction set: the bits of the scalar definition for
// storing, reading, scores and sums, wherever runs begin and end; not one byte beyond its records; and
// nothing that was never written can pass unseen.
#include "state/codec/codec.h"

#include <limits>

#include "state/codec/registry.h"
#include "state/codec/stored_vectors.h"

namespace kvern::state {
namespace {

using test::normal_floats;
using test::supported_targets;

struct Case {
  const Codec& codec;
  const CodecKernels& kernels;
  VectorShape shape;
  int64_t width;
};

template <typename F>
void for_cases(std::initializer_list<int64_t> dims, const F& f) {
  for (const Codec* codec : all_codecs()) {
    for (const compute::CpuTarget target : supported_targets()) {
      for (const int64_t dim : dims) {
        if (!codec->takes(*codec, dim)) continue;
        SCOPED_TRACE(testing::Message()
                     << codec->name << " on " << compute::to_string(target) << ", head size " << dim);
        f(Case{*codec, codec->kernels(target), codec->shape(dim), padded(dim)});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}
constexpr std::initializer_list<int64_t> kDims = {1, 20, 32, 64, 80, 96, 128, 192, 256};

/// `count` vectors encoded by the reference.
struct Reference {
  Reference(const Codec& codec, const std::vector<float>& x, int64_t dim) {
    for (size_t at = 0; at < x.size(); at += static_cast<size_t>(dim)) {
      vectors.push_back(reference::encode(codec, {x.data() + at, static_cast<size_t>(dim)}));
    }
  }
  void write_to(const Stored& stored) const {
    for (size_t i = 0; i < vectors.size(); ++i) stored.write(static_cast<int64_t>(i), vectors[i]);
  }
  std::vector<reference::StoredVector> vectors;
};

/// Random numbers [count, padded(dim)], zero beyond dim.
std::vector<float> padded_rows(int64_t count, int64_t dim, unsigned seed) {
  std::vector<float> x = normal_floats(count * padded(dim), 1.0F, seed);
  for (size_t i = 0; i < x.size(); ++i) {
    if (static_cast<int64_t>(i) % padded(dim) >= dim) x[i] = 0.0F;
  }
  return x;
}

TEST(Codec, StoresTheBytesOfTheDefinitionAndNothingBeyond) {
  for_cases(kDims, [](const Case& c) {
    constexpr int64_t kCount = 24;
    const int64_t dim = c.shape.dim;
    const int64_t stride = dim + 3;
    const std::vector<float> vectors = awkward_vectors(kCount, dim, 3);
    std::vector<float> strided(static_cast<size_t>(kCount * stride), 1e30F);
    for (int64_t i = 0; i < kCount; ++i)
      std::copy_n(&vectors[static_cast<size_t>(i * dim)], dim, &strided[static_cast<size_t>(i * stride)]);
    const Stored stored(c.codec, kCount, dim);
    c.kernels.encode({strided.data(), stride, c.shape}, stored.run);
    EXPECT_TRUE(stored.guards_stand());
    const Reference reference(c.codec, vectors, dim);
    for (int64_t i = 0; i < kCount; ++i) {
      ASSERT_TRUE(stored.equals(i, reference.vectors[static_cast<size_t>(i)])) << "vector " << i;
    }
  });
}

TEST(Codec, ReadsBackTheNumbersOfTheDefinitionZeroExtended) {
  for_cases(kDims, [](const Case& c) {
    constexpr int64_t kCount = 13;
    const int64_t dim = c.shape.dim;
    const Reference reference(c.codec, awkward_vectors(kCount, dim, 4), dim);
    const Stored stored(c.codec, kCount, dim);
    reference.write_to(stored);
    std::vector<float> out(static_cast<size_t>(kCount * c.width) + 1, -1.0F);
    c.kernels.decode(c.shape, stored.run, out.data());
    EXPECT_EQ(out.back(), -1.0F);
    for (int64_t i = 0; i < kCount; ++i) {
      const std::vector<float> want =
          reference::decode(c.codec, reference.vectors[static_cast<size_t>(i)], dim);
      for (int64_t d = 0; d < c.width; ++d) {
        const float number = out[static_cast<size_t>(i * c.width + d)];
        ASSERT_TRUE(same(number, d < dim ? want[static_cast<size_t>(d)] : 0.0F))
            << "vector " << i << ", number " << d << ": " << number;
      }
    }
  });
}

/// Everything that attention reads, from runs cut at `cuts`.
struct ReadResult {
  std::vector<float> scores;
  std::vector<float> sums;
};
struct ReadInput {
  std::vector<float> queries;
  std::vector<float> weights;
  std::vector<float> sums;
  int64_t count;
  int64_t stride;
};
ReadInput make_input(int64_t queries, int64_t vectors, int64_t dim) {
  ReadInput in{padded_rows(queries, dim, 5), normal_floats(queries * (vectors + 2), 0.1F, 6),
               padded_rows(queries, dim, 7), queries, vectors + 2};
  for (float& weight : in.weights) weight = std::abs(weight);
  // A query of zeros, a tiny one, and weights that are zero.
  if (queries > 2) {
    std::fill_n(&in.queries[static_cast<size_t>(padded(dim))], padded(dim), 0.0F);
    for (int64_t d = 0; d < padded(dim); ++d) in.queries[static_cast<size_t>(2 * padded(dim) + d)] *= 1e-38F;
    std::fill_n(&in.weights[static_cast<size_t>(in.stride)], in.stride, 0.0F);
  }
  return in;
}

ReadResult read(const CodecKernels& kernels, const VectorShape& shape, const ReadInput& in,
                const std::vector<EncodedRun>& runs) {
  ReadResult out{std::vector<float>(static_cast<size_t>(in.count * in.stride), 99.0F), in.sums};
  AlignedBytes queries = prepared(kernels, shape, in.queries, in.count);
  kernels.scores({queries.data(), in.count, shape, out.scores.data(), in.stride, runs}, runs);
  kernels.accumulate({in.weights.data(), in.stride, in.count, shape, out.sums.data(), runs}, runs);
  return out;
}

void expect_definition(const Case& c, const ReadInput& in, const Reference& reference,
                       const ReadResult& got) {
  const auto count = static_cast<int64_t>(reference.vectors.size());
  const auto dim = static_cast<size_t>(c.shape.dim);
  std::vector<const reference::StoredVector*> all;
  for (const auto& vector : reference.vectors) all.push_back(&vector);
  for (int64_t q = 0; q < in.count; ++q) {
    for (int64_t i = 0; i < count; ++i) {
      const float want =
          reference::score(c.codec, {in.queries.data() + q * c.width, dim}, *all[static_cast<size_t>(i)]);
      ASSERT_TRUE(same(got.scores[static_cast<size_t>(q * in.stride + i)], want))
          << "query " << q << ", vector " << i;
    }
    ASSERT_EQ(got.scores[static_cast<size_t>(q * in.stride + count)], 99.0F) << "written beyond the vectors";
    std::vector<float> sums(in.sums.begin() + q * c.width, in.sums.begin() + q * c.width + c.shape.dim);
    reference::accumulate(c.codec, {in.weights.data() + q * in.stride, static_cast<size_t>(count)}, all,
                          sums);
    for (size_t d = 0; d < dim; ++d) {
      const float number = got.sums[static_cast<size_t>(q * c.width) + d];
      ASSERT_TRUE(same(number, sums[d]))
          << "query " << q << ", number " << d << ": " << number << ", not " << sums[d];
    }
  }
}

TEST(Codec, ScoresAndSumsHaveTheBitsOfTheDefinitionForAnyCounts) {
  for_cases({20, 32, 64, 96, 128, 256}, [](const Case& c) {
    for (const int64_t count : {1, 3, 16, 37, 64}) {
      const Reference reference(c.codec, awkward_vectors(count, c.shape.dim, 8), c.shape.dim);
      const Stored stored(c.codec, count, c.shape.dim);
      reference.write_to(stored);
      for (const int64_t queries : {1, 3, 7}) {
        const ReadInput in = make_input(queries, count, c.shape.dim);
        expect_definition(c, in, reference, read(c.kernels, c.shape, in, {stored.run}));
      }
    }
  });
}

TEST(Codec, ScoresAndSumsDoNotShowWhereRunsBeginAndEnd) {
  for_cases({64, 128}, [](const Case& c) {
    constexpr int64_t kCount = 61;
    const Reference reference(c.codec, normal_floats(kCount * c.shape.dim, 2.0F, 9), c.shape.dim);
    const Stored stored(c.codec, kCount, c.shape.dim);
    reference.write_to(stored);
    const ReadInput in = make_input(5, kCount, c.shape.dim);
    const ReadResult whole = read(c.kernels, c.shape, in, {stored.run});
    for (const int64_t length : {1, 7, 16, 33}) {
      std::vector<EncodedRun> runs;
      for (int64_t first = 0; first < kCount; first += length) {
        runs.push_back(stored.part(first, std::min(length, kCount - first)));
        runs.push_back({.planes = runs.back().planes, .count = 0});
      }
      const ReadResult cut = read(c.kernels, c.shape, in, runs);
      EXPECT_EQ(cut.scores, whole.scores);
      EXPECT_EQ(cut.sums, whole.sums);
    }
  });
}

TEST(Codec, ScoresOfMoreVectorsThanATileAreTheSame) {
  for_cases({64}, [](const Case& c) {
    constexpr int64_t kCount = 150;
    const Reference reference(c.codec, normal_floats(kCount * c.shape.dim, 2.0F, 10), c.shape.dim);
    const Stored stored(c.codec, kCount, c.shape.dim);
    reference.write_to(stored);
    std::vector<float> q = padded_rows(2, c.shape.dim, 11);
    AlignedBytes queries = prepared(c.kernels, c.shape, q, 2);
    std::vector<float> scores(2 * kCount);
    const EncodedRun run = stored.run;
    c.kernels.scores({queries.data(), 2, c.shape, scores.data(), kCount, {}}, {&run, 1});
    for (int64_t i = 0; i < kCount; ++i) {
      const float want = reference::score(c.codec, {q.data() + c.width, static_cast<size_t>(c.shape.dim)},
                                          reference.vectors[static_cast<size_t>(i)]);
      ASSERT_TRUE(same(scores[static_cast<size_t>(kCount + i)], want));
    }
  });
}

TEST(Codec, AnUnpackedTileGivesTheSameBits) {
  for_cases({64, 96, 128, 256}, [](const Case& c) {
    if (c.codec.unpacked == nullptr) return;
    const Codec& form = *c.codec.unpacked;
    for (const int64_t count : {1, 37, 64}) {
      const Reference reference(c.codec, awkward_vectors(count, c.shape.dim, 12), c.shape.dim);
      const Stored stored(c.codec, count, c.shape.dim);
      reference.write_to(stored);
      const Stored unpacked(form, count, c.shape.dim);
      const int64_t first = count / 3;
      c.kernels.unpack(c.shape, stored.part(0, first), unpacked.part(0, first));
      c.kernels.unpack(c.shape, stored.part(first, count - first), unpacked.part(first, count - first));
      EXPECT_TRUE(unpacked.guards_stand());
      for (const compute::CpuTarget target : supported_targets()) {
        if (&c.codec.kernels(target) != &c.kernels) continue;
        const CodecKernels& kernels = form.kernels(target);
        ASSERT_EQ(kernels.query_bytes(c.shape), c.kernels.query_bytes(c.shape));
        for (const int64_t queries : {2, 9, 33}) {
          const ReadInput in = make_input(queries, count, c.shape.dim);
          const ReadResult want = read(c.kernels, c.shape, in, {stored.run});
          const ReadResult got = read(kernels, form.shape(c.shape.dim), in, {unpacked.run});
          for (size_t i = 0; i < want.scores.size(); ++i) ASSERT_TRUE(same(got.scores[i], want.scores[i]));
          for (size_t i = 0; i < want.sums.size(); ++i) ASSERT_TRUE(same(got.sums[i], want.sums[i]));
        }
      }
    }
  });
}

TEST(Codec, StorageThatWasNeverWrittenReadsAsNaN) {
  for_cases({64, 128}, [](const Case& c) {
    constexpr int64_t kCount = 20;
    const Reference reference(c.codec, normal_floats(kCount * c.shape.dim, 1.0F, 13), c.shape.dim);
    const Stored stored(c.codec, kCount, c.shape.dim);
    for (int64_t i = 0; i < kCount; ++i) {
      if (i != 11) stored.write(i, reference.vectors[static_cast<size_t>(i)]);
    }
    const ReadInput in = make_input(5, kCount, c.shape.dim);
    const ReadResult got = read(c.kernels, c.shape, in, {stored.run});
    for (int64_t q = 0; q < in.count; ++q) {
      for (int64_t i = 0; i < kCount; ++i) {
        EXPECT_EQ(std::isnan(got.scores[static_cast<size_t>(q * in.stride + i)]), i == 11) << q << " " << i;
      }
      for (int64_t d = 0; d < c.shape.dim; ++d) {
        ASSERT_TRUE(std::isnan(got.sums[static_cast<size_t>(q * c.width + d)])) << q << " " << d;
      }
    }
  });
}

TEST(Codec, WhatIsNotFiniteStaysVisible) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for_cases({64, 128}, [&](const Case& c) {
      if (c.codec.kind == CodecKind::kFp8 && std::isinf(bad)) return;  // becomes 448
      std::vector<float> x = normal_floats(3 * c.shape.dim, 1.0F, 14);
      x[static_cast<size_t>(c.shape.dim) + 40] = bad;
      const Reference reference(c.codec, x, c.shape.dim);
      const Stored stored(c.codec, 3, c.shape.dim);
      c.kernels.encode({x.data(), c.shape.dim, c.shape}, stored.run);
      for (int64_t i = 0; i < 3; ++i)
        ASSERT_TRUE(stored.equals(i, reference.vectors[static_cast<size_t>(i)]));
      std::vector<float> out(static_cast<size_t>(3 * c.width));
      c.kernels.decode(c.shape, stored.run, out.data());
      EXPECT_FALSE(std::isfinite(out[static_cast<size_t>(c.width) + 40]));
      EXPECT_TRUE(std::isfinite(out[40]));

      // A query and weights with it.
      ReadInput in = make_input(2, 3, c.shape.dim);
      in.queries[static_cast<size_t>(c.width) + 3] = bad;
      const ReadResult got = read(c.kernels, c.shape, in, {stored.part(0, 1)});
      EXPECT_TRUE(std::isfinite(got.scores[0]));
      EXPECT_FALSE(std::isfinite(got.scores[static_cast<size_t>(in.stride)]));
      in.weights[0] = bad;
      const ReadResult weighted = read(c.kernels, c.shape, in, {stored.part(0, 1)});
      EXPECT_FALSE(std::isfinite(weighted.sums[0]));
      EXPECT_TRUE(std::isfinite(weighted.sums[static_cast<size_t>(c.width)]));
    });
  }
}

TEST(Codec, RefusesHeadsThatItsGroupsDoNotFit) {
  for (const Codec* codec : all_codecs()) {
    const bool grouped = codec->group != 0;
    EXPECT_EQ(codec->takes(*codec, 8), !grouped) << codec->name;
    const bool takes_96 = !grouped || (codec->kind == CodecKind::kAffine && codec->group == 32);
    EXPECT_EQ(codec->takes(*codec, 96), takes_96) << codec->name;
    EXPECT_TRUE(codec->takes(*codec, 128)) << codec->name;
  }
}

}  // namespace
}  // namespace kvern::state
