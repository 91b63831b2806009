#include "model/blocks/layer_embedding.h"

#include <cmath>

#include "compute/kernels/activation.h"
#include "compute/kernels/elementwise.h"
#include "compute/kernels/matmul.h"
#include "model/blocks/feed_forward.h"

namespace kvern::model {

// inputs = (inputs + the table's row * sqrt(e)) / sqrt(2).
void LayerEmbeddingBlock::add_table(const StepView& step, float* inputs) const {
  const float scale = std::sqrt(static_cast<float>(parts_.layer_embedding));
  const float share = 1.0F / std::sqrt(2.0F);
  const auto row_bytes = static_cast<size_t>(width()) * sizeof(float);
  step.context.pool().run(step.tokens, [&](int64_t token, int thread) {
    auto* row = reinterpret_cast<float*>(step.context.thread_scratch(thread).get(row_bytes));
    const int64_t id = step.input.tokens[static_cast<size_t>(token)];
    compute::decode_row(weights_.layer_embedding, id < parts_.layer_vocab ? id : 0, row);
    float* input = inputs + token * width();
    for (int64_t i = 0; i < width(); ++i) input[i] = (input[i] + row[i] * scale) * share;
  });
}

void LayerEmbeddingBlock::prepare(const StepView& step, const float* embeddings) {
  const int64_t hidden = config_.hidden;
  float* inputs = inputs_.resize(step.tokens, width());
  const compute::MatmulTask projection{weights_.layer_projection, inputs, width()};
  compute::matmul(step.context, {.x = embeddings, .tokens = step.tokens, .cols = hidden, .stride = hidden},
                  {&projection, 1});
  compute::scale(step.context, step.all(inputs, width()), 1.0F / std::sqrt(static_cast<float>(hidden)));
  compute::rms_norm(step.context,
                    {.x = inputs,
                     .out = inputs,
                     .tokens = step.tokens,
                     .groups = config_.layers,
                     .n = parts_.layer_embedding},
                    norm_of(config_, weights_.layer_projection_norm));
  add_table(step, inputs);
}

void LayerEmbeddingBlock::run(const StepView& step, int64_t layer, const float* x, float* out) {
  const Gemma3nLayerWeights& weights = weights_.layers[static_cast<size_t>(layer)];
  const int64_t hidden = config_.hidden, tokens = step.tokens, e = parts_.layer_embedding;
  if (const std::vector<float>& scale = weights.correction_scale; !scale.empty()) {
    float* scaled = scaled_.resize(tokens, hidden);
    step.context.pool().run(tokens, [&](int64_t token, int) {
      for (int64_t d = 0; d < hidden; ++d)
        scaled[token * hidden + d] = x[token * hidden + d] * scale[static_cast<size_t>(d)];
    });
    x = scaled;
  }
  float* gate = gate_.resize(tokens, e);
  const compute::MatmulTask into{weights.embedding_gate, gate, e};
  compute::matmul(step.context, {.x = x, .tokens = tokens, .cols = hidden, .stride = hidden}, {&into, 1});
  compute::glu(step.context, activation_of(config_),
               {.gate = gate,
                .up = inputs_.data() + layer * e,
                .out = gate,
                .tokens = tokens,
                .n = e,
                .up_stride = width()});
  const compute::MatmulTask back{weights.embedding_output, out, hidden};
  compute::matmul(step.context, {.x = gate, .tokens = tokens, .cols = e, .stride = e}, {&back, 1});
  compute::rms_norm(step.context, {.x = out, .out = out, .tokens = tokens, .n = hidden},
                    norm_of(config_, weights.embedding_norm));
}

}  // namespace kvern::model
