#include "base/files.h"

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

/// Removes a temporary file unless it got its final name.
class TemporaryFile {
 public:
  TemporaryFile(Files& files, std::string path) : files_(files), path_(std::move(path)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    // Best effort: the error that led here is the one to report.
    if (!kept_) static_cast<void>(files_.remove(path_));
  }
  void keep() { kept_ = true; }

 private:
  Files& files_;
  std::string path_;
  bool kept_ = false;
};

Status write_and_sync(Files& files, const std::string& path, std::span<const std::byte> data) {
  KVERN_TRY(auto file, files.open(path, OpenMode::kCreate));
  KVERN_TRY_STATUS(file->write_at(0, data));
  return file->sync();
}

}  // namespace

Result<bool> Files::is_directory(const std::string& path) {
  KVERN_TRY(const FileKind found, kind(path));
  return found == FileKind::kDirectory;
}

bool Files::exists(const std::string& path) { return kind(path).has_value(); }

std::string parent_directory(const std::string& path) {
  const size_t last = path.find_last_not_of('/');
  if (last == std::string::npos) return path.empty() ? "." : "/";
  const size_t slash = path.rfind('/', last);
  if (slash == std::string::npos) return ".";
  const size_t end = path.find_last_not_of('/', slash);
  return end == std::string::npos ? "/" : path.substr(0, end + 1);
}

Result<std::string> read_file(Files& files, const std::string& path, uint64_t limit_bytes) {
  KVERN_TRY(const auto file, files.open(path, OpenMode::kRead));
  KVERN_TRY(const uint64_t size, file->size());
  if (size > limit_bytes)
    return fail(ErrorCode::kExhausted, fmt::format("{} bytes; at most {} are read", size, limit_bytes), path);
  std::string content(size, '\0');
  KVERN_TRY_STATUS(file->read_at(0, std::as_writable_bytes(std::span(content))));
  return content;
}

Status write_file_atomically(Files& files, const std::string& path, std::span<const std::byte> data) {
  const auto present = files.kind(path);
  if (present && *present == FileKind::kDirectory)
    return fail(ErrorCode::kInvalidArgument, "is a directory, not a file", path);
  if (present && *present == FileKind::kSpecial) return write_and_sync(files, path, data);

  KVERN_TRY(const std::string temporary_path, temporary_neighbour(path));
  TemporaryFile temporary(files, temporary_path);
  if (auto written = write_and_sync(files, temporary_path, data); !written) {
    Error error = std::move(written).error();
    error.where = path;  // The name that the caller knows.
    return std::unexpected(std::move(error));
  }
  KVERN_TRY_STATUS(files.rename(temporary_path, path));
  temporary.keep();
  return files.sync_directory(parent_directory(path));
}

}  // namespace kvern
