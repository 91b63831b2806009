#include "model/blocks/altup.h"

#include <algorithm>
#include <cmath>

#include "compute/kernels/elementwise.h"
#include "compute/kernels/matmul.h"
#include "model/blocks/row_sums.h"

namespace kvern::model {
namespace {

constexpr float kLeastMeanSquare = 1e-5F;

/// Gives the row x [n] the magnitude (root of the mean square) of another.
void rescale(float* x, const float* like, int64_t n) {
  const float wanted = std::sqrt(mean_square(like, n));
  const float present = std::sqrt(std::max(mean_square(x, n), kLeastMeanSquare));
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] * wanted / present;
}

void multiply(compute::Context& context, const compute::MatmulInput& input,
              const compute::WeightMatrix& weight, float* out) {
  const compute::MatmulTask task{weight, out, weight.rows};
  compute::matmul(context, input, {&task, 1});
}

}  // namespace

void AltUpBlock::begin(const StepView& step, const float* embeddings) {
  const int64_t hidden = config_.hidden, tokens = step.tokens;
  streams_.resize(parts_.streams * tokens, hidden);
  predictions_.resize(parts_.streams * tokens, hidden);
  std::copy_n(embeddings, tokens * hidden, stream(step, 0));
  for (int64_t i = 1; i < parts_.streams; ++i) {
    float* out = stream(step, i);
    multiply(step.context, {.x = embeddings, .tokens = tokens, .cols = hidden, .stride = hidden},
             weights_.projections[static_cast<size_t>(i - 1)], out);
    step.context.pool().run(tokens, [&](int64_t token, int) {
      rescale(out + token * hidden, embeddings + token * hidden, hidden);
    });
  }
}

// weight * tanh(router(norm(x) / hidden)): [tokens, weight.rows].
const float* AltUpBlock::mix(const StepView& step, int64_t layer, const float* x,
                             const compute::WeightMatrix& weight) {
  const Gemma3nLayerWeights& weights = weights_.layers[static_cast<size_t>(layer)];
  const int64_t hidden = config_.hidden, tokens = step.tokens, streams = parts_.streams;
  float* normed = normed_.resize(tokens, hidden);
  compute::rms_norm(step.context, {.x = x, .out = normed, .tokens = tokens, .n = hidden},
                    norm_of(config_, weights.router_norm));
  compute::scale(step.context, step.all(normed, hidden), 1.0F / static_cast<float>(hidden));
  float* modalities = modalities_.resize(tokens, streams);
  multiply(step.context, {.x = normed, .tokens = tokens, .cols = hidden, .stride = hidden}, weights.router,
           modalities);
  // A soft cap of one is the hyperbolic tangent.
  compute::soft_cap(step.context, step.all(modalities, streams), 1.0F);
  float* coefficients = coefficients_.resize(tokens, weight.rows);
  multiply(step.context, {.x = modalities, .tokens = tokens, .cols = streams, .stride = streams}, weight,
           coefficients);
  return coefficients;
}

const float* AltUpBlock::predict(const StepView& step, int64_t layer) {
  const int64_t hidden = config_.hidden, streams = parts_.streams, all = step.tokens * hidden;
  const float* coefficients =
      mix(step, layer, active(step), weights_.layers[static_cast<size_t>(layer)].prediction);
  step.context.pool().run(step.tokens, [&](int64_t token, int) {
    const float* of_token = coefficients + token * streams * streams;
    for (int64_t i = 0; i < streams; ++i) {
      float* out = predictions_.data() + i * all + token * hidden;
      std::fill_n(out, hidden, 0.0F);
      for (int64_t j = 0; j < streams; ++j) {
        const float* in = streams_.data() + j * all + token * hidden;
        const float weight = of_token[i * streams + j];
        for (int64_t d = 0; d < hidden; ++d) out[d] += weight * in[d];
      }
      const float* present = streams_.data() + i * all + token * hidden;
      for (int64_t d = 0; d < hidden; ++d) out[d] += present[d];
    }
  });
  return predictions_.data() + parts_.active_stream * all;
}

void AltUpBlock::correct(const StepView& step, int64_t layer, const float* activated) {
  const int64_t hidden = config_.hidden, streams = parts_.streams, all = step.tokens * hidden;
  const float* coefficients =
      mix(step, layer, activated, weights_.layers[static_cast<size_t>(layer)].correction);
  const float* predicted = predictions_.data() + parts_.active_stream * all;
  step.context.pool().run(step.tokens, [&](int64_t token, int) {
    const float* became = activated + token * hidden;
    const float* expected = predicted + token * hidden;
    for (int64_t i = 0; i < streams; ++i) {
      const float weight = coefficients[token * streams + i] + 1.0F;
      const float* prediction = predictions_.data() + i * all + token * hidden;
      float* out = streams_.data() + i * all + token * hidden;
      for (int64_t d = 0; d < hidden; ++d) out[d] = (became[d] - expected[d]) * weight + prediction[d];
    }
  });
}

void AltUpBlock::add_to_others(const StepView& step, const float* branch) {
  const auto size = static_cast<size_t>(step.tokens * config_.hidden);
  for (int64_t i = 1; i < parts_.streams; ++i) {
    float* out = stream(step, i);
    compute::add(step.context, {out, size}, {branch, size}, {out, size});
  }
}

void AltUpBlock::merge_wanted(const StepView& step, float* rows) {
  const int64_t hidden = config_.hidden;
  const auto count = static_cast<int64_t>(step.input.logit_tokens.size());
  float* first = normed_.resize(count, hidden);
  float* projected = projected_.resize(count, hidden);
  float* other = predictions_.data();  // a layer's predictions are of no more use
  gather_wanted(step, stream(step, 0), hidden, first);
  std::copy_n(first, count * hidden, rows);
  for (int64_t i = 1; i < parts_.streams; ++i) {
    gather_wanted(step, stream(step, i), hidden, other);
    multiply(step.context, {.x = other, .tokens = count, .cols = hidden, .stride = hidden},
             weights_.unembeddings[static_cast<size_t>(i - 1)], projected);
    step.context.pool().run(count, [&](int64_t row, int) {
      float* part = projected + row * hidden;
      rescale(part, first + row * hidden, hidden);
      for (int64_t d = 0; d < hidden; ++d) rows[row * hidden + d] += part[d];
    });
  }
  compute::scale(step.context, {rows, static_cast<size_t>(count * hidden)},
                 1.0F / static_cast<float>(parts_.streams));
}

}  // namespace kvern::model
