#include "server/protocol/sampling_fields.h"

#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace kvern::server {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr double kMaxFloat = std::numeric_limits<float>::max();

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, message), path);
}

struct NumberField {
  std::string_view name;
  float* target = nullptr;
  NumberRange range;
};

Status read_numbers(ObjectReader& body, engine::SamplingParams& sampling) {
  const NumberField fields[] = {
      {"temperature", &sampling.temperature, {0, 2}},
      {"top_p", &sampling.top_p, {0, 1}},
      {"presence_penalty", &sampling.presence_penalty, {-2, 2}},
      {"frequency_penalty", &sampling.frequency_penalty, {-2, 2}},
      {"min_p", &sampling.min_p, {0, 1}},
      {"typical_p", &sampling.typical_p, {0, 1}},
      {"repeat_penalty", &sampling.repeat_penalty, {std::numeric_limits<float>::min(), kMaxFloat}},
      {"xtc_probability", &sampling.xtc_probability, {0, 1}},
      {"xtc_threshold", &sampling.xtc_threshold, {0, 1}},
  };
  for (const NumberField& field : fields) {
    KVERN_TRY(const auto value, body.number(field.name, field.range));
    if (value) *field.target = static_cast<float>(*value);
  }
  return Ok{};
}

Status read_integers(ObjectReader& body, engine::SamplingParams& sampling) {
  KVERN_TRY(const auto top_k, body.integer("top_k", {0, kMaxInt32}));
  if (top_k) sampling.top_k = static_cast<int32_t>(*top_k);
  KVERN_TRY(const auto min_keep, body.integer("min_keep", {0, kMaxInt32}));
  if (min_keep) sampling.min_keep = static_cast<int32_t>(*min_keep);
  KVERN_TRY(const auto last_n, body.integer("repeat_last_n", {engine::kWholeHistory, kMaxInt32}));
  if (last_n) sampling.repeat_last_n = static_cast<int32_t>(*last_n);
  return Ok{};
}

Result<engine::TokenId> read_token_id(std::string_view text, size_t vocabulary, const std::string& path) {
  int64_t id = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 0 ||
      id >= static_cast<int64_t>(vocabulary)) {
    return invalid(path, fmt::format("expected token ids from 0 to {} as names, got {}", vocabulary - 1,
                                     describe(json::value(text))));
  }
  return static_cast<engine::TokenId>(id);
}

Status read_logit_bias(ObjectReader& body, const ProtocolContext& context, engine::SamplingParams& sampling) {
  KVERN_TRY(const json::object* biases, body.object("logit_bias"));
  if (biases == nullptr) return Ok{};
  const std::string path = body.path_of("logit_bias");
  if (biases->size() > context.limits.max_logit_biases) {
    return invalid(path, fmt::format("{} tokens; at most {} are taken", biases->size(),
                                     context.limits.max_logit_biases));
  }
  const auto vocabulary = static_cast<size_t>(context.engine.model().config().vocab);
  for (const auto& item : *biases) {
    KVERN_TRY(const engine::TokenId token, read_token_id(item.key(), vocabulary, path));
    KVERN_TRY(const double bias, read_number(item.value(), fmt::format("{}.{}", path, token), {-100, 100}));
    sampling.logit_bias.push_back({.token = token, .bias = static_cast<float>(bias)});
  }
  return Ok{};
}

}  // namespace

engine::SamplingParams default_sampling() {
  engine::SamplingParams sampling;
  sampling.temperature = 1;
  sampling.top_p = 1;
  sampling.top_k = 0;
  sampling.min_p = 0;
  sampling.repeat_last_n = engine::kWholeHistory;
  sampling.additive_scope = engine::PenaltyScope::kGenerated;
  return sampling;
}

Status read_sampling_fields(ObjectReader& body, const ProtocolContext& context,
                            engine::SamplingParams& sampling) {
  KVERN_TRY_STATUS(read_numbers(body, sampling));
  KVERN_TRY_STATUS(read_integers(body, sampling));
  KVERN_TRY_STATUS(read_logit_bias(body, context, sampling));
  KVERN_TRY(const auto seed, body.integer("seed"));
  sampling.seed = seed ? static_cast<uint64_t>(*seed) : context.ids.next_seed();
  return Ok{};
}

}  // namespace kvern::server
