// How tokens are to be chosen: OpenAI's members, and llama.cpp's as extensions.
#pragma once

#include "base/result.h"
#include "engine/sample/params.h"
#include "server/protocol/context.h"
#include "server/protocol/fields.h"

namespace kvern::server {

/// Sampling where nothing is asked for: temperature 1, no filter, no penalty.
engine::SamplingParams default_sampling();

/// Reads temperature (0 to 2), top_p, presence_penalty, frequency_penalty, logit_bias, seed, and min_p,
/// typical_p, repeat_penalty, repeat_last_n, top_k, min_keep, xtc_probability and xtc_threshold. What is
/// absent stays as it is, but a seed is drawn then.
Status read_sampling_fields(ObjectReader& body, const ProtocolContext& context,
                            engine::SamplingParams& sampling);

}  // namespace kvern::server
