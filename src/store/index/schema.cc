#include "store/index/schema.h"

#include <utility>

namespace kvern::store {
namespace {

constexpr char kTables[] = R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE entry(
  id INTEGER PRIMARY KEY, manifest BLOB NOT NULL UNIQUE, link BLOB NOT NULL, length INTEGER NOT NULL,
  minimum INTEGER NOT NULL, usable INTEGER NOT NULL, bytes INTEGER NOT NULL, used INTEGER NOT NULL,
  expires INTEGER NOT NULL, pinned INTEGER NOT NULL, extras INTEGER NOT NULL, model BLOB NOT NULL,
  root BLOB NOT NULL);
CREATE INDEX entry_link ON entry(link);
CREATE INDEX entry_used ON entry(pinned, used);
CREATE INDEX entry_expires ON entry(expires) WHERE expires > 0;
CREATE TABLE content(entry INTEGER PRIMARY KEY, tokens BLOB NOT NULL);
CREATE TABLE block(
  id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, bytes INTEGER NOT NULL, refs INTEGER NOT NULL,
  lost INTEGER NOT NULL);
CREATE TABLE use(entry INTEGER, block INTEGER, first INTEGER NOT NULL, PRIMARY KEY(entry, block)) WITHOUT ROWID;
CREATE INDEX use_block ON use(block);
CREATE TABLE step(
  link BLOB, page INTEGER, next BLOB, entry INTEGER, PRIMARY KEY(link, page, next, entry)) WITHOUT ROWID;
CREATE TABLE link(key BLOB PRIMARY KEY, refs INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE doomed(name BLOB, is_block INTEGER, PRIMARY KEY(name, is_block)) WITHOUT ROWID;
INSERT INTO meta VALUES('bytes', 0);
)";

Result<int64_t> number_of(SqlDatabase& database, std::string_view query) {
  KVERN_TRY(SqlStatement statement, database.prepare(query));
  KVERN_TRY(const bool row, statement.step());
  if (!row) return fail(ErrorCode::kCorrupt, "the index of saved state lacks what it should say of itself");
  return statement.number(0);
}

Status check_version(int64_t version, const std::string& path) {
  if (version == kIndexVersion) return Ok{};
  return fail(version > kIndexVersion ? ErrorCode::kUnsupported : ErrorCode::kCorrupt,
              "the index of saved state has format " + std::to_string(version) + "; this program reads " +
                  std::to_string(kIndexVersion),
              path);
}

Status make_tables(SqlDatabase& database, int64_t page) {
  KVERN_TRY(SqlTransaction transaction, SqlTransaction::begin(database));
  KVERN_TRY(const int64_t version, number_of(database, "PRAGMA user_version"));
  if (version != 0) return Ok{};  // another process was first
  KVERN_TRY_STATUS(database.run(kTables));
  const std::string numbers = "INSERT INTO meta VALUES('page', " + std::to_string(page) +
                              "); PRAGMA user_version = " + std::to_string(kIndexVersion);
  KVERN_TRY_STATUS(database.run(numbers.c_str()));
  return transaction.commit();
}

Result<OpenedIndex> finish(SqlDatabase database, const std::string& path) {
  KVERN_TRY(const int64_t version, number_of(database, "PRAGMA user_version"));
  KVERN_TRY_STATUS(check_version(version, path));
  KVERN_TRY(const int64_t page, number_of(database, "SELECT value FROM meta WHERE key = 'page'"));
  if (page < 1 || page > int64_t{1} << 20)
    return fail(ErrorCode::kCorrupt, "the index of saved state has impossible pages", path);
  return OpenedIndex{.database = std::move(database), .page = page};
}

}  // namespace

Result<OpenedIndex> open_index(const IndexFile& file, int64_t page) {
  KVERN_TRY(SqlDatabase database, SqlDatabase::open(file.path, file.vfs, SqlMode::kCreate));
  // FULL: a commit is durable when it is done.
  KVERN_TRY_STATUS(
      database.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; "
                   "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384; PRAGMA cell_size_check = ON; "
                   "PRAGMA wal_autocheckpoint = 256; PRAGMA journal_size_limit = 1048576"));
  KVERN_TRY(const int64_t version, number_of(database, "PRAGMA user_version"));
  if (version == 0) KVERN_TRY_STATUS(make_tables(database, page));
  KVERN_TRY(OpenedIndex opened, finish(std::move(database), file.path));
  opened.is_new = version == 0;
  return opened;
}

Result<OpenedIndex> open_index_read_only(const IndexFile& file) {
  const auto attempt = [&](SqlMode mode) -> Result<OpenedIndex> {
    KVERN_TRY(SqlDatabase database, SqlDatabase::open(file.path, file.vfs, mode));
    KVERN_TRY_STATUS(
        database.run("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384; PRAGMA cell_size_check = ON; "
                     "PRAGMA mmap_size = 1073741824"));
    return finish(std::move(database), file.path);
  };
  auto opened = attempt(SqlMode::kReadOnly);
  // A write-ahead log cannot be read where nothing can be written beside it.
  if (!opened && opened.error().code == ErrorCode::kIo && file.vfs == nullptr)
    return attempt(SqlMode::kImmutable);
  return opened;
}

}  // namespace kvern::store
