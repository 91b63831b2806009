#include "engine/load/kv_settings.h"

#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

using state::CodecKind;

Result<state::KvOptions> with_file(const std::string& text) {
  const auto files = make_memory_files();
  EXPECT_OK(write_file_atomically(*files, "/layers", std::as_bytes(std::span(text))));
  return make_kv_options(*files, {.type = "q8", .layer_types_file = "/layers"}, 4);
}

TEST(KvSettings, KeepTypesLayoutsAndPrecision) {
  const auto files = make_memory_files();
  const KvSettings settings{.type = "k=h8,v=q4",
                            .layout = "ring",
                            .page = 32,
                            .quant_start = 100,
                            .keep_first = 4,
                            .keep_last = 64,
                            .layer_types_file = ""};
  ASSERT_OK_AND_ASSIGN(const state::KvOptions options, make_kv_options(*files, settings, 4));
  EXPECT_EQ(state::to_string(options.types), "k=h8,v=q4");
  EXPECT_EQ(options.layout, state::LayoutKind::kRing);
  EXPECT_EQ(options.page, 32);
  EXPECT_EQ(options.precision.quant_start, 100);
  EXPECT_EQ(options.precision.keep_first, 4);
  EXPECT_EQ(options.precision.keep_last, 64);
  EXPECT_TRUE(options.layer_types.empty());
}

TEST(KvSettings, ReadALineForSomeLayersAndLetLaterLinesWin) {
  ASSERT_OK_AND_ASSIGN(
      const state::KvOptions options,
      with_file("# the first layers matter most\n0-1 f16\n\n  3\tturbo:k8v3 # and the last\n1 bf16"));
  ASSERT_EQ(options.layer_types.size(), 4U);
  EXPECT_EQ(options.layer_types[0].k.kind, CodecKind::kF16);
  EXPECT_EQ(options.layer_types[1].k.kind, CodecKind::kBF16);
  EXPECT_EQ(options.layer_types[2].k.kind, CodecKind::kAffine);
  EXPECT_EQ(options.layer_types[3].v.kind, CodecKind::kTurboValue);
}

TEST(KvSettings, ReadFilesOfAllEditors) {
  for (const std::string text : {"\xEF\xBB\xBF* h4\r\n1 f16\r\n", "* h4\n1 f16", "\t* h4 \n\r\n1  f16\n"}) {
    ASSERT_OK_AND_ASSIGN(const state::KvOptions options, with_file(text));
    ASSERT_EQ(options.layer_types.size(), 4U);
    EXPECT_EQ(options.layer_types[0].k.kind, CodecKind::kAffine);
    EXPECT_EQ(options.layer_types[1].k.kind, CodecKind::kF16);
  }
}

TEST(KvSettings, RefuseAWrongFileWithoutRepeatingIt) {
  const std::string long_line = std::string(500'000, 'a') + " q8";
  const auto refused = with_file(long_line);
  EXPECT_ERROR(refused, kInvalidArgument, "LAYERS TYPE");
  EXPECT_LT(refused.error().to_string().size(), 200U);
  EXPECT_ERROR(with_file(std::string((size_t{1} << 20) + 1, '\n')), kInvalidArgument, "/layers");
}

TEST(KvSettings, NameThePlaceOfAFault) {
  EXPECT_ERROR(with_file("* q8\n4 f16\n"), kInvalidArgument, "/layers:2");
  EXPECT_ERROR(with_file("2-1 f16"), kInvalidArgument, "layers 0 to 3");
  EXPECT_ERROR(with_file("x f16"), kInvalidArgument, "names no layers");
  EXPECT_ERROR(with_file("1"), kInvalidArgument, "LAYERS TYPE");
  EXPECT_ERROR(with_file("1 q7"), kInvalidArgument, "q8");
  const auto files = make_memory_files();
  EXPECT_ERROR(make_kv_options(*files, {.layout = "heap"}, 4), kInvalidArgument, "paged");
  EXPECT_ERROR(make_kv_options(*files, {.layer_types_file = "/none"}, 4), kNotFound, "/none");
}

}  // namespace
}  // namespace kvern::engine
