#include "store/index/sqlite.h"

#include <utility>

#include <sqlite3.h>

#include "base/check.h"

namespace kvern::store {
namespace {

// How long to wait for another process that writes.
constexpr int kBusyMilliseconds = 10'000;

std::unexpected<Error> sql_error(sqlite3* database, int code) {
  Error error{.code = ErrorCode::kIo, .message = "the index of saved state: "};
  error.message += database == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database);
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    // Our statements are right, so tables that they do not fit are not what we made.
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_SCHEMA:
      error.code = ErrorCode::kCorrupt;
      break;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      error.code = ErrorCode::kExhausted;
      error.retryable = true;
      break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      error.retryable = true;
      break;
    default:
      break;
  }
  return std::unexpected(std::move(error));
}

}  // namespace

void SqlStatement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void SqlDatabase::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

SqlStatement& SqlStatement::bind(int parameter, int64_t value) {
  KVERN_CHECK(sqlite3_bind_int64(statement_.get(), parameter, value) == SQLITE_OK);
  return *this;
}

SqlStatement& SqlStatement::bind(int parameter, std::span<const std::byte> value) {
  // A null pointer would be NULL and not the empty text.
  const void* data = value.empty() ? static_cast<const void*>("") : value.data();
  KVERN_CHECK(sqlite3_bind_blob64(statement_.get(), parameter, data, value.size(), SQLITE_STATIC) ==
              SQLITE_OK);
  return *this;
}

Result<bool> SqlStatement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  sqlite3* database = sqlite3_db_handle(statement_.get());
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return false;
  }
  auto error = sql_error(database, code);
  sqlite3_reset(statement_.get());
  return error;
}

Status SqlStatement::run() {
  KVERN_TRY(const bool row, step());
  if (row) reset();
  return Ok{};
}

void SqlStatement::reset() { sqlite3_reset(statement_.get()); }

int64_t SqlStatement::number(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::span<const std::byte> SqlStatement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  return {static_cast<const std::byte*>(data),
          static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

Result<SqlDatabase> SqlDatabase::open(const std::string& path, const char* vfs, SqlMode mode) {
  int flags = SQLITE_OPEN_NOMUTEX;
  flags |= mode == SqlMode::kCreate ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  std::string name = path;
  if (mode == SqlMode::kImmutable) {
    flags |= SQLITE_OPEN_URI;
    name = "file:";
    for (const char c : path) {
      if (c == '?' || c == '#' || c == '%') {
        constexpr char kDigits[] = "0123456789ABCDEF";
        name += {'%', kDigits[static_cast<unsigned char>(c) >> 4], kDigits[c & 15]};
      } else {
        name += c;
      }
    }
    name += "?immutable=1";
  }
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &raw, flags, vfs);
  SqlDatabase database(raw);
  if (code != SQLITE_OK) return sql_error(raw, code);
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  return database;
}

Status SqlDatabase::run(const char* sql) {
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return sql_error(database_.get(), code);
  return Ok{};
}

Result<SqlStatement> SqlDatabase::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return sql_error(database_.get(), code);
  SqlStatement statement;
  statement.statement_.reset(raw);
  return statement;
}

int64_t SqlDatabase::last_row_id() const { return sqlite3_last_insert_rowid(database_.get()); }
int64_t SqlDatabase::changes() const { return sqlite3_changes64(database_.get()); }

Result<SqlTransaction> SqlTransaction::begin(SqlDatabase& database) {
  KVERN_TRY_STATUS(database.run("BEGIN IMMEDIATE"));
  return SqlTransaction(database);
}

SqlTransaction::SqlTransaction(SqlTransaction&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)) {}

SqlTransaction::~SqlTransaction() {
  // What led here is the error to report.
  if (database_ != nullptr) static_cast<void>(database_->run("ROLLBACK"));
}

Status SqlTransaction::commit() {
  KVERN_TRY_STATUS(database_->run("COMMIT"));
  database_ = nullptr;
  return Ok{};
}

}  // namespace kvern::store
