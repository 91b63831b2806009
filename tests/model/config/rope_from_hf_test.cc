// One scaling in each spelling gives one configuration; spellings that disagree or are unknown give an error.
#include "model/config/rope_from_hf.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/support/hf_config.h"
#include "support/result_matchers.h"

namespace kvern::model {
namespace {

using compute::RopeScaling;
using test::HfConfig;

TEST(RopeFromHf, is_plain_without_keys_and_with_empty_ones) {
  for (const char* value : {"null", "{}", R"({"rope_type":"default"})"}) {
    ASSERT_OK_AND_ASSIGN(const ModelConfig c, HfConfig().set("rope_scaling", value).read());
    EXPECT_EQ(c.rope.scaling, RopeScaling::kNone);
    EXPECT_EQ(c.rope.rotary_dims, 16);
    EXPECT_EQ(c.rope.theta, 10000.0);
    EXPECT_EQ(c.rope.context, 512);
    EXPECT_EQ(c.rope.pairing, compute::RopePairing::kHalfSplit);
  }
}

TEST(RopeFromHf, reads_the_old_the_new_and_the_newest_spelling_alike) {
  const std::string rest =
      R"("factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":64)";
  const ModelConfig old_form = HfConfig()
                                   .set("rope_theta", "500000")
                                   .set("rope_scaling", R"({"type":"llama3",)" + rest + "}")
                                   .read()
                                   .value();
  const ModelConfig new_form = HfConfig()
                                   .set("rope_theta", "500000")
                                   .set("rope_scaling", R"({"rope_type":"llama3",)" + rest + "}")
                                   .read()
                                   .value();
  const ModelConfig newest =
      HfConfig()
          .set("rope_parameters", R"({"rope_type":"llama3","rope_theta":500000.0,)" + rest + "}")
          .read()
          .value();
  const ModelConfig nested =
      HfConfig()
          .set("rope_parameters",
               R"({"full_attention":{"rope_type":"llama3","rope_theta":500000.0,)" + rest + "}}")
          .read()
          .value();
  EXPECT_EQ(old_form.rope.scaling, RopeScaling::kLlama3);
  EXPECT_EQ(old_form.rope.factor, 8.0);
  EXPECT_EQ(old_form.rope.original_context, 64);
  EXPECT_EQ(old_form.rope.theta, 500000.0);
  for (const ModelConfig& other : {new_form, newest, nested})
    EXPECT_EQ(config_facts(other), config_facts(old_form));
}

TEST(RopeFromHf, reads_linear_and_dynamic) {
  ASSERT_OK_AND_ASSIGN(const ModelConfig linear,
                       HfConfig().set("rope_scaling", R"({"type":"linear","factor":4})").read());
  EXPECT_EQ(linear.rope.scaling, RopeScaling::kLinear);
  EXPECT_EQ(linear.context, 512);
  ASSERT_OK_AND_ASSIGN(const ModelConfig dynamic,
                       HfConfig().set("rope_scaling", R"({"type":"dynamic","factor":2.0})").read());
  EXPECT_EQ(dynamic.rope.scaling, RopeScaling::kDynamicNtk);
  EXPECT_EQ(dynamic.rope.original_context, 512);
  EXPECT_EQ(dynamic.context, 1024);
  EXPECT_EQ(dynamic.rope.context, 1024);
}

TEST(RopeFromHf, reads_yarn_and_derives_a_missing_factor) {
  ASSERT_OK_AND_ASSIGN(const ModelConfig c, HfConfig()
                                                .set("rope_scaling", R"({"rope_type":"yarn","factor":4.0,
      "original_max_position_embeddings":128,"beta_fast":16,"mscale":0.7,"truncate":false})")
                                                .read());
  EXPECT_EQ(c.rope.scaling, RopeScaling::kYarn);
  EXPECT_EQ(c.rope.beta_fast, 16.0);
  EXPECT_EQ(c.rope.beta_slow, 1.0);
  EXPECT_EQ(c.rope.mscale, 0.7);
  EXPECT_EQ(c.rope.mscale_all_dim, std::nullopt);
  EXPECT_FALSE(c.rope.truncate);
  ASSERT_OK_AND_ASSIGN(
      const ModelConfig derived,
      HfConfig().set("rope_scaling", R"({"rope_type":"yarn","original_max_position_embeddings":64})").read());
  EXPECT_EQ(derived.rope.factor, 8.0);
  // As the cards of Qwen tell users to extend the context: max_position_embeddings stays as it was.
  ASSERT_OK_AND_ASSIGN(
      const ModelConfig extended,
      HfConfig()
          .set("rope_scaling", R"({"type":"yarn","factor":4.0,"original_max_position_embeddings":512})")
          .read());
  EXPECT_EQ(extended.context, 2048);
  EXPECT_ERROR(HfConfig().set("rope_scaling", R"({"type":"yarn"})").read(), kCorrupt,
               "key 'rope_scaling.factor': is missing");
}

TEST(RopeFromHf, reads_longrope_under_all_its_names) {
  const std::string lists = R"("short_factor":[1,1,1,1,1,1,1,1.5],"long_factor":[2,2,2,2,2,2,2,3])";
  const auto read = [&](const std::string& type) {
    return HfConfig("Phi3ForCausalLM", "phi3")
        .set("original_max_position_embeddings", "128")
        .set("rope_scaling", "{\"type\":\"" + type + "\"," + lists + "}")
        .read();
  };
  ASSERT_OK_AND_ASSIGN(const ModelConfig c, read("longrope"));
  EXPECT_EQ(c.rope.scaling, RopeScaling::kLongRope);
  EXPECT_EQ(c.rope.factor, 4.0);
  EXPECT_EQ(c.rope.original_context, 128);
  EXPECT_EQ(c.rope.short_factors.back(), 1.5F);
  EXPECT_EQ(c.rope.long_factors.back(), 3.0F);
  EXPECT_EQ(config_facts(*read("su")), config_facts(c));
  EXPECT_EQ(config_facts(*read("yarn")), config_facts(c));
}

TEST(RopeFromHf, rotates_a_part_of_the_head) {
  EXPECT_EQ(HfConfig().set("partial_rotary_factor", "0.5").read()->rope.rotary_dims, 8);
  EXPECT_EQ(HfConfig()
                .set("rope_parameters", R"({"rope_type":"default","partial_rotary_factor":0.5})")
                .read()
                ->rope.rotary_dims,
            8);
  for (const char* factor : {"0", "-0.5", "1.5"})
    EXPECT_ERROR(HfConfig().set("partial_rotary_factor", factor).read(), kCorrupt,
                 "key 'partial_rotary_factor'");
}

struct Fault {
  const char* name;
  const char* scaling;
  ErrorCode code;
  const char* message;
};

class HostileRope : public testing::TestWithParam<Fault> {};

TEST_P(HostileRope, gives_an_error_that_names_the_key) {
  EXPECT_TRUE(kvern::test::is_error(HfConfig().set("rope_scaling", GetParam().scaling).read(),
                                    GetParam().code, GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Keys, HostileRope,
    testing::Values(
        Fault{"unknown_type", R"({"type":"magic","factor":2})", ErrorCode::kUnsupported,
              "key 'rope_scaling.rope_type': 'magic' is not known"},
        Fault{"no_type", R"({"factor":2})", ErrorCode::kCorrupt, "key 'rope_scaling.rope_type': is missing"},
        Fault{"two_types", R"({"type":"linear","rope_type":"yarn","factor":2})", ErrorCode::kCorrupt,
              "is 'yarn', but 'type' is 'linear'"},
        Fault{"no_factor", R"({"type":"linear"})", ErrorCode::kCorrupt,
              "key 'rope_scaling.factor': is missing"},
        Fault{"factor_0", R"({"type":"linear","factor":0})", ErrorCode::kCorrupt,
              "key 'rope_scaling.factor': is 0"},
        Fault{"factor_text", R"({"type":"linear","factor":"2"})", ErrorCode::kCorrupt,
              "key 'rope_scaling.factor': must be a finite number"},
        Fault{"unknown_key", R"({"type":"linear","factor":2,"mrope_section":[1]})", ErrorCode::kUnsupported,
              "key 'rope_scaling.mrope_section': is not known"},
        Fault{"llama3_without_context",
              R"({"type":"llama3","factor":2,"low_freq_factor":1,"high_freq_factor":4})", ErrorCode::kCorrupt,
              "key 'rope_scaling.original_max_position_embeddings': is missing"},
        Fault{"llama3_without_low",
              R"({"type":"llama3","factor":2,"high_freq_factor":4,"original_max_position_embeddings":64})",
              ErrorCode::kCorrupt, "key 'rope_scaling.low_freq_factor': is missing"},
        Fault{"context_negative", R"({"type":"yarn","factor":2,"original_max_position_embeddings":-1})",
              ErrorCode::kCorrupt, "is -1, no possible context"},
        Fault{"longrope_short_list", R"({"type":"longrope","short_factor":[1],"long_factor":[1]})",
              ErrorCode::kCorrupt, "key 'rope_scaling.short_factor': must be a list of 8 numbers"},
        Fault{"longrope_no_list", R"({"type":"longrope","factor":2})", ErrorCode::kCorrupt,
              "key 'rope_scaling.short_factor'"},
        Fault{"longrope_zero", R"({"type":"longrope","short_factor":[1,1,1,1,1,1,1,0],"long_factor":[1]})",
              ErrorCode::kCorrupt, "factors are positive"},
        Fault{"su_outside_phi3", R"({"type":"su","short_factor":[1],"long_factor":[1]})",
              ErrorCode::kUnsupported, "'su' is not known"},
        Fault{"a_number", "7", ErrorCode::kCorrupt, "key 'rope_scaling': must be an object"}),
    [](const testing::TestParamInfo<Fault>& info) { return std::string(info.param.name); });

TEST(RopeFromHf, refuses_values_in_two_places_that_disagree) {
  EXPECT_OK(
      HfConfig().set("rope_theta", "1000000").set("rope_parameters", R"({"rope_theta":1000000.0})").read());
  EXPECT_ERROR(
      HfConfig().set("rope_theta", "10000").set("rope_parameters", R"({"rope_theta":1000000.0})").read(),
      kCorrupt, "key 'rope_parameters.rope_theta': is 1000000, but key 'rope_theta' is 10000");
  EXPECT_ERROR(HfConfig()
                   .set("rope_scaling", R"({"type":"linear","factor":2})")
                   .set("rope_parameters", R"({"rope_type":"linear","factor":4})")
                   .read(),
               kCorrupt, "key 'rope_parameters': contradicts");
  EXPECT_ERROR(HfConfig()
                   .set("rope_parameters", R"({"full_attention":{},"sliding_attention":{"rope_theta":1.0}})")
                   .read(),
               kUnsupported, "sliding_attention");
}

}  // namespace
}  // namespace kvern::model
