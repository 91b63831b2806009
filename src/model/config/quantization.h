// MLX affine quantization as a model's config.json declares it.
//
// Source: mlx-lm, utils.py (`quantization` in config.json, per-layer entries by module path).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace kvern::model {

struct AffineFormat {
  int bits = 4;         ///< 4 or 8
  int group_size = 64;  ///< 32, 64 or 128 columns share a scale and a bias
  bool operator==(const AffineFormat&) const = default;
};

/// Default and exceptions.
struct AffineQuantization {
  AffineFormat standard;
  /// By module path, as "model.layers.0.mlp.down_proj"; nothing: stored plain.
  std::map<std::string, std::optional<AffineFormat>, std::less<>> overrides;

  /// The declared format of a module; nothing if it is declared plain.
  std::optional<AffineFormat> format_of(std::string_view module) const;
};

/// Reads `quantization` and `quantization_config` (MLX writes the same object under both keys). Nothing if
/// neither is there. Other methods (gptq, awq, fp8, …), modes and widths: kUnsupported, naming key and value.
Result<std::optional<AffineQuantization>> read_quantization(const json::object& config,
                                                            const std::string& path);

}  // namespace kvern::model
