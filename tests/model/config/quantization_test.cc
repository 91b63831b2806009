#include "model/config/quantization.h"

#include <string>

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::model {
namespace {

const std::string kPath = "config.json";

Result<std::optional<AffineQuantization>> read(const std::string& text) {
  const auto value = parse_json(text, kPath);
  if (!value) return std::unexpected(value.error());
  return read_quantization(value->get_object(), kPath);
}

TEST(Quantization, is_absent_where_no_key_is) {
  EXPECT_EQ(read("{}").value().has_value(), false);
  EXPECT_EQ(read(R"({"quantization":null})").value().has_value(), false);
}

TEST(Quantization, has_a_default_and_exceptions_by_module) {
  ASSERT_OK_AND_ASSIGN(const auto q, read(R"({"quantization":{"group_size":64,"bits":4,
      "model.layers.0.mlp.down_proj":{"bits":8},"model.layers.1.mlp.down_proj":{"group_size":32,"bits":8},
      "lm_head":false,"model.embed_tokens":true}})"));
  ASSERT_TRUE(q.has_value());
  EXPECT_EQ(q->format_of("model.layers.5.mlp.up_proj"), (AffineFormat{4, 64}));
  EXPECT_EQ(q->format_of("model.layers.0.mlp.down_proj"), (AffineFormat{8, 64}));
  EXPECT_EQ(q->format_of("model.layers.1.mlp.down_proj"), (AffineFormat{8, 32}));
  EXPECT_EQ(q->format_of("lm_head"), std::nullopt);
  EXPECT_EQ(q->format_of("model.embed_tokens"), (AffineFormat{4, 64}));
}

TEST(Quantization, may_stand_under_both_keys_if_they_agree) {
  EXPECT_OK(read(
      R"({"quantization":{"group_size":64,"bits":4},"quantization_config":{"group_size":64,"bits":4}})"));
  EXPECT_ERROR(
      read(R"({"quantization":{"group_size":64,"bits":4},"quantization_config":{"group_size":64,"bits":8}})"),
      kCorrupt, "key 'quantization_config': contradicts");
}

TEST(Quantization, of_another_kind_is_named) {
  EXPECT_ERROR(read(R"({"quantization_config":{"quant_method":"gptq","bits":4,"group_size":128}})"),
               kUnsupported, "key 'quantization_config.quant_method': 'gptq' is not supported");
  EXPECT_ERROR(read(R"({"quantization":{"group_size":32,"bits":4,"mode":"mxfp4"}})"), kUnsupported,
               "'mxfp4'");
  EXPECT_ERROR(read(R"({"quantization":{"group_size":64,"bits":3}})"), kUnsupported,
               "3 bits are not supported");
  EXPECT_ERROR(read(R"({"quantization":{"group_size":48,"bits":4}})"), kUnsupported, "groups of 48");
  EXPECT_ERROR(read(R"({"quantization":{"bits":4}})"), kCorrupt, "key 'quantization.group_size': is missing");
  EXPECT_ERROR(read(R"({"quantization":{"group_size":64}})"), kCorrupt,
               "key 'quantization.bits': is missing");
  EXPECT_ERROR(read(R"({"quantization":{"group_size":64,"bits":4,"lm_head":3}})"), kCorrupt,
               "key 'quantization.lm_head': must be true, false or an object");
  EXPECT_ERROR(read(R"({"quantization":{"group_size":64,"bits":4,"lm_head":{"bits":2}}})"), kUnsupported,
               "key 'quantization.lm_head.bits': 2 bits");
  EXPECT_ERROR(read(R"({"quantization":7})"), kCorrupt, "key 'quantization': must be an object");
}

}  // namespace
}  // namespace kvern::model
