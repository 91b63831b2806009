// A DiskStore as a tier: saves and restores on threads of their own.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "store/disk/disk_store.h"
#include "store/tier/restore_queue.h"
#include "store/tier/restore_source.h"
#include "store/tier/tier.h"
#include "store/tier/write_queue.h"

namespace kvern::store {

struct DiskTierOptions {
  WriteQueueOptions writes;
  RestoreQueueOptions restores;
};

class DiskTier final : public Tier {
 public:
  /// `store` and `log` are borrowed.
  DiskTier(DiskStore& store, LogSink& log, const DiskTierOptions& options);

  bool offer(NewEntry entry) override { return writes_.push(std::move(entry)); }
  void set_busy(bool busy) override { writes_.set_busy(busy); }
  std::optional<TierHit> lookup(std::shared_ptr<const PrefixSpace> space, std::span<const int32_t> prompt,
                                int64_t more_than) override;
  bool covers(const PrefixSpace& space, std::span<const int32_t> tokens) override;
  Status erase(const PrefixSpace& space, std::span<const int32_t> tokens) override;
  void distrust(std::shared_ptr<const PrefixSpace> space, std::vector<int32_t> tokens) override {
    restores_.distrust(std::move(space), std::move(tokens));
  }
  FlushReport flush(std::chrono::steady_clock::time_point deadline) override {
    return writes_.flush(deadline);
  }
  TierStats stats() override;

 private:
  /// What is restored counts as used.
  class Source final : public RestoreSource {
   public:
    explicit Source(DiskStore& store) : store_(store) {}
    Result<Manifest> load(const PrefixSpace& space, std::span<const int32_t> prompt,
                          const IndexHit& hit) override;
    std::vector<Result<LoadedPiece>> read(const Manifest& manifest, std::span<const size_t> pieces) override {
      return store_.read(manifest, pieces);
    }
    void distrust(const PrefixSpace& space, std::span<const int32_t> tokens) override {
      store_.distrust(space, tokens);
    }

   private:
    DiskStore& store_;
  };
  Result<bool> save(const NewEntry& entry);

  DiskStore& store_;
  Source source_;
  LogSink& log_;
  RestoreQueue restores_;
  WriteQueue writes_;
};

}  // namespace kvern::store
