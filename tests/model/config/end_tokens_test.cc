// The set of end tokens is a union: no file's value replaces another's.
#include "model/config/end_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "model/gguf/gguf_reader.h"
#include "model/support/tiny_gguf.h"
#include "support/result_matchers.h"

namespace kvern::model {
namespace {

using testing::ElementsAre;

Result<std::vector<int32_t>> from_gguf(const test::TinyGguf& model) {
  const auto files = make_memory_files();
  KVERN_TRY_STATUS(model.write(*files, "m.gguf"));
  KVERN_TRY(const auto file, GgufFile::open(*files, "m.gguf"));
  return end_tokens_from_gguf(file->metadata());
}

TEST(EndTokens, of_gguf_are_the_union_of_fields_and_marked_control_tokens) {
  test::TinyGguf model;
  EXPECT_THAT(from_gguf(model).value(), ElementsAre());
  model.u32("tokenizer.ggml.eos_token_id", 9);
  model.u32("tokenizer.ggml.eot_token_id", 5);
  EXPECT_THAT(from_gguf(model).value(), ElementsAre(5, 9));
  model.texts("tokenizer.ggml.tokens", {"<|im_end|>", "a", "<|endoftext|>", "</s>"});
  // An ordinary token that looks like a marker is none.
  model.i32s("tokenizer.ggml.token_type", {3, 1, 3, 1});
  EXPECT_THAT(from_gguf(model).value(), ElementsAre(0, 2, 5, 9));
  model.i32s("tokenizer.ggml.token_type", {3});
  EXPECT_THAT(from_gguf(model).value(), ElementsAre(0, 5, 9));
}

TEST(EndTokens, of_gguf_with_a_wrong_type_are_an_error) {
  test::TinyGguf model;
  model.text("tokenizer.ggml.eos_token_id", "2");
  EXPECT_ERROR(from_gguf(model), kCorrupt, "'tokenizer.ggml.eos_token_id' must be an integer");
}

class FromJson : public testing::Test {
 protected:
  Status add(const std::string& text) {
    KVERN_TRY(const json::value value, parse_json(text, path_));
    return add_end_tokens(JsonFields(value.get_object(), path_), ids_);
  }
  const std::string path_ = "generation_config.json";
  std::vector<int32_t> ids_;
};

TEST_F(FromJson, one_id_a_list_and_nothing_join) {
  EXPECT_OK(add(R"({"eos_token_id":50})"));
  EXPECT_OK(add(R"({"eos_token_id":[106,1,50]})"));
  EXPECT_OK(add("{}"));
  EXPECT_OK(add(R"({"eos_token_id":null})"));
  EXPECT_THAT(ids_, ElementsAre(1, 50, 106));
}

TEST_F(FromJson, anything_else_is_an_error_with_the_key) {
  for (const char* text : {R"({"eos_token_id":"2"})", R"({"eos_token_id":-1})", R"({"eos_token_id":[1,[2]]})",
                           R"({"eos_token_id":4294967296})", R"({"eos_token_id":1.5})"})
    EXPECT_ERROR(add(text), kCorrupt, "generation_config.json: key 'eos_token_id'") << text;
}

}  // namespace
}  // namespace kvern::model
