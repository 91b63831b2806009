#include "kvern/compute.h"

#include <algorithm>
#include <system_error>
#include <thread>

#include "state/api/impl.h"

namespace kvern {
namespace {

constexpr int kMaxThreads = 1024;

}  // namespace

Compute::Compute(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Compute::Compute(Compute&&) noexcept = default;
Compute& Compute::operator=(Compute&&) noexcept = default;
Compute::~Compute() = default;

Result<Compute> Compute::create(const ComputeOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return fail(ErrorCode::kInvalidArgument, std::to_string(options.threads) + " is not between 0 and 1024",
                "threads");
  }
  KVERN_TRY(const compute::CpuTarget target, compute::parse_target(options.cpu_target));
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int threads = options.threads == 0 ? std::min(cores, kMaxThreads) : options.threads;
  try {
    return Compute(std::make_unique<Impl>(target, threads));
  } catch (const std::system_error&) {
    return fail(ErrorCode::kExhausted,
                "the system gives no " + std::to_string(threads) + " threads; ask for fewer", "threads");
  }
}

int Compute::threads() const { return impl_->threads; }

std::string Compute::cpu_target() const { return std::string(compute::to_string(impl_->context.target())); }

}  // namespace kvern
