#include "store/transfer/export_format.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "store/block/block_format.h"
#include "store/block/manifest_format.h"
#include "store/block/wire.h"

namespace kvern::store {
namespace {

constexpr size_t kChecksum = 16;
constexpr uint64_t kAlignment = 64;
/// What is asked of a source at once: a file that promises more than it has costs no more memory.
constexpr size_t kPiece = size_t{4} << 20;

// As in the file.
struct FileHead {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t minimum_reader;
  uint32_t entries;
  uint32_t blocks;
  uint64_t file_bytes;
  std::array<std::byte, 16> reserved;
  std::array<std::byte, kChecksum> checksum;
};
static_assert(sizeof(FileHead) == 64 && std::is_trivially_copyable_v<FileHead>);
static_assert(offsetof(FileHead, file_bytes) == 24 && offsetof(FileHead, checksum) == 48);

struct RecordHead {
  uint32_t kind;
  uint32_t reserved;
  uint64_t bytes;
  std::array<std::byte, 32> name;
  std::array<std::byte, kChecksum> checksum;
};
static_assert(sizeof(RecordHead) == 64 && std::is_trivially_copyable_v<RecordHead>);
static_assert(offsetof(RecordHead, name) == 16 && offsetof(RecordHead, checksum) == 48);

template <typename Head>
std::span<const std::byte> bytes_of(const Head& head) {
  return std::as_bytes(std::span(&head, 1));
}

// Of all before it.
template <typename Head>
Xxh3Digest128 checksum_of(const Head& head) {
  const std::span<const std::byte> parts[] = {bytes_of(head).first(offsetof(Head, checksum))};
  return xxh3_128(parts);
}

uint64_t padding_of(uint64_t bytes) { return (kAlignment - bytes % kAlignment) % kAlignment; }

std::unexpected<Error> corrupt(std::string what) {
  return fail(ErrorCode::kCorrupt, "not a file of exported prefixes: " + std::move(what));
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

Status check_content(const ExportRecord& record) {
  if (record.kind == RecordKind::kBlock) {
    KVERN_TRY([[maybe_unused]] const BlockView view,
              decode_block(record.name, record.content, BlockCheck::kName));
  } else {
    KVERN_TRY([[maybe_unused]] const Manifest manifest,
              decode_manifest(record.name, record.content, BlockCheck::kName));
  }
  return Ok{};
}

}  // namespace

uint64_t record_bytes(uint64_t content_bytes) {
  return sizeof(RecordHead) + content_bytes + padding_of(content_bytes);
}

uint64_t export_frame_bytes() { return sizeof(FileHead) + sizeof(RecordHead); }

Status ExportWriter::put(std::span<const std::byte> bytes) {
  KVERN_TRY_STATUS(sink_(bytes));
  written_ += bytes.size();
  return Ok{};
}

Status ExportWriter::begin(const ExportHeader& header) {
  header_ = header;
  FileHead head{.magic = kExportMagic,
                .version = kExportVersion,
                .minimum_reader = kExportMinimumWrite,
                .entries = header.entries,
                .blocks = header.blocks,
                .file_bytes = header.file_bytes,
                .reserved = {},
                .checksum = {}};
  head.checksum = checksum_of(head);
  everything_.update(bytes_of(head));
  return put(bytes_of(head));
}

Status ExportWriter::put_record(RecordKind kind, const ContentName& name, uint64_t bytes) {
  RecordHead head{.kind = static_cast<uint32_t>(kind),
                  .reserved = 0,
                  .bytes = bytes,
                  .name = name.digest,
                  .checksum = {}};
  head.checksum = checksum_of(head);
  everything_.update(bytes_of(head));
  return put(bytes_of(head));
}

Status ExportWriter::add(RecordKind kind, const ContentName& name, std::span<const std::byte> content) {
  ++(kind == RecordKind::kBlock ? blocks_ : entries_);
  KVERN_TRY_STATUS(put_record(kind, name, content.size()));
  KVERN_TRY_STATUS(put(content));
  constexpr std::array<std::byte, kAlignment> kZeros{};
  return put(std::span(kZeros).first(padding_of(content.size())));
}

Status ExportWriter::end() {
  KVERN_TRY_STATUS(put_record(RecordKind::kEnd, {everything_.finish()}, 0));
  KVERN_CHECK(blocks_ == header_.blocks && entries_ == header_.entries && written_ == header_.file_bytes);
  return Ok{};
}

Result<ExportReader> ExportReader::open(ByteSource source) {
  ExportReader reader(std::move(source));
  FileHead head;
  KVERN_TRY_STATUS(reader.take(std::as_writable_bytes(std::span(&head, 1))));
  if (head.magic != kExportMagic) return corrupt("it does not begin as one");
  if (head.version < kExportMinimumRead || head.minimum_reader > kExportVersion) {
    return fail(ErrorCode::kUnsupported,
                unknown_version("this file of exported prefixes", head.version, head.minimum_reader,
                                {.oldest = kExportMinimumRead, .newest = kExportVersion}));
  }
  if (head.checksum != checksum_of(head)) return corrupt("the checksum of its header is wrong");
  if (!all_zero(head.reserved) || head.file_bytes < export_frame_bytes())
    return corrupt("what its header says contradicts itself");
  reader.everything_.update(bytes_of(head));
  reader.header_ = {.entries = head.entries, .blocks = head.blocks, .file_bytes = head.file_bytes};
  return reader;
}

Status ExportReader::take(std::span<std::byte> out) {
  KVERN_TRY_STATUS(source_(out));
  taken_ += out.size();
  return Ok{};
}

Status ExportReader::take_content(uint64_t bytes, std::vector<std::byte>& out) {
  while (out.size() < bytes) {
    const size_t begin = out.size();
    const auto piece = static_cast<size_t>(std::min<uint64_t>(bytes - begin, std::max(kPiece, begin)));
    out.resize(begin + piece);
    KVERN_TRY_STATUS(take(std::span(out).subspan(begin)));
  }
  std::array<std::byte, kAlignment> padding{};
  const auto rest = std::span(padding).first(padding_of(bytes));
  KVERN_TRY_STATUS(take(rest));
  if (!all_zero(rest)) return corrupt("there is something between its records");
  return Ok{};
}

Status ExportReader::check_end(const ContentName& name, uint64_t bytes) {
  if (name.digest != everything_.finish() || bytes != 0)
    return corrupt("its end does not fit what came before");
  if (blocks_ != header_.blocks || entries_ != header_.entries || taken_ != header_.file_bytes)
    return corrupt("it does not hold as much as its header says");
  std::byte more{};
  if (source_({&more, 1})) return corrupt("there is something behind its end");
  return Ok{};
}

Result<std::optional<ExportRecord>> ExportReader::next() {
  RecordHead head;
  KVERN_TRY_STATUS(take(std::as_writable_bytes(std::span(&head, 1))));
  if (head.checksum != checksum_of(head) || head.reserved != 0)
    return corrupt("the head of a record is damaged");
  ExportRecord record{.kind = static_cast<RecordKind>(head.kind), .name = {head.name}, .content = {}};
  if (record.kind == RecordKind::kEnd) {
    KVERN_TRY_STATUS(check_end(record.name, head.bytes));
    return std::optional<ExportRecord>();
  }
  if (record.kind != RecordKind::kBlock && record.kind != RecordKind::kManifest)
    return corrupt("it has a record of kind " + std::to_string(head.kind));
  if (head.bytes > header_.file_bytes - std::min(header_.file_bytes, taken_))
    return corrupt("a record is longer than the file");
  everything_.update(bytes_of(head));
  ++(record.kind == RecordKind::kBlock ? blocks_ : entries_);
  KVERN_TRY_STATUS(take_content(head.bytes, record.content));
  KVERN_TRY_STATUS(check_content(record));
  return std::optional(std::move(record));
}

}  // namespace kvern::store
