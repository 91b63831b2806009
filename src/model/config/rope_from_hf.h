// The rope part of config.json: rope_theta, rope_scaling, rope_parameters, partial_rotary_factor.
#pragma once

#include "base/result.h"
#include "model/config/json_fields.h"
#include "model/config/model_config.h"

namespace kvern::model {

/// Fills `config.rope` (half-split pairing), `config.local_rope` for Gemma 3 and 3n, and their origins;
/// `config.head_dim_k` and `config.context` are known.
///
/// Source: modeling_rope_utils.py of transformers, 4.30 to 5: `rope_scaling` with the key `type` (old) or
/// `rope_type`, `rope_parameters` (5.0, which also holds rope_theta and partial_rotary_factor). Raises
/// `config.context` to factor * original context where a scaling declares more than max_position_embeddings.
Status read_hf_rope(const JsonFields& fields, ModelConfig& config);

}  // namespace kvern::model
