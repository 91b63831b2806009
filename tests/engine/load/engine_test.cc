#include "engine/load/engine.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/support/engines.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

Result<std::unique_ptr<Engine>> open_with(EngineOptions options) {
  return test::open_bundled(std::move(options));
}

TEST(Engine_open, resolves_every_default) {
  const auto files = make_posix_files();
  ASSERT_OK_AND_ASSIGN(const auto engine,
                       Engine::open(*files, {.model_path = kvern::test::source_file(test::kBundledGguf)}));
  EXPECT_EQ(engine->context_tokens(), 1024);
  EXPECT_EQ(engine->options().threads, default_threads());
  EXPECT_EQ(engine->compute().pool().threads(), default_threads());
  EXPECT_EQ(engine->compute().target(), compute::best_target().value());
  EXPECT_EQ(engine->kv().options().types.k.kind, state::CodecKind::kF16);
  EXPECT_NE(engine->tokenizer(), nullptr);
  EXPECT_TRUE(engine->chat_template().has_value());
  EXPECT_THAT(engine->end_tokens(), testing::IsSupersetOf({0, 2}));
  EXPECT_TRUE(std::ranges::is_sorted(engine->end_tokens()));
}

TEST(Engine_open, runs_on_what_it_was_told_to) {
  ASSERT_OK_AND_ASSIGN(
      const auto engine,
      open_with({.cpu_target = "avx2", .threads = 3, .context_tokens = 100, .kv = {.type = "bf16"}}));
  EXPECT_EQ(engine->compute().target(), compute::CpuTarget::kAvx2);
  EXPECT_EQ(engine->compute().pool().threads(), 3);
  EXPECT_EQ(engine->context_tokens(), 100);
  EXPECT_EQ(engine->kv().options().types.v.kind, state::CodecKind::kBF16);
}

TEST(Engine_open, names_the_alternatives_of_a_wrong_choice) {
  EXPECT_ERROR(open_with({.kv = {.type = "q7"}}), kInvalidArgument, "f32");
  EXPECT_ERROR(open_with({.kv = {.type = "q7"}}), kInvalidArgument, "bf16");
  EXPECT_ERROR(open_with({.cpu_target = "avx10"}), kInvalidArgument, "avx2");
}

TEST(Engine_open, refuses_numbers_that_no_engine_can_have) {
  EXPECT_ERROR(open_with({.threads = -1}), kInvalidArgument, "threads");
  EXPECT_ERROR(open_with({.context_tokens = -1}), kInvalidArgument, "context");
  EXPECT_ERROR(open_with({.context_tokens = int64_t{1} << 40}), kInvalidArgument, "context");
  EXPECT_ERROR(open_with({.chunk_tokens = 0}), kInvalidArgument, "chunk");
}

TEST(Engine_open, runs_a_windowed_model_in_any_context) {
  const std::string windowed = kvern::test::test_data("transformers/mistral-window");
  ASSERT_OK_AND_ASSIGN(const auto engine, open_with({.model_path = windowed}));
  EXPECT_EQ(engine->context_tokens(), 256);
  EXPECT_OK(open_with({.model_path = windowed, .context_tokens = 1000}));
}

TEST(Engine_open, names_the_file_that_is_wrong) {
  const auto files = make_memory_files();
  const auto open = [&](const char* path) {
    return Engine::open(*files, {.model_path = path, .threads = 1});
  };
  EXPECT_ERROR(open("/nowhere"), kNotFound, "/nowhere");
  test::put_file(*files, "/text", "not a model at all, only some text");
  EXPECT_ERROR(open("/text"), kCorrupt, "/text");
  test::put_file(*files, "/empty.gguf", "");
  EXPECT_ERROR(open("/empty.gguf"), kCorrupt, "/empty.gguf");
  ASSERT_OK(files->make_directory("/folder"));
  EXPECT_ERROR(open("/folder"), kNotFound, "/folder");
}

TEST(Engine_open, finds_damage_in_a_folder) {
  struct Damage {
    const char* file;
    const char* content;
  };
  for (const Damage& damage :
       {Damage{"config.json", "{"}, Damage{"config.json", "[]"}, Damage{"model.safetensors", "short"},
        Damage{"tokenizer.json", "{}"}, Damage{"tokenizer.json", "not JSON"},
        Damage{"tokenizer_config.json", "{\"chat_template\": "}, Damage{"generation_config.json", "]"}}) {
    const auto files = make_memory_files();
    test::copy_bundled_folder(*files);
    EXPECT_OK(Engine::open(*files, {.model_path = "/hf", .threads = 1}));
    test::put_file(*files, std::string("/hf/") + damage.file, damage.content);
    const auto opened = Engine::open(*files, {.model_path = "/hf", .threads = 1});
    ASSERT_FALSE(opened.has_value()) << damage.file << ": " << damage.content;
    EXPECT_NE(opened.error().to_string().find(damage.file), std::string::npos) << opened.error().to_string();
  }
}

TEST(Engine_open, finds_a_weight_file_that_is_cut) {
  const auto files = make_memory_files();
  ASSERT_OK(test::write_synthetic(*files));
  const std::string whole = test::get_file(*files, "/model.gguf");
  for (const size_t keep : {whole.size() - 1, whole.size() / 2, size_t{1000}, size_t{30}, size_t{5}}) {
    test::put_file(*files, "/cut.gguf", std::string_view(whole).substr(0, keep));
    EXPECT_ERROR(Engine::open(*files, {.model_path = "/cut.gguf", .threads = 1}), kCorrupt, "/cut.gguf")
        << keep;
  }
}

class EngineForward : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(engine_, open_with({.context_tokens = 8}));
    row_ = engine_->kv().add_row();
  }
  std::unique_ptr<Engine> engine_;
  state::RowId row_{};
};

TEST_F(EngineForward, gives_the_logits_that_were_asked_for) {
  const std::vector<int32_t> a = {1, 2, 3}, b = {4, 5};
  const state::RowId other = engine_->kv().add_row();
  const state::RowId third = engine_->kv().add_row();
  const std::vector<Engine::RowTokens> rows = {{.row = row_, .tokens = a, .logits = Engine::Logits::kAll},
                                               {.row = third, .tokens = a, .logits = Engine::Logits::kNone},
                                               {.row = other, .tokens = b}};
  ASSERT_OK_AND_ASSIGN(const std::span<float> logits, engine_->forward(rows));
  EXPECT_EQ(logits.size(), 4U * 4096);
  EXPECT_EQ(engine_->kv().length(third).value(), 3);
}

TEST_F(EngineForward, a_row_without_tokens_has_no_logits) {
  const std::vector<int32_t> some = {1, 2};
  const state::RowId other = engine_->kv().add_row();
  for (const Engine::Logits which : {Engine::Logits::kNone, Engine::Logits::kLast, Engine::Logits::kAll}) {
    const std::vector<Engine::RowTokens> rows = {{.row = row_, .tokens = {}, .logits = which},
                                                 {.row = other, .tokens = some}};
    ASSERT_OK_AND_ASSIGN(const std::span<float> logits, engine_->forward(rows));
    EXPECT_EQ(logits.size(), 4096U);
  }
  const Engine::RowTokens none{.row = row_, .tokens = {}};
  ASSERT_OK_AND_ASSIGN(const std::span<float> logits, engine_->forward({&none, 1}));
  EXPECT_TRUE(logits.empty());
}

TEST_F(EngineForward, an_error_leaves_every_row_as_it_was) {
  const std::vector<int32_t> some = {1, 2, 3, 4, 5};
  const Engine::RowTokens work{.row = row_, .tokens = some};
  ASSERT_OK(engine_->forward({&work, 1}));
  EXPECT_ERROR(engine_->forward({&work, 1}), kInvalidArgument, "10 tokens do not fit the context of 8");
  const std::vector<int32_t> outside = {1, 4096};
  const Engine::RowTokens bad{.row = row_, .tokens = outside};
  EXPECT_ERROR(engine_->forward({&bad, 1}), kInvalidArgument, "token 4096");
  EXPECT_EQ(engine_->kv().length(row_).value(), 5);
  const Engine::RowTokens nobody{.row = state::RowId{999}, .tokens = some};
  EXPECT_ERROR(engine_->forward({&nobody, 1}), kNotFound, "");
}

// A scale that is no number, somewhere in the blocks of a tensor.
TEST(Engine_check_logits, names_the_tensor_that_makes_them_no_numbers) {
  const auto files = make_memory_files();
  ASSERT_OK(files->make_directory("/models"));
  ASSERT_OK(test::write_synthetic(*files));
  ASSERT_OK_AND_ASSIGN(const auto whole, model::Model::open(*files, "/model.gguf"));
  std::string bytes = test::get_file(*files, "/model.gguf");
  for (const model::StoredTensor& tensor : whole->opened().source->list()) {
    if (tensor.name != "blk.1.ffn_down.weight") continue;
    const auto found =
        bytes.find(std::string_view(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()));
    ASSERT_NE(found, std::string::npos);
    for (const std::string_view scale : {"\x00\x7e", "\x00\x7c"}) {  // NaN, infinity
      bytes.replace(found + 34, 2, std::string(scale.data(), 2));
      test::put_file(*files, "/models/broken.gguf", bytes);
      ASSERT_OK_AND_ASSIGN(const auto engine,
                           Engine::open(*files, {.model_path = "/models/broken.gguf", .threads = 1}));
      const state::RowId row = engine->kv().add_row();
      const std::vector<int32_t> tokens = {1, 2, 3};
      const Engine::RowTokens work{.row = row, .tokens = tokens};
      ASSERT_OK_AND_ASSIGN(const std::span<float> logits, engine->forward({&work, 1}));
      const Status checked = engine->check_logits(logits);
      EXPECT_ERROR(checked, kCorrupt, "a scale of block 1 of type q8_0 is not finite");
      EXPECT_EQ(checked.error().where, "broken.gguf: tensor 'blk.1.ffn_down.weight'");
    }
    return;
  }
  FAIL() << "no such tensor";
}

// By a broken state, say, which is that of one row.
TEST(Engine_check_logits, says_when_all_weights_are_numbers) {
  ASSERT_OK_AND_ASSIGN(const auto engine, open_with({.context_tokens = 64}));
  EXPECT_OK(engine->check_values());
  std::vector<float> logits(10, 1.0F);
  EXPECT_OK(engine->check_logits(logits));
  for (const float number : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    logits[7] = number;
    EXPECT_ERROR(engine->check_logits(logits), kCorrupt, "although all of its weights are");
  }
}

TEST(Engine_forward, ends_early_when_it_is_stopped_and_changes_no_row) {
  std::atomic<bool> stop = false;
  ASSERT_OK_AND_ASSIGN(const auto engine, open_with({.context_tokens = 64, .stop = &stop}));
  const state::RowId row = engine->kv().add_row();
  const std::vector<int32_t> tokens(40, 5);
  const Engine::RowTokens work{.row = row, .tokens = tokens};
  ASSERT_OK_AND_ASSIGN(const auto first, engine->forward({&work, 1}));
  const std::vector<float> expected(first.begin(), first.end());
  ASSERT_OK(engine->kv().truncate(row, 0));
  stop = true;
  EXPECT_ERROR(engine->forward({&work, 1}), kCancelled, "interrupted");
  EXPECT_EQ(*engine->kv().length(row), 0);
  EXPECT_EQ(engine->kv().live_bytes(), 0U);
  stop = false;
  ASSERT_OK_AND_ASSIGN(const auto again, engine->forward({&work, 1}));
  EXPECT_TRUE(std::ranges::equal(again, expected));
}

}  // namespace
}  // namespace kvern::engine
