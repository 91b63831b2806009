// The affine codecs on numbers worked by hand; codec_test.cc compares them with the reference on many more.
#include "state/codec/affine/affine.h"

#include <numeric>

#include "state/codec/registry.h"
#include "state/codec/stored_vectors.h"

namespace kvern::state {
namespace {

const Codec& affine(int bits, int64_t group) { return *find_codec(CodecKind::kAffine, bits, group); }

/// One group of 32 numbers, encoded on every target.
struct Group {
  std::vector<int> codes;
  float scale;
  float bias;
  std::vector<float> decoded;
};
Group encode_group(int bits, std::vector<float> x) {
  x.resize(32, x.back());
  const Codec& codec = affine(bits, 32);
  Group out;
  for (const compute::CpuTarget target : test::supported_targets()) {
    const Stored stored(codec, 1, 32);
    codec.kernels(target).encode({x.data(), 32, codec.shape(32)}, stored.run);
    EXPECT_TRUE(stored.equals(0, reference::encode(codec, x)));
    out.codes.clear();
    for (size_t i = 0; i < 32; ++i) {
      int code = 0;
      for (int b = 0; b < bits; ++b) {
        const size_t at = i * static_cast<size_t>(bits) + static_cast<size_t>(b);
        code |= (std::to_integer<int>(stored.run.planes[0][at / 8]) >> at % 8 & 1) << b;
      }
      out.codes.push_back(code);
    }
    uint16_t halves[2];
    std::memcpy(&halves[0], stored.run.planes[1], 2);
    std::memcpy(&halves[1], stored.run.planes[2], 2);
    out.scale = reference::half_number(halves[0]);
    out.bias = reference::half_number(halves[1]);
    out.decoded.resize(32);
    codec.kernels(target).decode(codec.shape(32), stored.run, out.decoded.data());
  }
  return out;
}

TEST(AffineCodec, MeetsTheEdgeOfLargerMagnitudeExactly) {
  std::vector<float> x(16);
  std::iota(x.begin(), x.end(), -8.0F);  // -8 … 7
  const Group low = encode_group(4, x);
  EXPECT_EQ(low.scale, 1.0F);
  EXPECT_EQ(low.bias, -8.0F);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(low.codes[static_cast<size_t>(i)], i);

  for (float& v : x) v = -v;  // 8 … -7: the upper edge is the larger one, and the scale is negative
  const Group high = encode_group(4, x);
  EXPECT_EQ(high.scale, -1.0F);
  EXPECT_EQ(high.bias, 8.0F);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(high.codes[static_cast<size_t>(i)], i);
}

TEST(AffineCodec, TakesZeroForTheMaximumOfNegativeGroups) {
  std::vector<float> x(15);
  std::iota(x.begin(), x.end(), -15.0F);  // -15 … -1
  const Group group = encode_group(4, x);
  EXPECT_EQ(group.scale, 1.0F) << "15 steps from -15 to 0";
  EXPECT_EQ(group.bias, -15.0F);
  EXPECT_EQ(group.codes[14], 14) << "code 15 stands for 0, which does not occur";
}

TEST(AffineCodec, RoundsHalvesAwayFromZero) {
  const Group group = encode_group(4, {-8.0F, 7.0F, -7.5F, -5.5F, 0.5F, 6.5F, -8.0F});
  EXPECT_EQ((std::vector<int>(group.codes.begin(), group.codes.begin() + 6)),
            (std::vector<int>{0, 15, 1, 3, 9, 15}));
}

TEST(AffineCodec, StoresZerosAndConstantsExactly) {
  const Group zeros = encode_group(8, {0.0F});
  EXPECT_EQ(zeros.bias, 0.0F);
  EXPECT_LT(zeros.scale, 0.0F) << "the smallest step, negative since the upper edge counts";
  EXPECT_EQ(zeros.codes, std::vector<int>(32, 0));
  EXPECT_EQ(zeros.decoded, std::vector<float>(32, 0.0F));
  for (const float constant : {5.0F, -5.0F, 1e-3F, 60000.0F}) {
    const float stored = reference::half_number(reference::half_bits(constant));
    EXPECT_EQ(encode_group(4, {constant}).decoded, std::vector<float>(32, stored));
  }
}

TEST(AffineCodec, TakesTheBytesOfTheFormula) {
  for (const Codec& codec : affine_codecs()) {
    for (const int64_t dim : {64, 96, 128, 256}) {
      if (!codec.takes(codec, dim)) continue;
      size_t bytes = 0;
      for (int p = 0; p < codec.planes; ++p) bytes += codec.record_bytes(codec, p, dim);
      EXPECT_EQ(8 * static_cast<int64_t>(bytes), dim * codec.bits + 32 * dim / codec.group) << codec.name;
    }
  }
  EXPECT_EQ(affine(8, 64).record_bytes(affine(8, 64), 0, 128), 128U);
  EXPECT_EQ(affine(3, 32).record_bytes(affine(3, 32), 0, 64), 24U);
}

}  // namespace
}  // namespace kvern::state
