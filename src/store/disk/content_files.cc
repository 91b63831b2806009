#include "store/disk/content_files.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace kvern::store {
namespace {

constexpr std::string_view kUnfinished = ".tmp";

// A name that no other process or thread picks.
Result<std::string> unfinished_name() {
  std::array<std::byte, 16> random{};
  if (::getentropy(random.data(), random.size()) != 0)
    return fail(ErrorCode::kIo, "no random bytes for the name of a file");
  return to_hex(random) + std::string(kUnfinished);
}

bool is_unfinished(std::string_view name) {
  return name.size() == 32 + kUnfinished.size() && name.ends_with(kUnfinished) &&
         std::ranges::all_of(name.substr(0, 32),
                             [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

Status make_durable_directory(Files& files, const std::string& path) {
  if (files.exists(path)) return files.make_directory(path);  // says so when it is a file
  KVERN_TRY_STATUS(files.make_directory(path));
  return files.sync_directory(parent_directory(path));
}

ContentFiles::ContentFiles(Files& files, BlockIo& io, std::string folder, std::string quarantine)
    : files_(files), io_(io), folder_(std::move(folder)), quarantine_(std::move(quarantine)) {}

Status ContentFiles::prepare() { return make_durable_directory(files_, folder_); }

Status ContentFiles::add(const ContentName& name, std::span<const std::byte> bytes) {
  KVERN_TRY(const std::string file, unfinished_name());
  const std::string temporary = folder_ + "/" + file;
  BlockWrite write{.path = temporary, .bytes = bytes};
  io_.write({&write, 1});
  Status status = std::move(write.status);
  if (status) status = files_.rename(temporary, path(name));
  // Best effort: the error that led here is the one to report.
  if (!status) static_cast<void>(files_.remove(temporary));
  return status;
}

Result<AlignedBuffer> ContentFiles::read(const ContentName& name, uint64_t limit) const {
  KVERN_TRY(const auto file, open_stored(files_, path(name)));
  KVERN_TRY(const uint64_t size, file->size());
  if (size > limit)
    return fail(ErrorCode::kCorrupt, "the file is larger than anything that is written here", path(name));
  AlignedBuffer buffer(static_cast<size_t>(size));
  KVERN_TRY_STATUS(file->read_at(0, buffer.bytes()));
  return buffer;
}

Result<ContentFiles::Beginning> ContentFiles::read_beginning(const ContentName& name, uint64_t bytes) const {
  KVERN_TRY(const auto file, open_stored(files_, path(name)));
  KVERN_TRY(const uint64_t size, file->size());
  Beginning beginning{.bytes = AlignedBuffer(static_cast<size_t>(std::min(size, bytes))), .file_bytes = size};
  KVERN_TRY_STATUS(file->read_at(0, beginning.bytes.bytes()));
  return beginning;
}

bool ContentFiles::holds(const ContentName& name, std::span<const std::byte> bytes) const {
  BlockRead read{.path = path(name), .buffer = AlignedBuffer(bytes.size())};
  io_.read({&read, 1});
  return read.status && std::memcmp(read.buffer.bytes().data(), bytes.data(), bytes.size()) == 0;
}

Status ContentFiles::remove(const ContentName& name) {
  auto removed = files_.remove(path(name));
  if (!removed && removed.error().code == ErrorCode::kNotFound) return Ok{};
  return removed;
}

Status ContentFiles::remove_unfinished(const std::string& file) {
  return files_.remove(folder_ + "/" + file);
}

Status ContentFiles::quarantine(const ContentName& name) {
  KVERN_TRY_STATUS(make_durable_directory(files_, quarantine_));
  return files_.rename(path(name), quarantine_ + "/" + name.to_string());
}

Result<FolderContents> ContentFiles::list() const {
  KVERN_TRY(const auto entries, files_.list(folder_));
  FolderContents contents;
  for (const DirectoryEntry& entry : entries) {
    const auto name = parse_content_name(entry.name);
    if (name && !entry.is_directory) {
      contents.names.push_back(*name);
    } else if (is_unfinished(entry.name)) {
      contents.unfinished.push_back(entry.name);
    } else {
      ++contents.strangers;
    }
  }
  return contents;
}

}  // namespace kvern::store
