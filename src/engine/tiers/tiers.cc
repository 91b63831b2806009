#include "engine/tiers/tiers.h"

#include <optional>
#include <utility>

namespace kvern::engine {

Tiers::Tiers(const Parts& parts, TierOptions options)
    : parts_(parts),
      options_(std::move(options)),
      spaces_(options_.identity),
      writes_({.kv = parts.kv, .spaces = spaces_, .prefixes = parts.prefixes, .clock = parts.clock},
              options_),
      restores_(options_.tiers.size()) {}

bool Tiers::ready(std::string_view name_space, std::span<const int32_t> prompt, int64_t known) {
  if (known + options_.least_tokens >= std::ssize(prompt)) return true;
  const auto space = spaces_.of(name_space);
  bool all = true;
  for (const LoopTier& tier : options_.tiers) all &= tier.tier->ready(space, prompt);
  return all;
}

std::unique_ptr<PrefixRestore> Tiers::find(std::string_view name_space, std::span<const int32_t> prompt,
                                           int64_t known) {
  if (options_.identity_holds && !options_.identity_holds()) return nullptr;
  const auto space = spaces_.of(name_space);
  std::optional<store::TierHit> best;
  size_t found = 0;
  for (size_t i = 0; i < options_.tiers.size(); ++i) {
    const int64_t more_than = (best ? best->tokens : known) + options_.least_tokens - 1;
    if (more_than >= std::ssize(prompt) - 1) break;
    auto hit = options_.tiers[i].tier->lookup(space, prompt, more_than);
    if (!hit) continue;
    best = std::move(hit);
    found = i;
  }
  if (!best) return nullptr;
  const auto tokens = prompt.first(static_cast<size_t>(best->tokens));
  return std::make_unique<PrefixRestore>(
      parts_.kv,
      PrefixRestore::Wanted{.name_space = std::string(name_space),
                            .tokens = {tokens.begin(), tokens.end()},
                            .tier = found,
                            .deadline = parts_.clock.now() + options_.tiers[found].restore_timeout},
      *std::move(best));
}

void Tiers::distrust(std::string_view name_space, std::span<const int32_t> tokens) {
  for (const LoopTier& tier : options_.tiers)
    tier.tier->distrust(spaces_.of(name_space), {tokens.begin(), tokens.end()});
}

void Tiers::count(const PrefixRestore& restore, int64_t tokens) {
  RestoreCounts& counts = restores_[restore.tier()];
  ++counts.restores;
  counts.tokens += static_cast<uint64_t>(tokens);
  counts.bytes += restore.copied_bytes();
  if (tokens < std::ssize(restore.tokens())) ++counts.cut_short;
}

}  // namespace kvern::engine
