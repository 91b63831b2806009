// Which tokens end a generation, from every place that may say so.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "model/config/json_fields.h"
#include "model/gguf/gguf_metadata.h"

namespace kvern::model {

/// The union of the ids that the tokenizer's fields name (end of sequence, of turn, of message) and of
/// control tokens whose text is a known end marker: conversion to GGUF keeps only one id of a list. Sorted,
/// distinct.
Result<std::vector<int32_t>> end_tokens_from_gguf(const GgufMetadata& metadata);

/// Adds `eos_token_id` of config.json or generation_config.json (one id or a list) to `ids`, which stays
/// sorted and distinct: one file never replaces what another says.
Status add_end_tokens(const JsonFields& fields, std::vector<int32_t>& ids);

}  // namespace kvern::model
