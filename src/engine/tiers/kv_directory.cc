#include "engine/tiers/kv_directory.h"

#include <utility>

#include <fmt/format.h>

#include "base/plural.h"
#include "engine/tiers/prefix_spaces.h"
#include "store/io/block_io.h"

namespace kvern::engine {
namespace {

Error unusable(Error error, const KvDirectoryOptions& options) {
  error.message = "saved prefixes cannot be kept there: " + error.message;
  if (!options.read_only && error.code == ErrorCode::kIo)
    error.message += "; it must be a directory that this user may write, or be opened for reading only";
  if (error.where.empty()) error.where = options.path;
  return error;
}

std::string megabytes(uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace

Result<std::unique_ptr<KvDirectory>> KvDirectory::open(const Parts& parts,
                                                       const KvDirectoryOptions& options) {
  std::unique_ptr<KvDirectory> directory(new KvDirectory);
  directory->options_ = options;
  directory->io_ = store::make_block_io(parts.files);
  auto store = store::DiskStore::open(
      {.files = parts.files, .io = *directory->io_, .clock = parts.clock, .log = parts.log},
      {.directory = options.path, .max_bytes = options.max_bytes, .read_only = options.read_only});
  if (!store) return std::unexpected(unusable(std::move(store).error(), options));
  directory->store_ = *std::move(store);
  directory->tier_ =
      std::make_unique<store::DiskTier>(*directory->store_, parts.log, store::DiskTierOptions{});
  return directory;
}

Status KvDirectory::add_to(TierOptions& options, const Engine& engine) {
  KVERN_TRY_STATUS(set_identity(options, engine));
  options.tiers.push_back({.tier = tier_.get(), .saves = !options_.read_only});
  return Ok{};
}

std::string KvDirectory::summary() {
  if (options_.read_only) return "for reading only";
  const store::TierStats stats = tier_->stats();
  std::string text =
      counted(static_cast<int64_t>(stats.entries), "entry", "entries") + ", " + megabytes(stats.bytes);
  if (options_.max_bytes > 0) text += fmt::format(" of at most {}", megabytes(options_.max_bytes));
  return text;
}

}  // namespace kvern::engine
