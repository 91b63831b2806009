// Flags of sampling and stopping, named as llama.cpp's users expect, shared by generate and run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/request/request.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name of the library
class App;
}

namespace kvern::cli {

enum class SamplingDefault { kRandom, kGreedy };

struct GenerationFlags {
  int64_t max_new_tokens = 128;
  engine::SamplingParams sampling;
  std::optional<float> temperature;
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;
  bool ignore_end_tokens = false;
  bool hash_logits = false;

  /// Copies everything into a request. Without --seed the documented default seed is used, so that a run can
  /// be repeated.
  void apply(engine::GenerateRequest& request, SamplingDefault how) const;
};

void add_generation_flags(CLI::App& command, GenerationFlags& flags);
/// Those of what only a JSON answer can show.
void add_probability_flags(CLI::App& command, GenerationFlags& flags);

/// An error of the request with the flag's name in place of the parameter's.
Error named_by_flag(Error error);

/// One line on stderr: the time of loading, if given, and tokens and speeds of prompt and generation.
void print_speeds(const engine::GenerateResult& result, std::optional<double> load_ms);

}  // namespace kvern::cli
