// Saved prefixes in one file, for another machine: a header, then blocks and manifests one after the other as
// they lie in a directory, then an end that covers all of it. The byte table is docs/formats/kv-export.md.
// Written and read from front to back, so that it can go through a pipe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "store/block/name.h"

namespace kvern::store {

inline constexpr std::array<char, 8> kExportMagic = {'K', 'V', 'R', 'N', 'E', 'X', 'P', '\n'};
inline constexpr uint32_t kExportVersion = 1;
inline constexpr uint32_t kExportMinimumRead = 1;
inline constexpr uint32_t kExportMinimumWrite = 1;
static_assert(kExportMinimumRead <= kExportVersion && kExportMinimumWrite <= kExportVersion);

/// Takes the bytes of a file in order.
using ByteSink = std::function<Status(std::span<const std::byte>)>;
/// Fills its argument with the next bytes of a file; kCorrupt when there are not so many.
using ByteSource = std::function<Status(std::span<std::byte>)>;

/// What a file says before its content.
struct ExportHeader {
  uint32_t entries = 0;
  uint32_t blocks = 0;
  uint64_t file_bytes = 0;  ///< of all of it

  bool operator==(const ExportHeader&) const = default;
};

enum class RecordKind : uint32_t { kBlock = 1, kManifest = 2, kEnd = 3 };

/// Bytes that a record of so much content takes in the file.
uint64_t record_bytes(uint64_t content_bytes);
/// And those of a file around its records.
uint64_t export_frame_bytes();

/// Calls in this order: begin once, add for everything (the blocks of an entry before its manifest), end. The
/// sums that the header says must come out (checked).
class ExportWriter {
 public:
  explicit ExportWriter(ByteSink sink) : sink_(std::move(sink)) {}
  Status begin(const ExportHeader& header);
  Status add(RecordKind kind, const ContentName& name, std::span<const std::byte> content);
  Status end();
  uint64_t written() const { return written_; }

 private:
  Status put(std::span<const std::byte> bytes);
  Status put_record(RecordKind kind, const ContentName& name, uint64_t bytes);

  ByteSink sink_;
  ExportHeader header_;
  Sha256 everything_;  // of the header and the heads of all records
  uint64_t written_ = 0;
  uint32_t blocks_ = 0;
  uint32_t entries_ = 0;
};

struct ExportRecord {
  RecordKind kind{};
  ContentName name;
  std::vector<std::byte> content;
};

/// Reads anybody's bytes: kCorrupt says what is wrong, kUnsupported which version the file has. Takes no more
/// memory than twice the bytes that have come of one record.
class ExportReader {
 public:
  static Result<ExportReader> open(ByteSource source);
  const ExportHeader& header() const { return header_; }
  uint64_t taken() const { return taken_; }
  /// The next block or manifest, checked against its name; nothing when the file has ended as it should.
  /// After an error nothing can be read.
  Result<std::optional<ExportRecord>> next();

 private:
  explicit ExportReader(ByteSource source) : source_(std::move(source)) {}
  Status take(std::span<std::byte> out);
  Status take_content(uint64_t bytes, std::vector<std::byte>& out);
  Status check_end(const ContentName& name, uint64_t bytes);

  ByteSource source_;
  ExportHeader header_;
  Sha256 everything_;
  uint64_t taken_ = 0;
  uint32_t blocks_ = 0;
  uint32_t entries_ = 0;
};

}  // namespace kvern::store
