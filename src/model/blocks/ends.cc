#include "model/blocks/ends.h"

#include "compute/kernels/elementwise.h"
#include "compute/kernels/matmul.h"

namespace kvern::model {

void Ends::embed(const StepView& step, float* out) const {
  step.context.pool().run(step.tokens, [&](int64_t token, int) {
    compute::decode_row(weights_.token_embedding, step.input.tokens[static_cast<size_t>(token)],
                        out + token * config_.hidden);
  });
  if (config_.embedding_scale != 1.0F)
    compute::scale(step.context, step.all(out, config_.hidden), config_.embedding_scale);
}

void Ends::write_logits(const StepView& step, float* rows, float* logits) const {
  const auto wanted = static_cast<int64_t>(step.input.logit_tokens.size());
  const int64_t hidden = config_.hidden;
  compute::rms_norm(step.context, {.x = rows, .out = rows, .tokens = wanted, .n = hidden},
                    norm_of(config_, weights_.output_norm));
  const compute::MatmulTask output{weights_.output, logits, config_.vocab};
  compute::matmul(step.context, {.x = rows, .tokens = wanted, .cols = hidden, .stride = hidden},
                  {&output, 1});
  if (config_.logit_softcap != 0.0F)
    compute::soft_cap(step.context, {logits, static_cast<size_t>(wanted * config_.vocab)},
                      config_.logit_softcap);
}

}  // namespace kvern::model
