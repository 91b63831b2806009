// The driver of the matrix product: checks the call, quantizes the activations if any weight needs it, and
// cuts the products into jobs for the threads.
#include "compute/kernels/matmul.h"

#include <algorithm>

#include "base/check.h"
#include "compute/kernels/matmul_internal.h"
#include "compute/kernels/weights/formats.h"

namespace kvern::compute {
namespace {

using internal::kPanelRows;
using internal::MatmulJob;

// Enough jobs for each thread that one slow core does not make the others wait, each with enough bytes to
// read that the memory sees long runs.
constexpr int64_t kJobsPerThread = 8;
constexpr int64_t kJobBytes = 64 << 10;

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

/// Rows of each job of a product.
int64_t job_rows(const WeightMatrix& w, int64_t total_rows, int threads) {
  const int64_t share = total_rows / (kJobsPerThread * threads);
  const int64_t enough = kJobBytes / std::max<int64_t>(1, static_cast<int64_t>(w.row_stride_bytes));
  return round_up(std::max({share, enough, kPanelRows}), kPanelRows);
}

void check_task(const MatmulInput& input, const MatmulTask& task) {
  const WeightMatrix& w = task.weight;
  KVERN_CHECK(w.cols == input.cols);
  KVERN_CHECK(w.cols % traits(w.type).block_elements == 0);
  if (weights::is_quantized(w.type)) KVERN_CHECK(w.cols % weights::kUnit == 0);
  if (w.type == DType::kAffine4 || w.type == DType::kAffine8) {
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
  int64_t total_rows = 0;
  for (const MatmulTask& task : tasks) {
    check_task(input, task);
    any_quantized |= weights::is_quantized(task.weight.type);
    total_rows += task.weight.rows;
  }
  const internal::QuantizedMatmul quantized = internal::quantized_matmul(context.target());
  const internal::PlainMatmul plain = internal::plain_matmul(context.target());
  internal::QuantizedInput image;
  if (any_quantized) image = quantize(context, input, quantized);

  const int threads = context.pool().threads();
  int64_t jobs = 0;
  for (const MatmulTask& task : tasks) {
    const int64_t rows = job_rows(task.weight, total_rows, threads);
    jobs += (task.weight.rows + rows - 1) / rows;
  }
  context.pool().run(jobs, [&](int64_t index, int thread) {
    for (const MatmulTask& task : tasks) {
      const int64_t rows = job_rows(task.weight, total_rows, threads);
      const int64_t count = (task.weight.rows + rows - 1) / rows;
      if (index >= count) {
        index -= count;
        continue;
      }
      const MatmulJob job = {&task, index * rows, std::min(rows, task.weight.rows - index * rows)};
      if (weights::is_quantized(task.weight.type)) {
        quantized.run(image, job, context.thread_scratch(thread));
      } else {
        plain(input, job);
      }
      return;
    }
  });
}

}  // namespace kvern::compute
