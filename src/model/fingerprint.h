// The identity of a model: what saved state and prefixes are bound to.
#pragma once

#include "base/hash.h"
#include "base/result.h"
#include "compute/threads/pool.h"
#include "model/config/model_config.h"
#include "model/tensor_source.h"

namespace kvern::model {

/// SHA-256 over the configuration's facts (config_facts), the tensor directory (names, types, shapes, sorted
/// by name) and the weights' content. File names, sharding and the order of tensors in files do not matter:
/// the same weights give the same fingerprint. The context that an engine chooses and the end tokens are not
/// part of it.
///
/// The content is sampled: of each tensor all bytes up to 64 KiB, else its first and last 4 KiB and 14 pages
/// of 4 KiB spread evenly between them. That costs a few milliseconds for a model of any size and reads about
/// 10 MB. What it tells apart with certainty: other geometry, types, names. What it tells apart in practice:
/// other weights, since training, merging, converting or quantizing anew changes values in every part of a
/// tensor. What it cannot see: an edit that touches only bytes between the samples (a few chosen values of a
/// large matrix, or damage on disk).
Result<ModelFingerprint> sampled_fingerprint(const TensorSource& source, const ModelConfig& config);

/// As sampled_fingerprint, over every byte of every tensor: two models with the same digest have the same
/// weights. Reads the whole model (about 1 GB/s and thread); tensors are hashed in parallel. A sampled and a
/// full fingerprint of one model differ.
Result<ModelFingerprint> full_fingerprint(const TensorSource& source, const ModelConfig& config,
                                          compute::ThreadPool& pool);

}  // namespace kvern::model
