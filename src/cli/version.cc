#include "cli/version.h"

#include "commit.h"

#include <fmt/format.h>

#include "compute/cpu_target.h"

namespace kvern::cli {

std::string version_text() {
  std::string targets;
  for (const compute::CpuTarget target : compute::compiled_targets()) {
    targets += (targets.empty() ? "" : ", ") + std::string(compute::to_string(target));
  }
  const Result<compute::CpuTarget> best = compute::best_target();
  return fmt::format("kvern {} (commit {})\nCPU targets: {}\nthis machine runs: {}", KVERN_VERSION,
                     KVERN_GIT_COMMIT, targets, best ? compute::to_string(*best) : "none of them");
}

}  // namespace kvern::cli
