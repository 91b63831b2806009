#include "base/atomic_file.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/hash.h"

namespace kvern {
namespace {

/// A name beside `path` that no other process or thread picks, also not one in another container.
Result<std::string> temporary_neighbour(const std::string& path) {
  std::array<std::byte, 8> random{};
  if (::getentropy(random.data(), random.size()) != 0)
    return fail(ErrorCode::kIo, "no random bytes for the name of a temporary file", path);
  return fmt::format("{}.{}.tmp", path, to_hex(random));
}

}  // namespace

AtomicFile::AtomicFile(Files& files, std::string path, std::string temporary, std::unique_ptr<File> file)
    : files_(&files), path_(std::move(path)), temporary_(std::move(temporary)), file_(std::move(file)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : files_(other.files_),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      size_(other.size_) {}

AtomicFile::~AtomicFile() {
  file_.reset();
  // Best effort: the error that led here is the one to report.
  if (!temporary_.empty()) static_cast<void>(files_->remove(temporary_));
}

Result<AtomicFile> AtomicFile::create(Files& files, std::string path) {
  const auto present = files.kind(path);
  if (present && *present == FileKind::kDirectory)
    return fail(ErrorCode::kInvalidArgument, "is a directory, not a file", path);
  if (present && *present == FileKind::kSpecial)
    return fail(ErrorCode::kInvalidArgument, "is a device or a pipe, which cannot be replaced", path);
  KVERN_TRY(std::string temporary, temporary_neighbour(path));
  auto file = files.open(temporary, OpenMode::kCreate);
  if (!file) {
    Error error = std::move(file).error();
    error.where = path;  // The name that the caller knows.
    return std::unexpected(std::move(error));
  }
  return AtomicFile(files, std::move(path), std::move(temporary), *std::move(file));
}

Status AtomicFile::at_path(Status status) const {
  if (!status) status.error().where = path_;
  return status;
}

Status AtomicFile::append(std::span<const std::byte> bytes) {
  KVERN_TRY_STATUS(at_path(file_->write_at(size_, bytes)));
  size_ += bytes.size();
  return Ok{};
}

Status AtomicFile::commit() {
  KVERN_TRY_STATUS(at_path(file_->sync()));
  file_.reset();
  KVERN_TRY_STATUS(at_path(files_->rename(temporary_, path_)));
  temporary_.clear();
  return files_->sync_directory(parent_directory(path_));
}

}  // namespace kvern
