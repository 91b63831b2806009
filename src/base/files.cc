#include "base/files.h"

#include <utility>

#include <fmt/format.h>

#include "base/atomic_file.h"

namespace kvern {
namespace {

Status write_and_sync(Files& files, const std::string& path, std::span<const std::byte> data) {
  KVERN_TRY(auto file, files.open(path, OpenMode::kCreate));
  KVERN_TRY_STATUS(file->write_at(0, data));
  return file->sync();
}

}  // namespace

Result<uint64_t> Files::size_of(const std::string& path) {
  KVERN_TRY(const auto file, open(path, OpenMode::kRead));
  return file->size();
}

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
  if (present && *present == FileKind::kSpecial) return write_and_sync(files, path, data);

  KVERN_TRY(AtomicFile file, AtomicFile::create(files, path));
  KVERN_TRY_STATUS(file.append(data));
  return file.commit();
}

}  // namespace kvern
