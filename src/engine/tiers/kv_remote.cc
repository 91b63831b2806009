#include "engine/tiers/kv_remote.h"

#include <utility>

#include "engine/tiers/prefix_spaces.h"

namespace kvern::engine {
namespace {

constexpr uint64_t kMostPemBytes = uint64_t{4} << 20;
/// A server that has become slow gives what has come by then; the rest is computed.
constexpr std::chrono::seconds kRestoreTimeout{5};

}  // namespace

Result<std::unique_ptr<KvRemote>> KvRemote::open(const Parts& parts, const KvRemoteOptions& options) {
  std::unique_ptr<KvRemote> remote(new KvRemote);
  store::RemoteOptions store{
      .client = {.timeout = options.timeout},
      .seconds_to_live = std::chrono::ceil<std::chrono::seconds>(options.time_to_live).count()};
  KVERN_TRY(store.client.url, store::parse_redis_url(options.url));
  if (!options.authorities.empty()) {
    KVERN_TRY(store.client.trust.authorities_pem, read_file(parts.files, options.authorities, kMostPemBytes));
  }
  remote->name_ = store.client.url.to_string();
  remote->store_ = std::make_unique<store::RemoteStore>(std::move(store), parts.clock, parts.log);
  remote->tier_ = std::make_unique<store::RemoteTier>(
      *remote->store_, parts.log, store::RemoteTierOptions{.lookup_wait = options.lookup_wait});
  return remote;
}

Status KvRemote::add_to(TierOptions& options, const Engine& engine) {
  KVERN_TRY_STATUS(set_identity(options, engine));
  options.tiers.push_back({.tier = tier_.get(), .is_cache = true, .restore_timeout = kRestoreTimeout});
  return Ok{};
}

}  // namespace kvern::engine
