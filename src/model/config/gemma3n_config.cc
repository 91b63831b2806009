#include "model/config/gemma3n_config.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kvern::model {
namespace {

// Above every published model; they keep products of sizes inside 64 bits.
constexpr int64_t kMaxStreams = 64;
constexpr int64_t kMaxWidth = int64_t{1} << 24;
constexpr int64_t kMaxTokens = int64_t{1} << 31;

double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

}  // namespace

float gate_cutoff(double sparsity) {
  if (!(sparsity > 0.0)) return -std::numeric_limits<float>::infinity();
  // Halving an interval that holds every answer: the distribution is monotonic and this is done once.
  double low = -40.0;
  double high = 40.0;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = 0.5 * (low + high);
    if (middle == low || middle == high) break;
    (normal_distribution(middle) < sparsity ? low : high) = middle;
  }
  return static_cast<float>(high);
}

Status check_gemma3n(const Gemma3nConfig& c, int64_t layers, const std::string& where) {
  const auto corrupt = [&](std::string reason) {
    return fail(ErrorCode::kCorrupt, std::move(reason), where);
  };
  const auto between = [&](std::string_view name, int64_t value, int64_t least, int64_t most) -> Status {
    if (value >= least && value <= most) return Ok{};
    return corrupt(fmt::format("{} is {}; it must lie between {} and {}", name, value, least, most));
  };
  KVERN_TRY_STATUS(between("the number of AltUp inputs", c.streams, 2, kMaxStreams));
  KVERN_TRY_STATUS(between("the active AltUp input", c.active_stream, 0, c.streams - 1));
  KVERN_TRY_STATUS(between("the rank of LAuReL", c.laurel_rank, 1, kMaxWidth));
  KVERN_TRY_STATUS(between("the width of the embeddings per layer", c.layer_embedding, 1, kMaxWidth));
  KVERN_TRY_STATUS(between("the vocabulary of the embeddings per layer", c.layer_vocab, 1, kMaxTokens));
  if (std::cmp_not_equal(c.gate_cutoffs.size(), layers))
    return corrupt(fmt::format("{} activation sparsities for {} layers", c.gate_cutoffs.size(), layers));
  for (const float cutoff : c.gate_cutoffs)
    if (std::isnan(cutoff) || cutoff == std::numeric_limits<float>::infinity())
      return corrupt(fmt::format("an activation sparsity gives a cutoff of {} deviations", cutoff));
  return Ok{};
}

std::string gemma3n_facts(const Gemma3nConfig& c) {
  return fmt::format("altup={} {} {}\nlaurel={}\nlayer_embedding={} {}\ngate_cutoffs={}\n", c.streams,
                     c.active_stream, c.scale_corrected, c.laurel_rank, c.layer_embedding, c.layer_vocab,
                     fmt::join(c.gate_cutoffs, " "));
}

}  // namespace kvern::model
