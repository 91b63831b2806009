#include "model/tensor_source.h"

#include <string>

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::model {
namespace {

StoredTensor named(const std::string& name) {
  return {.name = name, .type = {}, .shape = {}, .bytes = {}, .file = {}};
}

TEST(TensorDirectory, finds_by_name_and_lists_sorted) {
  ASSERT_OK_AND_ASSIGN(const TensorDirectory directory,
                       TensorDirectory::create({named("b"), named("a"), named("c")}, "file"));
  ASSERT_EQ(directory.list().size(), 3U);
  EXPECT_EQ(directory.list()[0].name, "a");
  EXPECT_EQ(directory.find("b"), &directory.list()[1]);
  EXPECT_EQ(directory.find("bb"), nullptr);
  EXPECT_EQ(directory.find(""), nullptr);
}

TEST(TensorDirectory, refuses_two_tensors_of_one_name) {
  EXPECT_ERROR(TensorDirectory::create({named("x"), named("y"), named("x")}, "m.gguf"), kCorrupt,
               "m.gguf: two tensors have the name 'x'");
}

TEST(StoredTensor, is_described_for_messages) {
  const StoredTensor words{.name = "w", .type = {}, .shape = {3, 4}, .bytes = {}, .file = {}};
  EXPECT_EQ(shape_text(words.shape), "[3, 4]");
  EXPECT_EQ(shape_text({}), "[]");
  EXPECT_EQ(type_name(words), "u32");
  EXPECT_EQ(type_name({.name = "k", .type = compute::DType::kQ4_K, .shape = {}, .bytes = {}, .file = {}}),
            "q4_k");
}

}  // namespace
}  // namespace kvern::model
