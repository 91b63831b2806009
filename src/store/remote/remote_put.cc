// Saving to a Redis server: blocks that are not there yet, the manifest, then the links that lead to it.
#include <algorithm>
#include <utility>

#include "store/block/manifest_format.h"
#include "store/remote/remote_store.h"

namespace kvern::store {
namespace {

/// What a server takes as one value (proto-max-bulk-len).
constexpr size_t kMostValue = (size_t{512} << 20) - 1;
/// Blocks that are asked for and sent in one go.
constexpr size_t kBatchBytes = size_t{4} << 20;
constexpr size_t kBatchLinks = 256;

}  // namespace

/// One entry on its way to the server.
class RemoteStore::Saver {
 public:
  Saver(RemoteStore& store, const NewEntry& entry)
      : store_(store), entry_(entry), seconds_(store.options_.seconds_to_live) {
    if (entry.seconds_to_live > 0)
      seconds_ = seconds_ > 0 ? std::min(seconds_, entry.seconds_to_live) : entry.seconds_to_live;
  }

  Result<bool> run() {
    const auto since = store_.clock_.wall_now().time_since_epoch();
    const int64_t now = std::chrono::duration_cast<std::chrono::seconds>(since).count();
    KVERN_TRY(const Manifest manifest,
              pack_entry(entry_, {.page = store_.options_.chain.page, .created_seconds = now},
                         [this](PackedBlock block) { return add(std::move(block)); }));
    KVERN_TRY_STATUS(send_blocks());
    const EncodedManifest encoded = encode_manifest(manifest);
    if (encoded.bytes.size() > kMostValue) return false;
    const RedisCommand command = set(store_.keys_.manifest(encoded.name), encoded.bytes);
    KVERN_TRY_STATUS(send({&command, 1}, encoded.bytes.size()));
    KVERN_TRY_STATUS(send_links(encoded.name));
    return true;
  }

 private:
  RedisCommand set(const std::string& key, std::span<const std::byte> value) const {
    RedisCommand command{"SET", key};
    command.borrow(value);
    if (seconds_ > 0) command.add("EX").add(seconds_);
    return command;
  }
  // Whether it is there; it stays as long as the entry then.
  RedisCommand keep(const std::string& key) const {
    if (seconds_ == 0) return {"EXISTS", key};
    return std::move(RedisCommand{"EXPIRE", key}.add(seconds_));
  }

  Status send(std::span<const RedisCommand> commands, uint64_t bytes) {
    KVERN_TRY(const auto replies, store_.client_.call({.commands = commands, .bytes = bytes}));
    for (const RedisReply& reply : replies) KVERN_TRY_STATUS(check_reply(reply, RedisReply::Type::kText, 0));
    store_.counters_.bytes_written += bytes;
    return Ok{};
  }

  Status add(PackedBlock block) {
    if (block.bytes.size() > kMostValue)
      return fail(ErrorCode::kExhausted, "a block is larger than a Redis server takes");
    bytes_ += block.bytes.size();
    blocks_.push_back(std::move(block));
    return bytes_ >= kBatchBytes ? send_blocks() : Status(Ok{});
  }

  Status send_blocks() {
    if (blocks_.empty()) return Ok{};
    std::vector<RedisCommand> asks;
    asks.reserve(blocks_.size());
    for (const PackedBlock& block : blocks_) asks.push_back(keep(store_.keys_.block(block.name)));
    KVERN_TRY(const auto there, store_.client_.call({.commands = asks}));
    std::vector<RedisCommand> sets;
    uint64_t bytes = 0;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      KVERN_TRY_STATUS(check_reply(there[i], RedisReply::Type::kInteger, 0));
      if (there[i].integer == 1) continue;
      sets.push_back(set(store_.keys_.block(blocks_[i].name), blocks_[i].bytes.bytes()));
      bytes += blocks_[i].bytes.size();
    }
    if (!sets.empty()) KVERN_TRY_STATUS(send(sets, bytes));
    store_.counters_.blocks_written += sets.size();
    store_.counters_.blocks_reused += blocks_.size() - sets.size();
    blocks_.clear();
    bytes_ = 0;
    return Ok{};
  }

  // Two who do this at once may lose one of their entries at a link: it is found by its other links, or not.
  Status send_links(const ContentName& manifest) {
    const auto links = prefix_chain(entry_.space->root, entry_.tokens, store_.options_.chain);
    for (size_t begin = 0; begin < links.size(); begin += kBatchLinks) {
      const size_t count = std::min(kBatchLinks, links.size() - begin);
      KVERN_TRY(auto entries, store_.read_links(std::span(links).subspan(begin, count)));
      std::vector<std::vector<std::byte>> values;
      for (size_t i = 0; i < count; ++i) {
        add_here(entries[i], begin + i, manifest);
        values.push_back(encode_link(entries[i]));
      }
      std::vector<RedisCommand> sets;
      uint64_t bytes = 0;
      for (size_t i = 0; i < count; ++i) {
        sets.push_back(set(store_.keys_.link(links[begin + i]), values[i]));
        bytes += values[i].size();
      }
      KVERN_TRY_STATUS(send(sets, bytes));
    }
    return Ok{};
  }

  // A link before which the entry cannot be cut only says that it is known.
  void add_here(std::vector<LinkedEntry>& entries, size_t link, const ContentName& manifest) const {
    const auto page = static_cast<size_t>(store_.options_.chain.page);
    const auto rest = std::span(entry_.tokens).subspan(link * page);
    const auto next = rest.first(std::min(page, rest.size()));
    const auto reach = static_cast<int64_t>(link * page + next.size());
    if (reach < entry_.minimum_reusable) return;
    add_linked(entries, {.manifest = manifest,
                         .length = std::ssize(entry_.tokens),
                         .minimum = entry_.minimum_reusable,
                         .next = {next.begin(), next.end()}});
  }

  RemoteStore& store_;
  const NewEntry& entry_;
  int64_t seconds_;
  std::vector<PackedBlock> blocks_;
  size_t bytes_ = 0;
};

Result<bool> RemoteStore::put(const NewEntry& entry) {
  if (entry.tokens.empty()) return fail(ErrorCode::kInvalidArgument, "a saved prefix has at least one token");
  return Saver(*this, entry).run();
}

}  // namespace kvern::store
