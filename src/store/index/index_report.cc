#include "store/index/index_report.h"

#include <algorithm>
#include <cstring>

namespace kvern::store {
namespace {

Sha256Digest digest_in(const SqlStatement& row, int column) {
  Sha256Digest digest{};
  const auto bytes = row.bytes(column);
  if (bytes.size() == digest.size()) std::memcpy(digest.data(), bytes.data(), bytes.size());
  return digest;
}

uint64_t unsigned_in(const SqlStatement& row, int column) {
  return static_cast<uint64_t>(std::max<int64_t>(0, row.number(column)));
}

}  // namespace

Result<std::vector<ListedEntry>> list_entries(SqlDatabase& database) {
  KVERN_TRY(SqlStatement row,
            database.prepare(
                "SELECT manifest, model, root, length, minimum, usable, "
                "bytes + (SELECT coalesce(sum(block.bytes), 0) FROM use JOIN block ON block.id = use.block "
                "WHERE use.entry = entry.id), used, expires, pinned, extras FROM entry ORDER BY used DESC, "
                "id DESC"));
  std::vector<ListedEntry> entries;
  while (true) {
    KVERN_TRY(const bool more, row.step());
    if (!more) return entries;
    entries.push_back({.manifest = {digest_in(row, 0)},
                       .model = {digest_in(row, 1)},
                       .root = digest_in(row, 2),
                       .length = row.number(3),
                       .minimum = row.number(4),
                       .usable = row.number(5),
                       .bytes = unsigned_in(row, 6),
                       .used = row.number(7),
                       .expires = row.number(8),
                       .pinned = row.number(9) != 0,
                       .extras = row.number(10) != 0});
  }
}

Result<IndexTotals> index_totals(SqlDatabase& database) {
  KVERN_TRY(SqlStatement row,
            database.prepare("SELECT (SELECT count(*) FROM entry), (SELECT count(*) FROM block), "
                             "(SELECT value FROM meta WHERE key = 'bytes')"));
  KVERN_TRY([[maybe_unused]] const bool always, row.step());
  KVERN_TRY(const uint64_t pinned, pinned_bytes(database));
  return IndexTotals{.entries = row.number(0),
                     .blocks = row.number(1),
                     .bytes = unsigned_in(row, 2),
                     .pinned_bytes = pinned};
}

Result<uint64_t> pinned_bytes(SqlDatabase& database) {
  KVERN_TRY(SqlStatement row,
            database.prepare(
                "SELECT (SELECT coalesce(sum(bytes), 0) FROM entry WHERE pinned = 1) + "
                "(SELECT coalesce(sum(bytes), 0) FROM block WHERE id IN "
                "(SELECT use.block FROM entry JOIN use ON use.entry = entry.id WHERE entry.pinned = 1))"));
  KVERN_TRY([[maybe_unused]] const bool always, row.step());
  return unsigned_in(row, 0);
}

Result<BlockUse> block_use(SqlDatabase& database, const ContentName& manifest) {
  KVERN_TRY(SqlStatement row,
            database.prepare("SELECT count(*), coalesce(sum(block.bytes), 0), coalesce(sum(refs > 1), 0), "
                             "coalesce(sum(CASE WHEN refs > 1 THEN block.bytes ELSE 0 END), 0), "
                             "coalesce(sum(lost <> 0), 0) FROM entry JOIN use ON use.entry = entry.id "
                             "JOIN block ON block.id = use.block WHERE entry.manifest = ?1"));
  KVERN_TRY([[maybe_unused]] const bool always, row.bind(1, manifest.digest).step());
  return BlockUse{.blocks = row.number(0),
                  .bytes = unsigned_in(row, 1),
                  .shared_blocks = row.number(2),
                  .shared_bytes = unsigned_in(row, 3),
                  .lost_blocks = row.number(4)};
}

}  // namespace kvern::store
