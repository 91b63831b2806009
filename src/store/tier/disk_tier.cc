#include "store/tier/disk_tier.h"

#include <utility>

namespace kvern::store {

DiskTier::DiskTier(DiskStore& store, LogSink& log, const DiskTierOptions& options)
    : store_(store),
      source_(store),
      log_(log),
      restores_(source_, options.restores),
      writes_("disk", [this](const NewEntry& entry) { return save(entry); }, log, options.writes) {}

Result<Manifest> DiskTier::Source::load(const PrefixSpace& space, std::span<const int32_t> prompt,
                                        const IndexHit& hit) {
  KVERN_TRY(Manifest manifest, store_.load(space, prompt, hit));
  store_.touch(hit.manifest);
  return manifest;
}

Result<bool> DiskTier::save(const NewEntry& entry) {
  KVERN_TRY(const PutOutcome outcome, store_.put(entry));
  return outcome != PutOutcome::kTooLarge;
}

std::optional<TierHit> DiskTier::lookup(std::shared_ptr<const PrefixSpace> space,
                                        std::span<const int32_t> prompt, int64_t more_than) {
  const auto hit = store_.find(*space, prompt);
  if (!hit) {
    log_.log(LogLevel::kWarning, "saved prefixes cannot be looked up: " + hit.error().to_string());
    return std::nullopt;
  }
  if (!*hit || (*hit)->tokens <= more_than) return std::nullopt;
  return TierHit{.tokens = (*hit)->tokens, .restore = restores_.start(std::move(space), prompt, **hit)};
}

bool DiskTier::covers(const PrefixSpace& space, std::span<const int32_t> tokens) {
  return store_.covers(space, tokens).value_or(false);
}

Status DiskTier::erase(const PrefixSpace& space, std::span<const int32_t> tokens) {
  KVERN_TRY(const auto hit, store_.find_exact(space, tokens));
  if (!hit) return fail(ErrorCode::kNotFound, "no such saved prefix");
  return store_.erase(hit->manifest);
}

TierStats DiskTier::stats() {
  TierStats stats = writes_.stats();
  const auto disk = store_.stats();
  if (!disk) return stats;
  stats.entries = disk->totals.entries;
  stats.bytes = disk->totals.bytes;
  stats.pinned_bytes = disk->totals.pinned_bytes;
  stats.other_bytes = disk->other_bytes;
  stats.evicted = disk->evicted;
  stats.lookups = disk->lookups;
  stats.hits = disk->hits;
  stats.blocks_written = disk->blocks_written;
  stats.blocks_reused = disk->blocks_reused;
  stats.bytes_written = disk->bytes_written;
  stats.bytes_read = disk->bytes_read;
  stats.damaged = disk->damaged;
  return stats;
}

}  // namespace kvern::store
