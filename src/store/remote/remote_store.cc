// Finding and reading; saving is in remote_put.cc.
#include "store/remote/remote_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "store/block/block_format.h"
#include "store/block/manifest_format.h"

namespace kvern::store {
namespace {

/// Links that are read at first, around the deepest that seems to be known; then twice as many above, and so
/// on.
constexpr size_t kFirstBelow = 4;
constexpr size_t kFirstAbove = 4;

// What a link's entries give of a prompt, the most first.
std::vector<IndexHit> usable_at(std::span<const LinkedEntry> entries, std::span<const int32_t> prompt,
                                size_t link_tokens) {
  const auto most = std::ssize(prompt) - 1;
  const auto rest = prompt.subspan(link_tokens);
  std::vector<IndexHit> hits;
  for (const LinkedEntry& entry : entries) {
    const auto common = std::ranges::mismatch(entry.next, rest).in1 - entry.next.begin();
    const int64_t tokens = std::min({static_cast<int64_t>(link_tokens) + common, most, entry.length});
    if (tokens < 1 || tokens < entry.minimum) continue;
    hits.push_back(
        {.manifest = entry.manifest, .tokens = tokens, .length = entry.length, .minimum = entry.minimum});
  }
  std::ranges::stable_sort(hits, std::greater<>(), &IndexHit::tokens);
  return hits;
}

}  // namespace

RemoteStore::RemoteStore(RemoteOptions options, const Clock& clock, LogSink& log)
    : options_(std::move(options)),
      clock_(clock),
      log_(log),
      client_(options_.client, clock, log),
      keys_(options_.chain.page) {}

Result<std::vector<std::vector<LinkedEntry>>> RemoteStore::read_links(std::span<const Sha256Digest> links) {
  RedisCommand get{"MGET"};
  for (const Sha256Digest& link : links) get.add(keys_.link(link));
  KVERN_TRY(const auto replies, client_.call({.commands = {&get, 1}}));
  KVERN_TRY_STATUS(check_reply(replies[0], RedisReply::Type::kList, links.size()));
  std::vector<std::vector<LinkedEntry>> all;
  for (const RedisReply& item : replies[0].items) all.push_back(decode_link(item.bytes()));
  return all;
}

// The entries whose manifests are still there.
Result<std::optional<IndexHit>> RemoteStore::first_there(std::span<const IndexHit> hits) {
  std::vector<RedisCommand> commands;
  for (const IndexHit& hit : hits) commands.push_back(RedisCommand{"EXISTS", keys_.manifest(hit.manifest)});
  KVERN_TRY(const auto replies, client_.call({.commands = commands}));
  for (size_t i = 0; i < hits.size(); ++i) {
    if (replies[i].type == RedisReply::Type::kInteger && replies[i].integer == 1)
      return std::optional(hits[i]);
  }
  return std::optional<IndexHit>();
}

Result<std::optional<IndexHit>> RemoteStore::find(const PrefixSpace& space, std::span<const int32_t> prompt) {
  ++counters_.lookups;
  if (prompt.size() < 2) return std::optional<IndexHit>();
  const auto links = prefix_chain(space.root, prompt, options_.chain);
  // Beginnings of what is known are known, too, so their number says how deep it goes. It says little when
  // some keys are gone: hence some more on both sides.
  RedisCommand touch{"TOUCH"};
  for (const Sha256Digest& link : links) touch.add(keys_.link(link));
  KVERN_TRY(const auto known, client_.call({.commands = {&touch, 1}}));
  KVERN_TRY_STATUS(check_reply(known[0], RedisReply::Type::kInteger, 0));
  if (known[0].integer <= 0) return std::optional<IndexHit>();
  const auto depth = static_cast<size_t>(known[0].integer);
  size_t end = std::min(links.size(), depth + kFirstAbove);
  size_t count = kFirstBelow + kFirstAbove;
  while (end > 0) {
    const size_t begin = end - std::min(end, count);
    KVERN_TRY(const auto entries, read_links(std::span(links).subspan(begin, end - begin)));
    for (size_t k = end; k-- > begin;) {
      const auto hits = usable_at(entries[k - begin], prompt, k * static_cast<size_t>(options_.chain.page));
      if (hits.empty()) continue;
      KVERN_TRY(const auto hit, first_there(hits));
      if (!hit) {
        ++losses_;
        continue;
      }
      ++counters_.hits;
      return hit;
    }
    end = begin;
    count *= 2;
  }
  return std::optional<IndexHit>();
}

Error RemoteStore::report_damage(const std::string& key, const Error& error) {
  ++losses_;
  if (error.code != ErrorCode::kCorrupt) return error;
  ++counters_.damaged;
  log_.log(LogLevel::kWarning, "what a remote key holds cannot be used: " + error.to_string());
  const RedisCommand remove{"DEL", key};
  // Best effort: the error that led here is the one to report.
  static_cast<void>(client_.call({.commands = {&remove, 1}}));
  return error;
}

Result<Manifest> RemoteStore::load(const PrefixSpace& space, std::span<const int32_t> prompt,
                                   const IndexHit& hit) {
  const std::string key = keys_.manifest(hit.manifest);
  const RedisCommand get{"GET", key};
  KVERN_TRY(const auto replies, client_.call({.commands = {&get, 1}, .bytes = uint64_t{1} << 20}));
  if (replies[0].type != RedisReply::Type::kText) {
    ++losses_;
    return fail(ErrorCode::kNotFound, "the remote tier has this prefix no more", hit.manifest.to_string());
  }
  counters_.bytes_read += replies[0].text.size();
  auto manifest = decode_manifest(hit.manifest, replies[0].bytes(), BlockCheck::kName);
  if (!manifest) return std::unexpected(report_damage(key, manifest.error()));
  if (!is_entry_of(*manifest,
                   {.space = space, .prompt = prompt, .tokens = hit.tokens, .page = options_.chain.page})) {
    ++losses_;
    return fail(ErrorCode::kNotFound, "the remote tier named an entry of another prefix",
                hit.manifest.to_string());
  }
  return manifest;
}

std::vector<Result<LoadedPiece>> RemoteStore::read(const Manifest& manifest, std::span<const size_t> pieces) {
  std::vector<RedisCommand> commands;
  uint64_t bytes = 0;
  for (const size_t index : pieces) {
    const ManifestPiece& piece = manifest.pieces.at(index);
    if (!piece.block) continue;
    commands.push_back(RedisCommand{"GET", keys_.block(*piece.block)});
    bytes += block_bytes_of(manifest, index);
  }
  const auto replies = commands.empty() ? Result<std::vector<RedisReply>>()
                                        : client_.call({.commands = commands, .bytes = bytes});
  std::vector<Result<LoadedPiece>> loaded;
  size_t next = 0;
  for (const size_t index : pieces) {
    if (!manifest.pieces[index].block) {
      loaded.push_back(LoadedPiece{.buffer = {}, .bytes = manifest.pieces[index].data});
    } else if (!replies) {
      loaded.push_back(std::unexpected(replies.error()));
    } else {
      loaded.push_back(check_piece(manifest, index, (*replies)[next++]));
    }
  }
  return loaded;
}

Result<LoadedPiece> RemoteStore::check_piece(const Manifest& manifest, size_t index,
                                             const RedisReply& reply) {
  const ContentName& name = *manifest.pieces[index].block;
  if (reply.type != RedisReply::Type::kText) {
    ++losses_;
    return fail(ErrorCode::kNotFound, "the remote tier has this block no more", name.to_string());
  }
  counters_.bytes_read += reply.text.size();
  LoadedPiece piece{.buffer = AlignedBuffer(reply.text.size()), .bytes = {}};
  std::ranges::copy(reply.bytes(), piece.buffer.bytes().begin());
  const auto view = decode_block(name, piece.buffer.bytes(), BlockCheck::kName);
  if (!view) return std::unexpected(report_damage(keys_.block(name), view.error()));
  if (view->info != block_info_of(manifest, index)) {
    ++losses_;
    return fail(ErrorCode::kCorrupt, "a block is not what its manifest says", name.to_string());
  }
  piece.bytes = view->payload;
  return piece;
}

void RemoteStore::distrust(const PrefixSpace& space, std::span<const int32_t> tokens) {
  for_entries_of(
      tokens, [&](std::span<const int32_t> prompt) { return find(space, prompt); },
      [&](const ContentName& name) {
        static_cast<void>(report_damage(keys_.manifest(name), no_good(name)));
      });
}

Status RemoteStore::erase(const PrefixSpace& space, std::span<const int32_t> tokens) {
  const auto links = prefix_chain(space.root, tokens, options_.chain);
  const auto page = static_cast<size_t>(options_.chain.page);
  const auto rest = tokens.subspan(tokens.size() / page * page);
  KVERN_TRY(const auto entries, read_links(std::span(links).last(1)));
  for (const LinkedEntry& entry : entries[0]) {
    if (entry.length != std::ssize(tokens) || !std::ranges::equal(entry.next, rest)) continue;
    ++losses_;
    const RedisCommand remove{"DEL", keys_.manifest(entry.manifest)};
    KVERN_TRY(const auto replies, client_.call({.commands = {&remove, 1}}));
    KVERN_TRY_STATUS(check_reply(replies[0], RedisReply::Type::kInteger, 0));
    if (replies[0].integer == 1) return Ok{};
  }
  return fail(ErrorCode::kNotFound, "no such saved prefix");
}

RemoteStats RemoteStore::stats() const {
  return {.lookups = counters_.lookups,
          .hits = counters_.hits,
          .blocks_written = counters_.blocks_written,
          .blocks_reused = counters_.blocks_reused,
          .bytes_written = counters_.bytes_written,
          .bytes_read = counters_.bytes_read,
          .damaged = counters_.damaged,
          .failures = client_.failures()};
}

}  // namespace kvern::store
