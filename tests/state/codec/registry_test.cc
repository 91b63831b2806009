#include "state/codec/registry.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kvern::state {
namespace {

TEST(CodecRegistry, NamesEachCodecForever) {
  // Names are part of the identity of saved state: this list only grows.
  const std::vector<std::string_view> names = {
      "f32",      "f16",      "bf16",     "fp8",      "q8g32",    "q8g64",    "q8g128",   "q6g32",
      "q6g64",    "q6g128",   "q5g32",    "q5g64",    "q5g128",   "q4g32",    "q4g64",    "q4g128",
      "q3g32",    "q3g64",    "q3g128",   "q2g32",    "q2g64",    "q2g128",   "turbo-k8", "turbo-k5",
      "turbo-k4", "turbo-k2", "turbo-v8", "turbo-v5", "turbo-v4", "turbo-v3", "turbo-v2"};
  std::vector<std::string_view> present;
  for (const Codec* codec : all_codecs()) present.push_back(codec->name);
  EXPECT_EQ(present, names);
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
}

TEST(CodecRegistry, FindsEachCodecByWhatItIs) {
  for (const Codec* codec : all_codecs()) {
    EXPECT_EQ(find_codec(codec->kind, codec->bits, codec->group), codec) << codec->name;
    EXPECT_GE(codec->planes, 1);
    EXPECT_LE(codec->planes, kMaxPlanes);
    if (codec->kind == CodecKind::kAffine) {
      EXPECT_EQ(codec->name, "q" + std::to_string(codec->bits) + "g" + std::to_string(codec->group));
    }
  }
  EXPECT_EQ(find_codec(CodecKind::kAffine, 7, 64), nullptr);
  EXPECT_EQ(find_codec(CodecKind::kAffine, 4, 16), nullptr);
  EXPECT_EQ(find_codec(CodecKind::kTurboKey, 3, 32), nullptr) << "keys have no 3 bits";
}

}  // namespace
}  // namespace kvern::state
