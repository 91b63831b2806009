#include "store/index/prefix_index.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace kvern::store {

struct PrefixIndex::Statements {
  struct Text {
    SqlStatement Statements::* statement;
    const char* sql;
  };
  SqlStatement add_entry, add_content, add_step, add_link, fewer_links, delete_link, add_block, find_block,
      more_refs, add_use, id_of, at_link, entry, delete_entry, delete_content, delete_step, uses, fewer_refs,
      free_blocks, delete_free, delete_use, doom, undoom, doomed, block_bytes, lose_block, refresh, touch,
      pin, expire, oldest, expired, add_bytes, bytes;
};

namespace {

std::span<const std::byte> bytes_of(const ContentName& name) { return name.digest; }

ContentName name_in(const SqlStatement& statement, int column) {
  ContentName name;
  const auto bytes = statement.bytes(column);
  if (bytes.size() == name.digest.size()) std::memcpy(name.digest.data(), bytes.data(), bytes.size());
  return name;
}

std::vector<int32_t> tokens_in(std::span<const std::byte> bytes) {
  std::vector<int32_t> tokens(bytes.size() / sizeof(int32_t));
  if (!tokens.empty()) std::memcpy(tokens.data(), bytes.data(), tokens.size() * sizeof(int32_t));
  return tokens;
}

}  // namespace

void PrefixIndex::DeleteStatements::operator()(Statements* statements) const { delete statements; }

Result<std::unique_ptr<PrefixIndex>> PrefixIndex::open(const IndexFile& file, const ChainOptions& chain) {
  KVERN_TRY(OpenedIndex opened, open_index(file, chain.page));
  KVERN_TRY(PrefixLookup lookup, PrefixLookup::make(opened.database));
  std::unique_ptr<PrefixIndex> index(new PrefixIndex(std::move(opened), std::move(lookup), chain.hash));
  KVERN_TRY_STATUS(index->prepare());
  return index;
}

PrefixIndex::PrefixIndex(OpenedIndex opened, PrefixLookup lookup, ChainHash hash)
    : database_(std::make_unique<SqlDatabase>(std::move(opened.database))),
      lookup_(std::move(lookup)),
      page_(opened.page),
      chain_{.page = opened.page, .hash = hash},
      is_new_(opened.is_new),
      sql_(new Statements) {}

Status PrefixIndex::prepare() {
  using S = Statements;
  const S::Text texts[] = {
      {&S::add_entry, "INSERT INTO entry VALUES(NULL, ?1, ?2, ?3, ?4, ?3, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"},
      {&S::add_content, "INSERT INTO content VALUES(?1, ?2)"},
      {&S::add_link, "INSERT INTO link VALUES(?1, 1) ON CONFLICT(key) DO UPDATE SET refs = refs + 1"},
      {&S::fewer_links, "UPDATE link SET refs = refs - 1 WHERE key = ?1"},
      {&S::delete_link, "DELETE FROM link WHERE key = ?1 AND refs <= 0"},
      {&S::add_step, "INSERT INTO step VALUES(?1, ?2, ?3, ?4)"},
      {&S::find_block, "SELECT id, lost FROM block WHERE name = ?1"},
      {&S::add_block, "INSERT INTO block VALUES(NULL, ?1, ?2, 1, 0)"},
      {&S::more_refs, "UPDATE block SET refs = refs + 1, lost = 0 WHERE id = ?1"},
      {&S::add_use, "INSERT INTO use VALUES(?1, ?2, ?3)"},
      {&S::id_of, "SELECT id FROM entry WHERE manifest = ?1"},
      {&S::at_link,
       "SELECT entry.id, entry.length, entry.minimum, entry.pinned, entry.extras, content.tokens "
       "FROM entry JOIN content ON content.entry = entry.id WHERE entry.link = ?1"},
      {&S::entry,
       "SELECT entry.manifest, entry.bytes, entry.minimum, entry.root, content.tokens "
       "FROM entry JOIN content ON content.entry = entry.id WHERE entry.id = ?1"},
      {&S::delete_entry, "DELETE FROM entry WHERE id = ?1"},
      {&S::delete_content, "DELETE FROM content WHERE entry = ?1"},
      {&S::delete_step, "DELETE FROM step WHERE link = ?1 AND page = ?2 AND next = ?3 AND entry = ?4"},
      {&S::fewer_refs,
       "UPDATE block SET refs = refs - 1 WHERE id IN (SELECT block FROM use WHERE entry = ?1)"},
      {&S::free_blocks,
       "SELECT block.name, block.bytes FROM use JOIN block ON block.id = use.block "
       "WHERE use.entry = ?1 AND block.refs <= 0"},
      {&S::delete_free,
       "DELETE FROM block WHERE refs <= 0 AND id IN (SELECT block FROM use WHERE entry = ?1)"},
      {&S::delete_use, "DELETE FROM use WHERE entry = ?1"},
      {&S::doom, "INSERT OR IGNORE INTO doomed VALUES(?1, ?2)"},
      {&S::undoom, "DELETE FROM doomed WHERE name = ?1 AND is_block = ?2"},
      {&S::doomed, "SELECT name, is_block FROM doomed"},
      {&S::block_bytes, "SELECT bytes FROM block WHERE name = ?1 AND lost = 0"},
      {&S::lose_block, "UPDATE block SET lost = ?2 WHERE name = ?1 AND lost <> ?2"},
      {&S::refresh,
       "UPDATE entry SET usable = coalesce((SELECT min(use.first) FROM use JOIN block ON block.id = "
       "use.block "
       "WHERE use.entry = entry.id AND block.lost <> 0), length) "
       "WHERE id IN (SELECT entry FROM use WHERE block = ?1)"},
      {&S::touch, "UPDATE entry SET used = max(used, ?2) WHERE manifest = ?1"},
      {&S::pin, "UPDATE entry SET pinned = ?2 WHERE manifest = ?1"},
      {&S::expire, "UPDATE entry SET expires = ?2 WHERE manifest = ?1"},
      {&S::oldest, "SELECT id FROM entry WHERE pinned = 0 ORDER BY used, id LIMIT 1"},
      {&S::expired, "SELECT id FROM entry WHERE expires > 0 AND expires <= ?1 AND pinned = 0 LIMIT 1"},
      {&S::add_bytes, "UPDATE meta SET value = value + ?1 WHERE key = 'bytes'"},
      {&S::bytes, "SELECT value FROM meta WHERE key = 'bytes'"},
  };
  for (const S::Text& text : texts) {
    KVERN_TRY((*sql_).*text.statement, database_->prepare(text.sql));
  }
  return Ok{};
}

Status PrefixIndex::insert(const IndexedEntry& entry) {
  KVERN_CHECK(entry.links.size() == entry.tokens.size() / static_cast<size_t>(page_) + 1);
  KVERN_TRY(SqlTransaction transaction, SqlTransaction::begin(*database_));
  KVERN_TRY(const bool was_pinned, drop_superseded(entry));
  Statements& s = *sql_;
  KVERN_TRY_STATUS(s.add_entry.bind(1, bytes_of(entry.manifest))
                       .bind(2, link_key(entry.links.back()))
                       .bind(3, static_cast<int64_t>(entry.tokens.size()))
                       .bind(4, entry.minimum)
                       .bind(5, static_cast<int64_t>(entry.manifest_bytes))
                       .bind(6, entry.used)
                       .bind(7, entry.expires)
                       .bind(8, entry.pinned || was_pinned ? 1 : 0)
                       .bind(9, entry.extras ? 1 : 0)
                       .bind(10, entry.model.digest)
                       .bind(11, entry.links.front())
                       .run());
  const int64_t id = database_->last_row_id();
  KVERN_TRY_STATUS(s.add_content.bind(1, id).bind(2, std::as_bytes(std::span(entry.tokens))).run());
  KVERN_TRY_STATUS(s.undoom.bind(1, bytes_of(entry.manifest)).bind(2, int64_t{0}).run());
  KVERN_TRY_STATUS(add_bytes(static_cast<int64_t>(entry.manifest_bytes)));
  KVERN_TRY_STATUS(for_steps(s.add_step, {entry.tokens, entry.links, entry.minimum, id}));
  KVERN_TRY_STATUS(add_links(entry.links));
  for (const IndexedBlock& block : entry.blocks) KVERN_TRY_STATUS(add_block(block, id));
  return transaction.commit();
}

// One row for each page in which a beginning that the entry gives can end.
Status PrefixIndex::for_steps(SqlStatement& statement, const Steps& steps) {
  const auto page = static_cast<size_t>(page_);
  for (size_t k = static_cast<size_t>(steps.minimum) / page; k < steps.links.size(); ++k) {
    const auto next = steps.tokens.subspan(k * page, std::min(page, steps.tokens.size() - k * page));
    KVERN_TRY_STATUS(statement.bind(1, link_key(steps.links[k]))
                         .bind(2, static_cast<int64_t>(k))
                         .bind(3, std::as_bytes(next))
                         .bind(4, steps.entry)
                         .run());
  }
  return Ok{};
}

Status PrefixIndex::add_links(std::span<const Sha256Digest> links) {
  for (const Sha256Digest& link : links) KVERN_TRY_STATUS(sql_->add_link.bind(1, link_key(link)).run());
  return Ok{};
}

Status PrefixIndex::drop_links(std::span<const Sha256Digest> links) {
  for (const Sha256Digest& link : links) {
    KVERN_TRY_STATUS(sql_->fewer_links.bind(1, link_key(link)).run());
    KVERN_TRY_STATUS(sql_->delete_link.bind(1, link_key(link)).run());
  }
  return Ok{};
}

Status PrefixIndex::add_block(const IndexedBlock& block, int64_t entry) {
  Statements& s = *sql_;
  int64_t id = 0;
  bool was_lost = false;
  {
    const SqlReset reset(s.find_block);
    KVERN_TRY(const bool known, s.find_block.bind(1, bytes_of(block.name)).step());
    if (known) {
      id = s.find_block.number(0);
      was_lost = s.find_block.number(1) != 0;
    }
  }
  if (id != 0) {
    KVERN_TRY_STATUS(s.more_refs.bind(1, id).run());
  } else {
    KVERN_TRY_STATUS(
        s.add_block.bind(1, bytes_of(block.name)).bind(2, static_cast<int64_t>(block.bytes)).run());
    id = database_->last_row_id();
    KVERN_TRY_STATUS(add_bytes(static_cast<int64_t>(block.bytes)));
    KVERN_TRY_STATUS(s.undoom.bind(1, bytes_of(block.name)).bind(2, int64_t{1}).run());
  }
  KVERN_TRY_STATUS(s.add_use.bind(1, entry).bind(2, id).bind(3, block.first).run());
  return was_lost ? refresh_usable(id) : Status(Ok{});
}

// Entries that end in page `link` of this one and that it makes useless.
Result<PrefixIndex::Superseded> PrefixIndex::superseded(const IndexedEntry& entry, size_t link) {
  Superseded found;
  SqlStatement& at_link = sql_->at_link;
  const SqlReset reset(at_link);
  at_link.bind(1, link_key(entry.links[link]));
  const auto own = std::as_bytes(std::span(entry.tokens));
  while (true) {
    KVERN_TRY(const bool row, at_link.step());
    if (!row) return found;
    const auto tokens = at_link.bytes(5);
    if (tokens.size() > own.size() || !std::equal(tokens.begin(), tokens.end(), own.begin())) continue;
    const bool equal = tokens.size() == own.size();
    const bool pinned = at_link.number(3) != 0;
    const bool kept = pinned || at_link.number(4) != 0;
    if (!equal && (kept || at_link.number(2) < entry.minimum)) continue;
    found.ids.push_back(at_link.number(0));
    found.pinned = found.pinned || pinned;
  }
}

// Whether one of them was pinned: then it had the same tokens.
Result<bool> PrefixIndex::drop_superseded(const IndexedEntry& entry) {
  bool pinned = false;
  // A beginning that could be cut to less than this entry's minimum is longer than that or no help at all.
  const size_t first = static_cast<size_t>(entry.minimum) / static_cast<size_t>(page_);
  for (size_t link = first; link < entry.links.size(); ++link) {
    KVERN_TRY(const Superseded found, superseded(entry, link));
    for (const int64_t id : found.ids) KVERN_TRY_STATUS(drop(id));
    pinned = pinned || found.pinned;
  }
  return pinned;
}

Result<int64_t> PrefixIndex::id_of(const ContentName& manifest) {
  const SqlReset reset(sql_->id_of);
  KVERN_TRY(const bool row, sql_->id_of.bind(1, bytes_of(manifest)).step());
  if (!row) return fail(ErrorCode::kNotFound, "no such saved prefix", manifest.to_string());
  return sql_->id_of.number(0);
}

Status PrefixIndex::remove(const ContentName& manifest) {
  KVERN_TRY(SqlTransaction transaction, SqlTransaction::begin(*database_));
  KVERN_TRY(const int64_t id, id_of(manifest));
  KVERN_TRY_STATUS(drop(id));
  return transaction.commit();
}

// Inside a transaction.
Status PrefixIndex::drop(int64_t id) {
  Statements& s = *sql_;
  {
    const SqlReset reset(s.entry);
    KVERN_TRY(const bool row, s.entry.bind(1, id).step());
    if (!row) return fail(ErrorCode::kCorrupt, "the index of saved state contradicts itself");
    const ContentName manifest = name_in(s.entry, 0);
    KVERN_TRY_STATUS(s.doom.bind(1, bytes_of(manifest)).bind(2, int64_t{0}).run());
    KVERN_TRY_STATUS(add_bytes(-s.entry.number(1)));
    const int64_t minimum = std::max<int64_t>(0, s.entry.number(2));
    const std::vector<int32_t> tokens = tokens_in(s.entry.bytes(4));
    const auto links = prefix_chain(name_in(s.entry, 3).digest, tokens, chain_);
    KVERN_TRY_STATUS(for_steps(s.delete_step, {tokens, links, minimum, id}));
    KVERN_TRY_STATUS(drop_links(links));
  }
  KVERN_TRY_STATUS(drop_blocks(id));
  for (SqlStatement* statement : {&s.delete_content, &s.delete_entry})
    KVERN_TRY_STATUS(statement->bind(1, id).run());
  return Ok{};
}

Status PrefixIndex::drop_blocks(int64_t id) {
  Statements& s = *sql_;
  KVERN_TRY_STATUS(s.fewer_refs.bind(1, id).run());
  const SqlReset reset(s.free_blocks);
  s.free_blocks.bind(1, id);
  int64_t bytes = 0;
  while (true) {
    KVERN_TRY(const bool row, s.free_blocks.step());
    if (!row) break;
    const ContentName name = name_in(s.free_blocks, 0);
    KVERN_TRY_STATUS(s.doom.bind(1, bytes_of(name)).bind(2, int64_t{1}).run());
    bytes += s.free_blocks.number(1);
  }
  KVERN_TRY_STATUS(add_bytes(-bytes));
  KVERN_TRY_STATUS(s.delete_free.bind(1, id).run());
  return s.delete_use.bind(1, id).run();
}

Status PrefixIndex::add_bytes(int64_t bytes) { return sql_->add_bytes.bind(1, bytes).run(); }

Result<int64_t> PrefixIndex::total_bytes() {
  const SqlReset reset(sql_->bytes);
  KVERN_TRY(const bool row, sql_->bytes.step());
  if (!row) return fail(ErrorCode::kCorrupt, "the index of saved state lacks what it should say of itself");
  return sql_->bytes.number(0);
}

Result<int64_t> PrefixIndex::evict(uint64_t max_bytes, int64_t now_seconds) {
  const auto next = [&](SqlStatement& query) -> Result<int64_t> {
    const SqlReset reset(query);
    KVERN_TRY(const bool row, query.step());
    return row ? query.number(0) : int64_t{0};
  };
  KVERN_TRY(SqlTransaction transaction, SqlTransaction::begin(*database_));
  int64_t evicted = 0;
  while (true) {
    sql_->expired.bind(1, now_seconds);
    KVERN_TRY(int64_t id, next(sql_->expired));
    KVERN_TRY(const int64_t bytes, total_bytes());
    if (id == 0 && bytes > 0 && static_cast<uint64_t>(bytes) > max_bytes) {
      KVERN_TRY(id, next(sql_->oldest));
    }
    if (id == 0) break;
    KVERN_TRY_STATUS(drop(id));
    ++evicted;
  }
  if (evicted > 0) KVERN_TRY_STATUS(transaction.commit());
  return evicted;
}

Status PrefixIndex::clear() {
  KVERN_TRY(SqlTransaction transaction, SqlTransaction::begin(*database_));
  KVERN_TRY_STATUS(database_->run(
      "DELETE FROM step; DELETE FROM link; DELETE FROM use; DELETE FROM block; DELETE FROM content; "
      "DELETE FROM entry; DELETE FROM doomed; "
      "UPDATE meta SET value = 0 WHERE key = 'bytes'"));
  return transaction.commit();
}

Result<DoomedFiles> PrefixIndex::doomed() {
  DoomedFiles files;
  const SqlReset reset(sql_->doomed);
  while (true) {
    KVERN_TRY(const bool row, sql_->doomed.step());
    if (!row) return files;
    (sql_->doomed.number(1) != 0 ? files.blocks : files.manifests).push_back(name_in(sql_->doomed, 0));
  }
}

Status PrefixIndex::forget_doomed(const DoomedFiles& files) {
  KVERN_TRY(SqlTransaction transaction, SqlTransaction::begin(*database_));
  for (const ContentName& name : files.manifests)
    KVERN_TRY_STATUS(sql_->undoom.bind(1, bytes_of(name)).bind(2, int64_t{0}).run());
  for (const ContentName& name : files.blocks)
    KVERN_TRY_STATUS(sql_->undoom.bind(1, bytes_of(name)).bind(2, int64_t{1}).run());
  return transaction.commit();
}

Result<std::optional<uint64_t>> PrefixIndex::block_bytes(const ContentName& name) {
  const SqlReset reset(sql_->block_bytes);
  KVERN_TRY(const bool row, sql_->block_bytes.bind(1, bytes_of(name)).step());
  if (!row) return std::optional<uint64_t>();
  return std::optional(static_cast<uint64_t>(sql_->block_bytes.number(0)));
}

Result<bool> PrefixIndex::has_manifest(const ContentName& name) {
  const auto id = id_of(name);
  if (!id && id.error().code != ErrorCode::kNotFound) return std::unexpected(id.error());
  return id.has_value();
}

Status PrefixIndex::refresh_usable(int64_t block) { return sql_->refresh.bind(1, block).run(); }

Status PrefixIndex::lose_block(const ContentName& name) {
  KVERN_TRY(SqlTransaction transaction, SqlTransaction::begin(*database_));
  KVERN_TRY_STATUS(sql_->lose_block.bind(1, bytes_of(name)).bind(2, int64_t{1}).run());
  if (database_->changes() == 0) return Ok{};
  int64_t id = 0;
  {
    const SqlReset reset(sql_->find_block);
    KVERN_TRY(const bool row, sql_->find_block.bind(1, bytes_of(name)).step());
    if (row) id = sql_->find_block.number(0);
  }
  KVERN_TRY_STATUS(refresh_usable(id));
  return transaction.commit();
}

Status PrefixIndex::touch(const ContentName& manifest, int64_t used_seconds) {
  return sql_->touch.bind(1, bytes_of(manifest)).bind(2, used_seconds).run();
}

Status PrefixIndex::set_pinned(const ContentName& manifest, bool pinned) {
  KVERN_TRY_STATUS(sql_->pin.bind(1, bytes_of(manifest)).bind(2, pinned ? 1 : 0).run());
  if (database_->changes() == 0)
    return fail(ErrorCode::kNotFound, "no such saved prefix", manifest.to_string());
  return Ok{};
}

Result<std::optional<uint64_t>> PrefixIndex::pin_within(const ContentName& manifest, uint64_t most) {
  KVERN_TRY(SqlTransaction transaction, SqlTransaction::begin(*database_));
  KVERN_TRY(const uint64_t before, pinned_bytes(*database_));
  KVERN_TRY_STATUS(set_pinned(manifest, true));
  KVERN_TRY(const uint64_t after, pinned_bytes(*database_));
  if (after > most && after > before) return std::optional(after);
  KVERN_TRY_STATUS(transaction.commit());
  return std::optional<uint64_t>();
}

Status PrefixIndex::set_expiry(const ContentName& manifest, int64_t expires_seconds) {
  KVERN_TRY_STATUS(sql_->expire.bind(1, bytes_of(manifest)).bind(2, expires_seconds).run());
  if (database_->changes() == 0)
    return fail(ErrorCode::kNotFound, "no such saved prefix", manifest.to_string());
  return Ok{};
}

}  // namespace kvern::store
