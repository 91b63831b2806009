// The driver of the matrix product: checks the call, quantizes the activations if any weight needs it, and
// cuts the products into jobs for the threads.
#include "compute/kernels/matmul.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "compute/kernels/matmul_internal.h"
#include "compute/kernels/weights/formats.h"

namespace kvern::compute {
namespace {

using internal::kPanelRows;
using internal::kPlainStreams;
using internal::kStreams;
using internal::MatmulJob;

// A job smaller than this costs more to begin (its streams have to start again) than it can save.
constexpr int64_t kJobBytes = 48 << 10;
// In a larger one the streams are so far apart that looking up their addresses costs more than the long runs
// save (measured on Zen 4 with pages of 4 KiB: a third of the speed at 70 MB).
constexpr int64_t kMostJobBytes = 2 << 20;

/// Cuts the rows of all tasks into jobs, to be taken in order by whichever thread is free. The first are
/// large, so that the memory sees long runs; each of the others is a share of what is left, so that the
/// threads end together even if one is slow.
class JobList {
 public:
  JobList(std::span<const MatmulTask> tasks, const MatmulInput& input, int threads) {
    int64_t left = 0;
    for (const MatmulTask& task : tasks) left += task.weight.rows;
    for (const MatmulTask& task : tasks) {
      for (int64_t row = 0; row < task.weight.rows;) {
        const int64_t share = std::clamp(left / (2 * threads), rows_of_bytes(task.weight, kJobBytes),
                                         rows_of_bytes(task.weight, kMostJobBytes));
        const int64_t rows = std::min(whole_groups(task.weight, share, input.tokens), task.weight.rows - row);
        jobs_.push_back({&task, row, rows});
        row += rows;
        left -= rows;
      }
    }
  }

  int64_t size() const { return static_cast<int64_t>(jobs_.size()); }
  const MatmulJob& operator[](int64_t i) const { return jobs_[static_cast<size_t>(i)]; }

 private:
  static int64_t rows_of_bytes(const WeightMatrix& w, int64_t bytes) {
    return bytes / std::max<int64_t>(1, static_cast<int64_t>(w.row_stride_bytes));
  }

  /// `rows` rounded up: to panels, or for one token to an odd number of groups, which are read as distant
  /// streams. An odd distance keeps the streams out of each other's cache sets.
  static int64_t whole_groups(const WeightMatrix& w, int64_t rows, int64_t tokens) {
    if (tokens > 1) return (rows + kPanelRows - 1) / kPanelRows * kPanelRows;
    const int64_t group = weights::quantizes_activations(w.type) ? kStreams : kPlainStreams;
    return ((rows + group - 1) / group | 1) * group;
  }

  std::vector<MatmulJob> jobs_;
};

void check_task(const MatmulInput& input, const MatmulTask& task) {
  const WeightMatrix& w = task.weight;
  KVERN_CHECK(w.cols == input.cols);
  KVERN_CHECK(w.cols % traits(w.type).block_elements == 0);
  if (weights::is_quantized(w.type)) KVERN_CHECK(w.cols % weights::kUnit == 0);
  if (weights::is_affine(w.type)) {
    KVERN_CHECK(w.affine.scales != nullptr && w.affine.biases != nullptr);
    const int group = w.affine.group_size;
    KVERN_CHECK((group == 32 || group == 64 || group == 128) && w.cols % group == 0);
  }
}

/// The image of the activations, made in parallel, in the context's shared scratch.
internal::QuantizedInput quantize(Context& context, const MatmulInput& input,
                                  const internal::QuantizedMatmul& kernels) {
  const int64_t units = input.cols / weights::kUnit;
  std::byte* image = context.shared_scratch().get(kernels.image_bytes(input.tokens, units));
  context.pool().run(kernels.image_parts(input.tokens),
                     [&](int64_t part, int) { kernels.quantize(input, part, image); });
  return {.data = image, .tokens = input.tokens, .units = units};
}

}  // namespace

void matmul(Context& context, const MatmulInput& input, std::span<const MatmulTask> tasks) {
  if (input.tokens == 0) return;
  bool any_quantized = false;
  for (const MatmulTask& task : tasks) {
    check_task(input, task);
    any_quantized |= weights::quantizes_activations(task.weight.type);
  }
  const internal::QuantizedMatmul quantized = internal::quantized_matmul(context.target());
  const internal::PlainMatmul plain = internal::plain_matmul(context.target());
  internal::QuantizedInput image;
  if (any_quantized) image = quantize(context, input, quantized);

  const JobList jobs(tasks, input, context.pool().threads());
  context.pool().run(jobs.size(), [&](int64_t index, int thread) {
    const MatmulJob& job = jobs[index];
    if (weights::quantizes_activations(job.task->weight.type)) {
      quantized.run(image, job, context.thread_scratch(thread));
    } else {
      plain(input, job, context.thread_scratch(thread));
    }
  });
}

}  // namespace kvern::compute
