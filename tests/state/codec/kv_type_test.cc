#include "state/codec/kv_type.h"

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::state {
namespace {

TEST(KvType, ReadsWhatItWrites) {
  std::vector<std::string> texts = {"f32", "f16", "bf16", "fp8"};
  std::vector<std::string> keys;
  std::vector<std::string> values;
  for (const char kind : {'q', 'h'}) {
    for (const char bits : {'8', '6', '5', '4', '3', '2'}) {
      for (const char* group : {"", "g32", "g64", "g128"}) texts.push_back(std::string{kind, bits} + group);
    }
  }
  for (const char* k : {"8", "5", "4", "2"}) {
    for (const char* v : {"8", "5", "4", "3", "2"}) texts.push_back(std::string("turbo:k") + k + "v" + v);
  }
  texts.insert(texts.end(), {"k=h8,v=f16", "k=f32,v=q4g32", "k=turbo8,v=f16", "k=q8,v=turbo3", "k=q8,v=h8"});
  for (const std::string& text : texts) {
    ASSERT_OK_AND_ASSIGN(const KvTypes types, parse_kv_types(text));
    EXPECT_EQ(to_string(types), text);
  }
}

TEST(KvType, TakesTheSidesInAnyOrderAndWritesThemShort) {
  ASSERT_OK_AND_ASSIGN(const KvTypes swapped, parse_kv_types("v=q4,k=h8"));
  EXPECT_EQ(to_string(swapped), "k=h8,v=q4");
  ASSERT_OK_AND_ASSIGN(const KvTypes same, parse_kv_types("k=q8,v=q8"));
  EXPECT_EQ(to_string(same), "q8");
  ASSERT_OK_AND_ASSIGN(const KvTypes turbo, parse_kv_types("k=turbo8,v=turbo3"));
  EXPECT_EQ(to_string(turbo), "turbo:k8v3");
}

TEST(KvType, KnowsWhatTheNamesMean) {
  ASSERT_OK_AND_ASSIGN(const KvTypes h, parse_kv_types("h4g32"));
  EXPECT_EQ(h.k,
            (KvType{.kind = CodecKind::kAffine, .bits = 4, .group = 32, .rotation = Rotation::kHadamard}));
  EXPECT_EQ(h.k, h.v);
  ASSERT_OK_AND_ASSIGN(const KvTypes turbo, parse_kv_types("turbo:k8v3"));
  EXPECT_EQ(turbo.k, (KvType{.kind = CodecKind::kTurboKey, .bits = 8})) << "keys are not rotated";
  EXPECT_EQ(turbo.v,
            (KvType{.kind = CodecKind::kTurboValue, .bits = 3, .rotation = Rotation::kSignedHadamard}));
}

TEST(KvType, NamesTheAlternativesOfWhatItDoesNotKnow) {
  for (const char* text :
       {"", "q7", "q4g16", "q4g", "q4 ", "Q4", "q44", "f64", "turbo", "turbo8", "turbo:k3v3", "turbo:k8v6",
        "turbo:", "turbo:k8v3x", "h", "q4g99999999999999999999", "q4g+32"}) {
    EXPECT_ERROR(parse_kv_types(text), kInvalidArgument, "f32, f16, bf16, fp8, q8");
    EXPECT_ERROR(parse_kv_types(text), kInvalidArgument, "turbo:k8v3");
  }
  EXPECT_ERROR(parse_kv_types("k=turbo3,v=f16"), kInvalidArgument, "turbo8, turbo5, turbo4, turbo2 for keys");
  EXPECT_ERROR(parse_kv_types("k=f16,v=turbo6"), kInvalidArgument, "turbo8, turbo5, turbo4, turbo3, turbo2");
  EXPECT_ERROR(parse_kv_types("k=q9,v=f16"), kInvalidArgument, "q9: no such type");
  for (const char* text : {"k=f16", "v=f16", "k=f16,k=f16", "f16,v=q8", "k=f16,v=q8,k=q8", "=", "k=,v="}) {
    EXPECT_FALSE(parse_kv_types(text)) << text;
  }
  EXPECT_ERROR(parse_kv_types("k=f16"), kInvalidArgument, "k=TYPE,v=TYPE");
}

KvType type(std::string_view text) { return parse_kv_types(text)->k; }

TEST(KvType, ChoosesTheGroupThatFitsTheHead) {
  const auto name = [](std::string_view text, int64_t dim) { return resolve(type(text), dim)->codec->name; };
  EXPECT_EQ(name("q4", 128), "q4g64");
  EXPECT_EQ(name("q4", 96), "q4g32");
  EXPECT_EQ(name("h8", 192), "q8g64");
  EXPECT_EQ(resolve(type("h8"), 192)->rotation, Rotation::kHadamard);
  EXPECT_EQ(name("q4g128", 256), "q4g128");
  EXPECT_EQ(name("f16", 7), "f16");
  ASSERT_OK_AND_ASSIGN(const KvTypes turbo, parse_kv_types("turbo:k4v5"));
  EXPECT_EQ(resolve(turbo.k, 64)->codec->name, "turbo-k4");
  EXPECT_EQ(resolve(turbo.v, 64)->codec->name, "turbo-v5");
  EXPECT_EQ(resolve(turbo.v, 64)->rotation, Rotation::kSignedHadamard);
}

TEST(KvType, SaysWhatAHeadCanBeStoredAsInstead) {
  EXPECT_ERROR(resolve(type("q4g64"), 96), kInvalidArgument, "q4g64: heads of 96 numbers");
  EXPECT_ERROR(resolve(type("q4g64"), 96), kInvalidArgument, "what can: q4g32");
  EXPECT_ERROR(resolve(type("h8"), 80), kInvalidArgument, "what can: f32, f16, bf16, fp8");
  EXPECT_ERROR(resolve(type("q8"), 8), kInvalidArgument, "what can: f32, f16, bf16, fp8");
  EXPECT_ERROR(resolve(parse_kv_types("turbo:k8v3")->v, 96), kInvalidArgument, "q8 to q2, h8 to h2");
  EXPECT_ERROR(resolve(type("q8"), 2048), kInvalidArgument, "what can: f32, f16, bf16, fp8");
}

}  // namespace
}  // namespace kvern::state
