#include "engine/sample/params.h"

#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>

namespace kvern::engine {
namespace {

struct Range {
  std::string_view name;
  float value = 0;
  float low = 0;
  float high = 0;
  std::string_view wanted;
};

Status check_range(const Range& range) {
  // A NaN fails the comparison.
  if (range.value >= range.low && range.value <= range.high) return Ok{};
  return fail(ErrorCode::kInvalidArgument, fmt::format("must be {}, not {}", range.wanted, range.value),
              std::string(range.name));
}

Status check_at_least(std::string_view name, int32_t value, int32_t low) {
  if (value >= low) return Ok{};
  return fail(ErrorCode::kInvalidArgument, fmt::format("must be at least {}, not {}", low, value),
              std::string(name));
}

Status check_logit_bias(const SamplingParams& params, size_t vocabulary_size) {
  for (const auto& [token, bias] : params.logit_bias) {
    if (token < 0 || static_cast<size_t>(token) >= vocabulary_size)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("token {} is not in the vocabulary of {}", token, vocabulary_size),
                  "logit_bias");
    if (std::isnan(bias) || bias == std::numeric_limits<float>::infinity())
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("the bias of token {} must be a finite number or -infinity, not {}", token, bias),
          "logit_bias");
  }
  return Ok{};
}

}  // namespace

Status validate(const SamplingParams& params, size_t vocabulary_size) {
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kMin = std::numeric_limits<float>::min();
  const Range ranges[] = {
      {"temperature", params.temperature, 0, kMax, "0 (greedy) or a positive number"},
      {"top_p", params.top_p, 0, 1, "from 0 to 1"},
      {"min_p", params.min_p, 0, 1, "from 0 to 1"},
      {"typical_p", params.typical_p, 0, 1, "from 0 to 1"},
      {"repeat_penalty", params.repeat_penalty, kMin, kMax, "a positive number"},
      {"presence_penalty", params.presence_penalty, -kMax, kMax, "a finite number"},
      {"frequency_penalty", params.frequency_penalty, -kMax, kMax, "a finite number"},
      {"xtc_probability", params.xtc_probability, 0, 1, "from 0 to 1"},
      {"xtc_threshold", params.xtc_threshold, 0, 1, "from 0 to 1"},
  };
  for (const Range& range : ranges) KVERN_TRY_STATUS(check_range(range));
  KVERN_TRY_STATUS(check_at_least("top_k", params.top_k, 0));
  KVERN_TRY_STATUS(check_at_least("min_keep", params.min_keep, 0));
  KVERN_TRY_STATUS(check_at_least("repeat_last_n", params.repeat_last_n, kWholeHistory));
  return check_logit_bias(params, vocabulary_size);
}

}  // namespace kvern::engine
