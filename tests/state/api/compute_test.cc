#include "kvern/compute.h"

#include <gtest/gtest.h>

#include "compute/cpu_target.h"
#include "support/result_matchers.h"

namespace kvern {
namespace {

TEST(Compute, RunsOnWhatItIsTold) {
  ASSERT_OK_AND_ASSIGN(const Compute best, Compute::create());
  EXPECT_GE(best.threads(), 1);
  EXPECT_EQ(best.cpu_target(), compute::to_string(*compute::best_target()));
  for (const compute::CpuTarget target : compute::compiled_targets()) {
    if (!compute::is_supported(target)) continue;
    const std::string name(compute::to_string(target));
    ASSERT_OK_AND_ASSIGN(const Compute forced, Compute::create({.threads = 3, .cpu_target = name}));
    EXPECT_EQ(forced.threads(), 3);
    EXPECT_EQ(forced.cpu_target(), name);
  }
}

TEST(Compute, SaysWhatIsPossible) {
  EXPECT_ERROR(Compute::create({.threads = -1}), kInvalidArgument, "threads");
  EXPECT_ERROR(Compute::create({.threads = 1025}), kInvalidArgument, "between 0 and 1024");
  EXPECT_ERROR(Compute::create({.cpu_target = "avx"}), kInvalidArgument, "avx2");
}

}  // namespace
}  // namespace kvern
