// What a type of keys and values costs and gives, beside others on the same model.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "engine/load/engine.h"

namespace kvern::engine {

struct KvComparisonOptions {
  std::vector<std::string> types;  ///< KvSettings::type
  /// Tokens of the row whose next steps are timed; 0 times nothing. Not given: 8192, or what the engine's
  /// context has room for.
  std::optional<int64_t> context;
  int64_t text_tokens = 256;  ///< tokens over which logits are compared
  int repetitions = 5;
  int steps = 8;
};

struct KvComparison {
  std::string type;
  size_t bytes_per_token = 0;
  /// Mean of KL(f32 || type) over the next-token distributions of a text, in nats.
  double mean_kl = 0;
  /// Share of positions at which the most likely token is the one of f32.
  double same_top = 0;
  int64_t context = 0;               ///< tokens of the row whose steps were timed; 0: none
  std::vector<double> step_seconds;  ///< one for each repetition; types took turns
};

/// Compares each type with f32 on a text that the model itself wrote (sampled at temperature 1 from its first
/// end token, or token 0, with f32), and times steps at the context. Opens the model once for each type; the
/// weights are shared by the page cache. `progress` gets a line before each part. kInvalidArgument, before
/// any work: a type that is none, or a row and its steps that do not fit the engine's context.
Result<std::vector<KvComparison>> compare_kv_types(Files& files, const EngineOptions& engine,
                                                   const KvComparisonOptions& options,
                                                   const std::function<void(const std::string&)>& progress);

}  // namespace kvern::engine
