#include "engine/tiers/saved_prefixes.h"

#include <algorithm>
#include <utility>

#include "engine/tiers/prefix_spaces.h"
#include "store/disk/entry_names.h"

namespace kvern::engine {
namespace {

SavedPrefix saved_prefix(const store::ListedEntry& entry) {
  return {.name = entry.manifest.to_string(),
          .tokens = entry.length,
          .usable_tokens = entry.usable,
          .minimum_tokens = entry.minimum,
          .bytes = entry.bytes,
          .used_seconds = entry.used,
          .expires_seconds = entry.expires,
          .pinned = entry.pinned};
}

}  // namespace

SavedPrefixes::SavedPrefixes(const Parts& parts, store::PrefixIdentity identity, int64_t vocabulary)
    : parts_(parts),
      identity_(std::move(identity)),
      vocabulary_(vocabulary),
      sessions_(parts.files, parts.directory) {}

Result<std::unique_ptr<SavedPrefixes>> SavedPrefixes::create(const Parts& parts, const Engine& engine) {
  KVERN_TRY(store::PrefixIdentity identity, prefix_identity(engine));
  std::unique_ptr<SavedPrefixes> saved(
      new SavedPrefixes(parts, std::move(identity), engine.model().config().vocab));
  if (!parts.store.read_only()) KVERN_TRY_STATUS(saved->pin_sessions());
  return saved;
}

Status SavedPrefixes::pin_sessions() {
  KVERN_TRY(const auto sessions, sessions_.list());
  for (const store::Session& session : sessions) {
    // Entries are found by their root; what makes it up is another's affair.
    const store::PrefixSpace space{.identity = {}, .root = session.root};
    KVERN_TRY(const auto entry, covering_entry(space, session.tokens));
    if (entry && !entry->pinned) KVERN_TRY_STATUS(parts_.store.set_pinned(entry->manifest, true));
  }
  return Ok{};
}

store::PrefixSpace SavedPrefixes::space_of(const std::string& name_space) const {
  store::PrefixIdentity identity = identity_;
  identity.tenant = name_space;
  return store::make_prefix_space(std::move(identity));
}

Result<std::vector<store::ListedEntry>> SavedPrefixes::entries_of(const store::PrefixSpace& space) {
  KVERN_TRY(auto entries, parts_.store.list());
  std::erase_if(entries, [&](const store::ListedEntry& entry) { return entry.root != space.root; });
  return entries;
}

Result<store::ListedEntry> SavedPrefixes::entry_of(const std::string& name_space, std::string_view name) {
  KVERN_TRY(const auto entries, entries_of(space_of(name_space)));
  return store::entry_named(entries, name);
}

Result<std::vector<SavedPrefix>> SavedPrefixes::list(const std::string& name_space) {
  KVERN_TRY(const auto entries, entries_of(space_of(name_space)));
  std::vector<SavedPrefix> prefixes;
  prefixes.reserve(entries.size());
  for (const store::ListedEntry& entry : entries) prefixes.push_back(saved_prefix(entry));
  return prefixes;
}

Result<SavedPrefix> SavedPrefixes::find(const std::string& name_space, std::string_view name) {
  KVERN_TRY(const store::ListedEntry entry, entry_of(name_space, name));
  return saved_prefix(entry);
}

Result<SavedTotals> SavedPrefixes::totals(const std::string& name_space) {
  KVERN_TRY(const auto entries, entries_of(space_of(name_space)));
  SavedTotals totals;
  for (const store::ListedEntry& entry : entries) {
    ++totals.prefixes;
    totals.pinned += entry.pinned ? 1 : 0;
    totals.tokens += entry.length;
    totals.bytes += entry.bytes;
  }
  return totals;
}

Status SavedPrefixes::erase(const std::string& name_space, std::string_view name) {
  KVERN_TRY(const store::ListedEntry entry, entry_of(name_space, name));
  return parts_.store.erase(entry.manifest);
}

Status SavedPrefixes::set_pinned(const std::string& name_space, std::string_view name, bool pinned) {
  KVERN_TRY(const store::ListedEntry entry, entry_of(name_space, name));
  return pinned ? parts_.store.pin_within_share(entry.manifest)
                : parts_.store.set_pinned(entry.manifest, false);
}

Status SavedPrefixes::set_seconds_to_live(const std::string& name_space, std::string_view name,
                                          int64_t seconds) {
  KVERN_TRY(const store::ListedEntry entry, entry_of(name_space, name));
  return parts_.store.set_seconds_to_live(entry.manifest, seconds);
}

Result<std::optional<store::ListedEntry>> SavedPrefixes::covering_entry(const store::PrefixSpace& space,
                                                                        std::span<const int32_t> tokens) {
  // The last token of a prompt is never looked for.
  std::vector<int32_t> longer(tokens.begin(), tokens.end());
  longer.push_back(-1);
  KVERN_TRY(const auto hit, parts_.store.find(space, longer));
  if (!hit || hit->tokens != std::ssize(tokens)) return std::optional<store::ListedEntry>();
  const auto details = parts_.store.details(hit->manifest);
  if (details) return std::optional(details->entry);
  if (details.error().code != ErrorCode::kNotFound) return std::unexpected(details.error());
  return std::optional<store::ListedEntry>();
}

Result<std::optional<SavedPrefix>> SavedPrefixes::covering(const std::string& name_space,
                                                           std::span<const int32_t> tokens) {
  KVERN_TRY(const auto entry, covering_entry(space_of(name_space), tokens));
  return entry ? std::optional(saved_prefix(*entry)) : std::nullopt;
}

Result<SavedSession> SavedPrefixes::with_prefix(const store::PrefixSpace& space, store::Session session) {
  KVERN_TRY(const auto entry, covering_entry(space, session.tokens));
  return SavedSession{.name = std::move(session.name),
                      .created_seconds = session.created_seconds,
                      .tokens = std::move(session.tokens),
                      .prefix = entry ? std::optional(saved_prefix(*entry)) : std::nullopt};
}

Result<SavedSession> SavedPrefixes::save_session(const std::string& name_space, const std::string& name,
                                                 std::vector<int32_t> tokens) {
  const store::PrefixSpace space = space_of(name_space);
  const MutexLock lock(mutex_);
  KVERN_TRY(const auto entry, covering_entry(space, tokens));
  if (!entry) return fail(ErrorCode::kNotFound, "the prefix is not saved");
  // The pin first: what has a name is never left to go.
  KVERN_TRY_STATUS(parts_.store.pin_within_share(entry->manifest));
  KVERN_TRY(const auto former, sessions_.find(space.root, name));
  const auto since = parts_.clock.wall_now().time_since_epoch();
  store::Session session{.name = name,
                         .root = space.root,
                         .created_seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count(),
                         .tokens = std::move(tokens)};
  KVERN_TRY_STATUS(sessions_.put(session));
  if (former) KVERN_TRY_STATUS(unpin(space, *former));
  return with_prefix(space, std::move(session));
}

// What a session that is gone had, unless others have it.
Status SavedPrefixes::unpin(const store::PrefixSpace& space, const store::Session& gone) {
  KVERN_TRY(const auto entry, covering_entry(space, gone.tokens));
  if (!entry || !entry->pinned) return Ok{};
  KVERN_TRY(const auto others, sessions_.list(space.root));
  for (const store::Session& other : others) {
    KVERN_TRY(const auto its, covering_entry(space, other.tokens));
    if (its && its->manifest == entry->manifest) return Ok{};
  }
  return parts_.store.set_pinned(entry->manifest, false);
}

Result<SavedSession> SavedPrefixes::session(const std::string& name_space, const std::string& name) {
  const store::PrefixSpace space = space_of(name_space);
  KVERN_TRY(auto found, sessions_.find(space.root, name));
  if (!found) return fail(ErrorCode::kNotFound, "there is no session of this name", "name");
  return with_prefix(space, *std::move(found));
}

Result<std::vector<SavedSession>> SavedPrefixes::sessions(const std::string& name_space) {
  const store::PrefixSpace space = space_of(name_space);
  KVERN_TRY(auto found, sessions_.list(space.root));
  std::vector<SavedSession> sessions;
  for (store::Session& session : found) {
    KVERN_TRY(SavedSession one, with_prefix(space, std::move(session)));
    sessions.push_back(std::move(one));
  }
  return sessions;
}

Status SavedPrefixes::forget_session(const std::string& name_space, const std::string& name) {
  const store::PrefixSpace space = space_of(name_space);
  const MutexLock lock(mutex_);
  KVERN_TRY(const auto found, sessions_.find(space.root, name));
  KVERN_TRY_STATUS(sessions_.erase(space.root, name));
  return found ? unpin(space, *found) : Status(Ok{});
}

Status SavedPrefixes::export_to(const std::string& name_space, std::string_view name, const ByteSink& sink) {
  KVERN_TRY(const store::ListedEntry entry, entry_of(name_space, name));
  KVERN_TRY([[maybe_unused]] const store::TransferReport report,
            store::export_entries(parts_.store, {&entry.manifest, 1}, sink));
  return Ok{};
}

Result<IncomingReport> SavedPrefixes::import_from(const std::string& name_space, const ByteSource& source,
                                                  bool pinned) {
  const store::PrefixSpace space = space_of(name_space);
  KVERN_TRY(
      IncomingReport report,
      store::import_entries(parts_.store, source,
                            {.model = space.identity.model, .space = space, .vocabulary = vocabulary_}));
  if (!pinned) return report;
  for (const store::ContentName& name : report.entries) KVERN_TRY_STATUS(parts_.store.pin_within_share(name));
  return report;
}

}  // namespace kvern::engine
