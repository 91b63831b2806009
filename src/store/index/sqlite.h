// SQLite with Result in place of codes, and statements that end with their scope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace kvern::store {

/// A prepared statement. One thread at a time; must not outlive its database.
class SqlStatement {
 public:
  SqlStatement() = default;

  /// Parameters are counted from 1. Bytes are borrowed until the next reset().
  SqlStatement& bind(int parameter, int64_t value);
  SqlStatement& bind(int parameter, std::span<const std::byte> value);
  /// Whether there is a row now. After the last row, and after an error, the statement is as new.
  Result<bool> step();
  /// For statements without rows.
  Status run();
  /// Ends a query whose rows are not all wanted; unbinds nothing.
  void reset();

  /// Of the present row, columns counted from 0.
  int64_t number(int column) const;
  /// Borrowed until the next step or reset.
  std::span<const std::byte> bytes(int column) const;

 private:
  friend class SqlDatabase;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// Ends the query of a statement with the scope.
class SqlReset {
 public:
  explicit SqlReset(SqlStatement& statement) : statement_(statement) {}
  SqlReset(const SqlReset&) = delete;
  SqlReset& operator=(const SqlReset&) = delete;
  ~SqlReset() { statement_.reset(); }

 private:
  SqlStatement& statement_;
};

enum class SqlMode : uint8_t {
  kCreate,     ///< read and write; made if there is none
  kReadOnly,   ///< a writer may be at work
  kImmutable,  ///< nobody writes, and nothing can be written beside it
};

/// A connection. One thread at a time. Errors: kCorrupt when the file is no database or is damaged,
/// kExhausted when the disk is full, else kIo (retryable when somebody else holds it).
class SqlDatabase {
 public:
  /// `vfs` as for sqlite3_open_v2; null for the operating system's files.
  static Result<SqlDatabase> open(const std::string& path, const char* vfs, SqlMode mode);

  Status run(const char* sql);
  Result<SqlStatement> prepare(std::string_view sql);
  int64_t last_row_id() const;
  /// Rows that the last statement changed.
  int64_t changes() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit SqlDatabase(sqlite3* database) : database_(database) {}
  std::unique_ptr<sqlite3, Close> database_;
};

/// A transaction that takes the database for writing; rolled back unless committed.
class SqlTransaction {
 public:
  static Result<SqlTransaction> begin(SqlDatabase& database);
  SqlTransaction(SqlTransaction&& other) noexcept;
  SqlTransaction& operator=(SqlTransaction&&) = delete;
  ~SqlTransaction();
  Status commit();

 private:
  explicit SqlTransaction(SqlDatabase& database) : database_(&database) {}
  SqlDatabase* database_;  // null when over
};

}  // namespace kvern::store
