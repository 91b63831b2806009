#include "compute/cpu_target.h"

#include <string_view>

#include <gtest/gtest.h>

#include "compute/kernels/dispatch.h"
#include "compute/kernels/matmul_internal.h"
#include "support/every_target.h"
#include "support/result_matchers.h"

// A kernel that does nothing but say for which instruction set it was compiled.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/cpu_target_test.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::compute {
namespace HWY_NAMESPACE {

std::string_view name_of_target() {
#if HWY_TARGET == HWY_AVX2
  return "avx2";
#elif HWY_TARGET == HWY_AVX3
  return "avx512";
#elif HWY_TARGET == HWY_AVX3_DL
  return "avx512-vnni";
#elif HWY_TARGET == HWY_NEON
  return "neon";
#else
  return "a target without a name";
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::compute {
namespace {

constexpr auto kNameOfTarget = KVERN_TARGET_TABLE(name_of_target);

TEST(CpuTarget, TheForcedOneRuns) {
  for (const CpuTarget target : test::supported_targets()) {
    const Context context(target, 1);
    const CpuTarget kernels = target == CpuTarget::kAvx512Amx ? CpuTarget::kAvx512Vnni : target;
    EXPECT_EQ(kNameOfTarget[context.target()](), to_string(kernels));
  }
}

#if defined(__x86_64__)
TEST(CpuTarget, AmxHasProductsOfItsOwn) {
  const auto amx = internal::quantized_matmul(CpuTarget::kAvx512Amx);
  const auto vnni = internal::quantized_matmul(CpuTarget::kAvx512Vnni);
  EXPECT_NE(amx.run, vnni.run);
  if (!is_supported(CpuTarget::kAvx512Vnni)) return;  // their code may not be run
  // Its tiles hold multiples of eight tokens; few tokens are left to the other kernels.
  EXPECT_EQ(amx.image_bytes(17, 4), vnni.image_bytes(24, 4));
  EXPECT_EQ(amx.image_bytes(15, 4), vnni.image_bytes(15, 4));
}
#endif

TEST(CpuTarget, ParsesTheNamesThatItPrints) {
  for (const CpuTarget target : test::supported_targets()) {
    ASSERT_OK_AND_ASSIGN(const CpuTarget parsed, parse_target(to_string(target)));
    EXPECT_EQ(parsed, target);
  }
  ASSERT_OK_AND_ASSIGN(const CpuTarget automatic, parse_target("auto"));
  EXPECT_EQ(automatic, *best_target());
}

TEST(CpuTarget, NamesThePossibleOnesWhenItRefuses) {
  EXPECT_ERROR(parse_target("sse2"), kInvalidArgument, "auto");
  EXPECT_ERROR(parse_target(""), kInvalidArgument, to_string(*best_target()));
}

TEST(CpuTarget, TheBestIsTheLastSupportedOne) { EXPECT_EQ(*best_target(), test::supported_targets().back()); }

}  // namespace
}  // namespace kvern::compute
#endif  // HWY_ONCE
