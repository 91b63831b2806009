#include "store/journal/journal_files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "store/journal/journal_segment.h"

namespace kvern::store {
namespace {

constexpr std::string_view kPrefix = "journal-";
constexpr std::string_view kSuffix = ".kvj";
constexpr std::string_view kUnfinished = ".tmp";
constexpr size_t kDigits = 16;

std::string path_of(const std::string& directory, uint64_t number) {
  return fmt::format("{}/{}{:016x}{}", directory, kPrefix, number, kSuffix);
}

/// Of the name of a segment.
std::optional<uint64_t> number_of(std::string_view name) {
  if (name.size() != kPrefix.size() + kDigits + kSuffix.size() || !name.starts_with(kPrefix) ||
      !name.ends_with(kSuffix))
    return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size(), kDigits);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

Result<std::vector<std::byte>> read_all(Files& files, const std::string& path) {
  KVERN_TRY(const auto file, files.open(path, OpenMode::kRead));
  KVERN_TRY(const uint64_t size, file->size());
  std::vector<std::byte> bytes(size);
  KVERN_TRY_STATUS(file->read_at(0, bytes));
  return bytes;
}

/// A file with its segment number.
struct Found {
  std::string path;
  uint64_t number = 0;
  uint64_t bytes = 0;
  std::optional<SegmentHeader> header;  // none: damaged
};

class Recoverer {
 public:
  Recoverer(Files& files, const std::string& directory) : files_(files), directory_(directory) {}

  Result<JournalRecovery> run() {
    KVERN_TRY_STATUS(find());
    // What lies before the last snapshot does not count any more.
    size_t first = 0;
    for (size_t i = 0; i < found_.size(); ++i) {
      if (found_[i].header && found_[i].header->snapshot) first = i;
    }
    for (size_t i = first; i < found_.size(); ++i) {
      const SegmentPlace place = i + 1 == found_.size() ? SegmentPlace::kLast : SegmentPlace::kBefore;
      KVERN_TRY_STATUS(take(found_[i], place));
    }
    return std::move(recovery_);
  }

 private:
  Status find() {
    KVERN_TRY(const auto entries, files_.list(directory_));
    for (const DirectoryEntry& entry : entries) {
      const std::string path = directory_ + "/" + entry.name;
      if (entry.name.starts_with(kPrefix) && entry.name.ends_with(kUnfinished))
        recovery_.paths.push_back(path);
      const auto number = number_of(entry.name);
      if (!number) continue;
      recovery_.paths.push_back(path);
      recovery_.last_segment = std::max(recovery_.last_segment, *number);
      Found found{.path = path, .number = *number, .bytes = 0, .header = {}};
      KVERN_TRY_STATUS(read_header(found));
      recovery_.bytes += found.bytes;
      found_.push_back(std::move(found));
    }
    return Ok{};
  }

  Status read_header(Found& found) {
    KVERN_TRY(const auto file, files_.open(found.path, OpenMode::kRead));
    KVERN_TRY(found.bytes, file->size());
    std::array<std::byte, kSegmentHeaderBytes> head{};
    if (found.bytes >= head.size()) KVERN_TRY_STATUS(file->read_at(0, head));
    auto header = decode_segment_header(head);
    if (!header && header.error().code == ErrorCode::kUnsupported) {
      header.error().where = found.path;
      return std::unexpected(header.error());
    }
    if (header && header->number == found.number) found.header = *header;
    return Ok{};
  }

  Status take(const Found& found, SegmentPlace place) {
    if (!found.header) {
      // Its name became durable with its content, so this is no crash's doing.
      recovery_.damage.push_back(
          fmt::format("{}: the head cannot be read, {} bytes are lost", found.path, found.bytes));
      return Ok{};
    }
    const auto bytes = read_all(files_, found.path);
    if (!bytes) {
      recovery_.damage.push_back(bytes.error().to_string());
      return Ok{};
    }
    const SegmentContent content = read_segment(*found.header, *bytes, place);
    recovery_.torn_bytes += content.torn_bytes;
    for (const SegmentDamage& damage : content.damage) {
      recovery_.damage.push_back(fmt::format(
          "{}: {} bytes at {} cannot be read, {}", found.path, damage.bytes, damage.offset,
          damage.records == 0 ? std::string("up to the end") : fmt::format("{} records", damage.records)));
    }
    recovery_.last_sequence = std::max(recovery_.last_sequence, found.header->first_sequence - 1);
    for (const Frame& frame : content.frames) {
      recovery_.last_sequence = std::max(recovery_.last_sequence, frame.sequence);
      auto record = decode_record(frame.type, frame.payload);
      if (record) {
        recovery_.state.apply(*std::move(record));
      } else if (record.error().code == ErrorCode::kUnsupported) {
        record.error().where = found.path;
        return std::unexpected(record.error());
      } else {
        recovery_.damage.push_back(found.path + ": " + record.error().message);
      }
    }
    return Ok{};
  }

  Files& files_;
  const std::string& directory_;
  std::vector<Found> found_;
  JournalRecovery recovery_;
};

}  // namespace

Result<JournalRecovery> recover_journal(Files& files, const std::string& directory) {
  return Recoverer(files, directory).run();
}

Result<std::unique_ptr<JournalSegment>> JournalSegment::create(Files& files, const std::string& directory,
                                                               const SegmentHeader& header,
                                                               const std::vector<JournalRecord>& records) {
  std::unique_ptr<JournalSegment> segment(new JournalSegment(header, path_of(directory, header.number)));
  const std::string unfinished = segment->path_ + std::string(kUnfinished);
  KVERN_TRY(segment->file_, files.open(unfinished, OpenMode::kCreate));
  KVERN_TRY_STATUS(segment->file_->write_at(0, encode_segment_header(header)));
  segment->offset_ = kSegmentHeaderBytes;
  KVERN_TRY_STATUS(segment->append(records));
  KVERN_TRY_STATUS(segment->sync());
  KVERN_TRY_STATUS(files.rename(unfinished, segment->path_));
  KVERN_TRY_STATUS(files.sync_directory(directory));
  return segment;
}

Status JournalSegment::append(const std::vector<JournalRecord>& records) {
  std::vector<std::byte> out;
  uint64_t sequence = sequence_;
  for (const JournalRecord& record : records) {
    append_frame({.type = type_of(record), .sequence = ++sequence, .durable = durable_}, header_.number,
                 encode_record(record), out);
  }
  KVERN_TRY_STATUS(file_->write_at(offset_, out));
  offset_ += out.size();
  sequence_ = sequence;
  return Ok{};
}

Status JournalSegment::sync() {
  KVERN_TRY_STATUS(file_->sync());
  durable_ = sequence_;
  return Ok{};
}

}  // namespace kvern::store
