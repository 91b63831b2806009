// Saved prefixes in a Redis server that several machines share: the same blocks and manifests as in a
// directory, under their names, and a key for each page of a beginning, so that a lookup takes two or three
// round trips whatever the length.
//
// What the server holds is a cache: keys may go at any time, by their time to live or because it needs room.
// What is read is checked: name, checksum, identity, tokens. What is damaged or missing is a miss.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "store/block/manifest.h"
#include "store/disk/entry_parts.h"
#include "store/disk/new_entry.h"
#include "store/index/prefix_lookup.h"
#include "store/prefix/prefix_chain.h"
#include "store/remote/redis_client.h"
#include "store/remote/remote_keys.h"
#include "store/tier/restore_source.h"

namespace kvern::store {

struct RemoteOptions {
  RedisClientOptions client;
  int64_t seconds_to_live = 7 * 24 * 3600;  ///< of keys since they were last saved; 0 = for ever
  ChainOptions chain;
};

struct RemoteStats {
  uint64_t lookups = 0;
  uint64_t hits = 0;
  uint64_t blocks_written = 0;
  uint64_t blocks_reused = 0;
  uint64_t bytes_written = 0;
  uint64_t bytes_read = 0;
  uint64_t damaged = 0;   ///< keys whose content was wrong; they are removed
  uint64_t failures = 0;  ///< calls that were not answered in time, or not at all
};

/// Thread-safe. Every call is bound by the client's deadlines.
class RemoteStore final : public RestoreSource {
 public:
  /// Borrowed: `clock`, `log`.
  RemoteStore(RemoteOptions options, const Clock& clock, LogSink& log);

  bool may_call() const { return client_.may_call(); }
  /// False when the server cannot hold so much in one value.
  Result<bool> put(const NewEntry& entry);
  /// As DiskStore::find, as far as the server's keys tell.
  Result<std::optional<IndexHit>> find(const PrefixSpace& space, std::span<const int32_t> prompt);
  /// kNotFound when there is no entry of exactly these tokens.
  Status erase(const PrefixSpace& space, std::span<const int32_t> tokens);

  Result<Manifest> load(const PrefixSpace& space, std::span<const int32_t> prompt,
                        const IndexHit& hit) override;
  std::vector<Result<LoadedPiece>> read(const Manifest& manifest, std::span<const size_t> pieces) override;
  void distrust(const PrefixSpace& space, std::span<const int32_t> tokens) override;

  RemoteStats stats() const;
  /// Goes up whenever something was not there, or not right, that should have been.
  uint64_t losses() const { return losses_; }

 private:
  class Saver;
  Result<std::vector<std::vector<LinkedEntry>>> read_links(std::span<const Sha256Digest> links);
  Result<std::optional<IndexHit>> first_there(std::span<const IndexHit> hits);
  Result<LoadedPiece> check_piece(const Manifest& manifest, size_t piece, const RedisReply& reply);
  Error report_damage(const std::string& key, const Error& error);

  const RemoteOptions options_;
  const Clock& clock_;
  LogSink& log_;
  RedisClient client_;
  RemoteKeys keys_;
  std::atomic<uint64_t> losses_ = 0;
  struct Counters {
    std::atomic<uint64_t> lookups = 0, hits = 0, blocks_written = 0, blocks_reused = 0, bytes_written = 0,
                          bytes_read = 0, damaged = 0;
  };
  Counters counters_;
};

}  // namespace kvern::store
