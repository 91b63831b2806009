// Frequencies and angles of rope.h. Runs once a model (create) and once a step (prepare), in plain C++.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "base/check.h"
#include "compute/kernels/rope.h"

namespace kvern::compute {
namespace {

Status require(bool holds, const char* what) {
  if (holds) return Ok{};
  return fail(ErrorCode::kInvalidArgument, std::string("rotary embedding: ") + what);
}

bool is_positive(double value) { return std::isfinite(value) && value > 0.0; }

bool are_positive(std::span<const float> values) {
  return std::ranges::all_of(values, [](float v) { return is_positive(v); });
}

Status check_scaling(const RopeConfig& c) {
  const auto pairs = static_cast<size_t>(c.rotary_dims / 2);
  const bool has_original = c.original_context > 0;
  switch (c.scaling) {
    case RopeScaling::kNone:
      return Ok{};
    case RopeScaling::kLinear:
      return require(is_positive(c.factor), "the linear factor must be positive");
    case RopeScaling::kDynamicNtk:
      KVERN_TRY_STATUS(require(c.rotary_dims > 2, "dynamic scaling needs more than two dimensions"));
      return require(std::isfinite(c.factor) && c.factor >= 1.0 && has_original,
                     "dynamic scaling needs a factor >= 1 and the original context");
    case RopeScaling::kLlama3:
      return require(is_positive(c.factor) && has_original && is_positive(c.low_freq_factor) &&
                         std::isfinite(c.high_freq_factor) && c.high_freq_factor > c.low_freq_factor,
                     "llama3 scaling needs a positive factor, the original context and frequency factors "
                     "with 0 < low < high");
    case RopeScaling::kYarn:
      return require(
          is_positive(c.factor) && has_original && is_positive(c.beta_fast) && is_positive(c.beta_slow) &&
              c.theta > 1.0,
          "yarn scaling needs a positive factor, the original context, positive betas and a base above 1");
    case RopeScaling::kLongRope:
      KVERN_TRY_STATUS(require(c.short_factors.size() == pairs && c.long_factors.size() == pairs,
                               "longrope needs one short and one long factor for each pair"));
      KVERN_TRY_STATUS(require(are_positive(c.short_factors) && are_positive(c.long_factors),
                               "longrope factors must be positive"));
      return require(is_positive(c.factor) && c.original_context > 1,
                     "longrope needs a positive factor and the original context");
  }
  return require(false, "unknown scaling");
}

Status check_config(const RopeConfig& c) {
  KVERN_TRY_STATUS(require(c.rotary_dims > 0 && c.rotary_dims % 2 == 0 && c.rotary_dims <= 65536,
                           "the number of rotary dimensions must be even and positive"));
  KVERN_TRY_STATUS(require(is_positive(c.theta), "the base must be positive"));
  KVERN_TRY_STATUS(require(c.freq_factors.empty() || std::ssize(c.freq_factors) == c.rotary_dims / 2,
                           "frequency factors must be as many as pairs"));
  KVERN_TRY_STATUS(require(are_positive(c.freq_factors), "frequency factors must be positive"));
  KVERN_TRY_STATUS(require(!c.attention_factor || is_positive(*c.attention_factor),
                           "the attention factor must be positive"));
  return check_scaling(c);
}

/// 1 / base^(2i / dims), with transformers' f32 steps: exponent, power and quotient are rounded to f32.
std::vector<float> plain_frequencies(double base, int64_t dims) {
  std::vector<float> out(static_cast<size_t>(dims / 2));
  for (size_t i = 0; i < out.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(dims);
    out[i] = 1.0F / static_cast<float>(std::pow(base, static_cast<double>(exponent)));
  }
  return out;
}

double dynamic_base(const RopeConfig& c) {
  const auto original = static_cast<double>(c.original_context);
  const double longest = std::max(static_cast<double>(c.context), original);
  const auto dims = static_cast<double>(c.rotary_dims);
  return c.theta * std::pow(c.factor * longest / original - (c.factor - 1.0), dims / (dims - 2.0));
}

void scale_llama3(const RopeConfig& c, std::vector<float>& frequencies) {
  const auto original = static_cast<double>(c.original_context);
  const double longest_kept = original / c.high_freq_factor;
  const double shortest_scaled = original / c.low_freq_factor;
  for (float& f : frequencies) {
    const double wavelength = 2.0 * std::numbers::pi / static_cast<double>(f);
    if (wavelength < longest_kept) continue;
    const float slow = static_cast<float>(static_cast<double>(f) / c.factor);
    if (wavelength > shortest_scaled) {
      f = slow;
      continue;
    }
    const double smooth =
        (original / wavelength - c.low_freq_factor) / (c.high_freq_factor - c.low_freq_factor);
    f = static_cast<float>((1.0 - smooth) * static_cast<double>(slow) + smooth * static_cast<double>(f));
  }
}

void scale_yarn(const RopeConfig& c, std::vector<float>& frequencies) {
  const auto dims = static_cast<double>(c.rotary_dims);
  // The dimension whose wavelength fits `rotations` times into the original context.
  const auto dimension_of = [&](double rotations) {
    return dims * std::log(static_cast<double>(c.original_context) / (rotations * 2.0 * std::numbers::pi)) /
           (2.0 * std::log(c.theta));
  };
  double low = dimension_of(c.beta_fast);
  double high = dimension_of(c.beta_slow);
  if (c.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dims - 1.0);
  if (low == high) high += 0.001;  // as transformers: no division by zero
  const std::vector<float> plain = frequencies;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    const auto kept = static_cast<float>(1.0 - static_cast<float>(ramp));
    const auto slow = static_cast<float>(1.0 / (c.factor / static_cast<double>(plain[i])));
    frequencies[i] = slow * (1.0F - kept) + plain[i] * kept;
  }
}

double yarn_mscale(double factor, double mscale) {
  return factor <= 1.0 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

double derived_attention_factor(const RopeConfig& c) {
  if (c.scaling == RopeScaling::kYarn) {
    if (c.attention_factor) return *c.attention_factor;
    if (c.mscale && c.mscale_all_dim && *c.mscale != 0.0 && *c.mscale_all_dim != 0.0) {
      return yarn_mscale(c.factor, *c.mscale) / yarn_mscale(c.factor, *c.mscale_all_dim);
    }
    return yarn_mscale(c.factor, 1.0);
  }
  if (c.scaling == RopeScaling::kLongRope) {
    if (c.attention_factor) return *c.attention_factor;
    if (c.factor <= 1.0) return 1.0;
    return std::sqrt(1.0 + std::log(c.factor) / std::log(static_cast<double>(c.original_context)));
  }
  return 1.0;
}

std::vector<float> longrope_frequencies(const RopeConfig& c) {
  const auto& factors = c.context > c.original_context ? c.long_factors : c.short_factors;
  std::vector<float> out(factors.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(c.rotary_dims);
    const auto power = static_cast<float>(std::pow(c.theta, static_cast<double>(exponent)));
    out[i] = 1.0F / (factors[i] * power);
  }
  return out;
}

std::vector<float> scaled_frequencies(const RopeConfig& c) {
  if (c.scaling == RopeScaling::kLongRope) return longrope_frequencies(c);
  const double base = c.scaling == RopeScaling::kDynamicNtk ? dynamic_base(c) : c.theta;
  std::vector<float> frequencies = plain_frequencies(base, c.rotary_dims);
  if (c.scaling == RopeScaling::kLlama3) scale_llama3(c, frequencies);
  if (c.scaling == RopeScaling::kYarn) scale_yarn(c, frequencies);
  if (c.scaling == RopeScaling::kLinear) {
    for (float& f : frequencies) f /= static_cast<float>(c.factor);
  }
  return frequencies;
}

}  // namespace

Result<RopeTable> RopeTable::create(const RopeConfig& config) {
  KVERN_TRY_STATUS(check_config(config));
  RopeTable table;
  table.pairing_ = config.pairing;
  table.inverse_frequencies_ = scaled_frequencies(config);
  for (size_t i = 0; i < config.freq_factors.size(); ++i) {
    table.inverse_frequencies_[i] /= config.freq_factors[i];
  }
  table.attention_factor_ = static_cast<float>(derived_attention_factor(config));
  return table;
}

void RopeAngles::prepare(const RopeTable& table, std::span<const int64_t> positions) {
  pairing_ = table.pairing();
  tokens_ = std::ssize(positions);
  const auto frequencies = table.inverse_frequencies();
  pairs_ = std::ssize(frequencies);
  values_.resize(positions.size() * 2 * frequencies.size());
  float* out = values_.data();
  for (const int64_t position : positions) {
    KVERN_CHECK(position >= 0 && position <= (int64_t{1} << 24));
    for (size_t i = 0; i < frequencies.size(); ++i) {
      const float angle = static_cast<float>(position) * frequencies[i];
      const auto cosine = static_cast<float>(std::cos(static_cast<double>(angle)));
      const auto sine = static_cast<float>(std::sin(static_cast<double>(angle)));
      out[i] = cosine * table.attention_factor();
      out[i + frequencies.size()] = sine * table.attention_factor();
    }
    out += 2 * frequencies.size();
  }
}

}  // namespace kvern::compute
