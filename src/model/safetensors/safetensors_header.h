// The header of a safetensors file: parsed and checked before any tensor is looked at.
//
// Source: README of huggingface/safetensors (format), version of 2023; docs/formats/safetensors.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/tensor_source.h"

namespace kvern::model {

/// The reference implementation's own limit.
inline constexpr uint64_t kSafetensorsMaxHeaderBytes = 100'000'000;
inline constexpr size_t kSafetensorsMaxDims = 8;

/// The tensors of one file whose bytes are `data`; the spans point into `data`, `StoredTensor::file` is
/// `file` (borrowed, and `where` of every error). Checks: header length against limit and file, JSON,
/// distinct names, dtype, shape times element size against each span, spans that cover the data without hole
/// or overlap, and the size of the file against the last span (a short file says both sizes).
Result<std::vector<StoredTensor>> parse_safetensors(std::span<const std::byte> data, const std::string& file);

}  // namespace kvern::model
