#include "base/memory_files.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/mutex.h"

namespace kvern {
namespace {

using Bytes = std::vector<std::byte>;

/// What a name refers to. Thread-safe. A mapping shares the bytes; a later write copies them first.
class Node {
 public:
  uint64_t size() {
    const MutexLock lock(mutex_);
    return bytes_->size();
  }

  std::shared_ptr<const Bytes> share() {
    const MutexLock lock(mutex_);
    return bytes_;
  }

  void clear() {
    const MutexLock lock(mutex_);
    bytes_ = std::make_shared<Bytes>();
  }

  void write(size_t offset, std::span<const std::byte> data) {
    if (data.empty()) return;
    const MutexLock lock(mutex_);
    if (bytes_.use_count() > 1) bytes_ = std::make_shared<Bytes>(*bytes_);
    if (bytes_->size() < offset + data.size()) bytes_->resize(offset + data.size());
    std::ranges::copy(data, bytes_->begin() + static_cast<std::ptrdiff_t>(offset));
  }

 private:
  Mutex mutex_;
  std::shared_ptr<Bytes> bytes_ KVERN_GUARDED_BY(mutex_) = std::make_shared<Bytes>();
};

class MemoryFile : public File {
 public:
  MemoryFile(std::shared_ptr<Node> node, std::string path, OpenMode mode)
      : node_(std::move(node)), path_(std::move(path)), mode_(mode) {}

  Result<uint64_t> size() const override { return node_->size(); }

  Status read_at(uint64_t offset, std::span<std::byte> out) const override {
    if (out.empty()) return Ok{};
    const auto bytes = node_->share();
    const uint64_t left = offset < bytes->size() ? bytes->size() - offset : 0;
    if (left < out.size())
      return fail(
          ErrorCode::kCorrupt,
          fmt::format("the file ends after {} of {} bytes wanted at offset {}", left, out.size(), offset),
          path_);
    std::copy_n(bytes->begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return Ok{};
  }

  Status write_at(uint64_t offset, std::span<const std::byte> data) override {
    if (mode_ == OpenMode::kRead) return fail(ErrorCode::kIo, "cannot write: opened for reading", path_);
    constexpr auto kLast = static_cast<uint64_t>(std::numeric_limits<std::ptrdiff_t>::max());
    if (offset > kLast || data.size() > kLast - offset)
      return fail(ErrorCode::kInvalidArgument, fmt::format("offset {} is beyond any file", offset), path_);
    node_->write(offset, data);
    return Ok{};
  }

  Status sync() override { return Ok{}; }

 private:
  std::shared_ptr<Node> node_;
  std::string path_;
  OpenMode mode_;
};

class MemoryMapping : public MappedFile {
 public:
  MemoryMapping(std::shared_ptr<Node> node, std::string path)
      : node_(std::move(node)), bytes_(node_->share()), path_(std::move(path)) {}
  std::span<const std::byte> bytes() const override { return *bytes_; }
  Status check_unchanged() const override {
    const auto now = node_->share();
    if (now == bytes_) return Ok{};
    if (now->size() != bytes_->size()) {
      return fail(ErrorCode::kCorrupt,
                  fmt::format("the file changed while in use: it had {} bytes and has {}", bytes_->size(),
                              now->size()),
                  path_);
    }
    return fail(ErrorCode::kCorrupt, "the file changed while in use: it was written to", path_);
  }

 private:
  std::shared_ptr<Node> node_;
  std::shared_ptr<const Bytes> bytes_;
  std::string path_;
};

/// Who holds a file. Thread-safe.
class Holders {
 public:
  void acquire(LockKind kind) {
    const MutexLock lock(mutex_);
    while (!free_for(kind)) changed_.wait(mutex_);
    take(kind);
  }

  bool try_acquire(LockKind kind) {
    const MutexLock lock(mutex_);
    if (!free_for(kind)) return false;
    take(kind);
    return true;
  }

  void release(LockKind kind) {
    const MutexLock lock(mutex_);
    if (kind == LockKind::kShared) {
      --shared_;
    } else {
      exclusive_ = false;
    }
    changed_.notify_all();
  }

 private:
  bool free_for(LockKind kind) const KVERN_REQUIRES(mutex_) {
    return !exclusive_ && (kind == LockKind::kShared || shared_ == 0);
  }
  void take(LockKind kind) KVERN_REQUIRES(mutex_) {
    if (kind == LockKind::kShared) {
      ++shared_;
    } else {
      exclusive_ = true;
    }
  }

  Mutex mutex_;
  std::condition_variable_any changed_;
  int shared_ KVERN_GUARDED_BY(mutex_) = 0;
  bool exclusive_ KVERN_GUARDED_BY(mutex_) = false;
};

class MemoryLock : public FileLock {
 public:
  /// Of a file that was acquired.
  MemoryLock(std::shared_ptr<Holders> holders, LockKind kind) : holders_(std::move(holders)), kind_(kind) {}
  MemoryLock(const MemoryLock&) = delete;
  MemoryLock& operator=(const MemoryLock&) = delete;
  ~MemoryLock() override { holders_->release(kind_); }

 private:
  std::shared_ptr<Holders> holders_;
  LockKind kind_;
};

/// One spelling for each path: "./a//b/" and "a/b" are the same.
std::string normal(const std::string& path) {
  std::string text = std::filesystem::path(path).lexically_normal().generic_string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text.empty() ? "." : text;
}

/// What the paths below a directory begin with.
std::string prefix_of(const std::string& directory) {
  if (directory == ".") return "";
  return directory == "/" ? "/" : directory + "/";
}

class MemoryFiles : public Files {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    const MutexLock lock(mutex_);
    const std::string name = normal(path);
    if (is_directory_locked(name))
      return fail(ErrorCode::kInvalidArgument, "is a directory, not a file", path);
    auto found = nodes_.find(name);
    if (found == nodes_.end()) {
      if (mode != OpenMode::kCreate) return not_found("open", path);
      found = nodes_.emplace(name, std::make_shared<Node>()).first;
    } else if (mode == OpenMode::kCreate) {
      found->second->clear();
    }
    return std::make_unique<MemoryFile>(found->second, path, mode);
  }

  Result<std::unique_ptr<MappedFile>> map(const std::string& path) override {
    const MutexLock lock(mutex_);
    const std::string name = normal(path);
    if (is_directory_locked(name))
      return fail(ErrorCode::kInvalidArgument, "is a directory, not a file", path);
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) return not_found("map", path);
    return std::make_unique<MemoryMapping>(found->second, path);
  }

  Result<FileKind> kind(const std::string& path) override {
    const MutexLock lock(mutex_);
    const std::string name = normal(path);
    if (nodes_.contains(name)) return FileKind::kRegular;
    if (is_directory_locked(name)) return FileKind::kDirectory;
    return not_found("examine", path);
  }

  Result<std::vector<DirectoryEntry>> list(const std::string& path) override {
    const MutexLock lock(mutex_);
    const std::string directory = normal(path);
    if (!is_directory_locked(directory)) return not_found("list", path);
    const std::string prefix = prefix_of(directory);
    std::map<std::string, bool> entries;  // Name to whether it is a directory.
    const auto add = [&](std::string_view full, bool is_directory) {
      if (!full.starts_with(prefix) || full.size() == prefix.size()) return;
      const std::string_view rest = full.substr(prefix.size());
      if (prefix.empty() && rest.starts_with('/')) return;
      const size_t slash = rest.find('/');
      entries[std::string(rest.substr(0, slash))] |= slash != std::string_view::npos || is_directory;
    };
    for (const auto& [name, node] : nodes_) add(name, false);
    for (const auto& name : directories_) add(name, true);
    std::vector<DirectoryEntry> list;
    list.reserve(entries.size());
    for (const auto& [name, is_directory] : entries)
      list.push_back({.name = name, .is_directory = is_directory});
    return list;
  }

  Status make_directory(const std::string& path) override {
    const MutexLock lock(mutex_);
    const std::string name = normal(path);
    if (nodes_.contains(name))
      return fail(ErrorCode::kInvalidArgument, "cannot make the directory: a file has that name", path);
    directories_.insert(name);
    return Ok{};
  }

  Status rename(const std::string& from, const std::string& to) override {
    const MutexLock lock(mutex_);
    const std::string target = normal(to);
    const auto found = nodes_.find(normal(from));
    if (found == nodes_.end()) {
      if (is_directory_locked(normal(from)))
        return fail(ErrorCode::kUnsupported, "directories are not renamed in memory", from);
      return not_found("rename to " + to, from);
    }
    if (is_directory_locked(target))
      return fail(ErrorCode::kInvalidArgument, fmt::format("cannot rename to {}: Is a directory", to), from);
    if (found->first == target) return Ok{};
    auto node = found->second;
    nodes_.erase(found);
    nodes_[target] = std::move(node);
    return Ok{};
  }

  Status remove(const std::string& path) override {
    const MutexLock lock(mutex_);
    const std::string name = normal(path);
    if (nodes_.erase(name) > 0) return Ok{};
    if (!is_directory_locked(name)) return not_found("remove", path);
    if (has_entries_locked(name))
      return fail(ErrorCode::kInvalidArgument, "cannot remove: Directory not empty", path);
    directories_.erase(name);
    return Ok{};
  }

  Status sync_directory(const std::string& path) override {
    const MutexLock lock(mutex_);
    if (!is_directory_locked(normal(path))) return not_found("open the directory", path);
    return Ok{};
  }

  Result<std::unique_ptr<FileLock>> lock(const std::string& path, LockKind kind) override {
    KVERN_TRY(std::shared_ptr<Holders> holders, holders_of(path));
    holders->acquire(kind);
    return std::make_unique<MemoryLock>(std::move(holders), kind);
  }

  Result<std::unique_ptr<FileLock>> try_lock(const std::string& path, LockKind kind) override {
    KVERN_TRY(std::shared_ptr<Holders> holders, holders_of(path));
    if (!holders->try_acquire(kind)) return nullptr;
    return std::make_unique<MemoryLock>(std::move(holders), kind);
  }

 private:
  Result<std::shared_ptr<Holders>> holders_of(const std::string& path) {
    const MutexLock lock(mutex_);
    const std::string name = normal(path);
    if (is_directory_locked(name))
      return fail(ErrorCode::kInvalidArgument, "is a directory, not a file", path);
    if (!nodes_.contains(name)) nodes_.emplace(name, std::make_shared<Node>());
    auto& known = holders_[name];
    if (known == nullptr) known = std::make_shared<Holders>();
    return known;
  }

  static std::unexpected<Error> not_found(std::string_view action, const std::string& path) {
    return fail(ErrorCode::kNotFound, fmt::format("cannot {}: No such file or directory", action), path);
  }

  bool has_entries_locked(const std::string& directory) const KVERN_REQUIRES(mutex_) {
    const std::string prefix = prefix_of(directory);
    const auto below = [&](const auto& names, auto name_of) {
      const auto next = names.lower_bound(prefix);
      return next != names.end() && name_of(*next).starts_with(prefix);
    };
    return below(nodes_, [](const auto& item) -> const std::string& { return item.first; }) ||
           below(directories_, [](const auto& item) -> const std::string& { return item; });
  }

  bool is_directory_locked(const std::string& name) const KVERN_REQUIRES(mutex_) {
    return name == "." || name == "/" || directories_.contains(name) || has_entries_locked(name);
  }

  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Node>> nodes_ KVERN_GUARDED_BY(mutex_);       // By normal path.
  std::set<std::string> directories_ KVERN_GUARDED_BY(mutex_);                        // Those that were made.
  std::map<std::string, std::shared_ptr<Holders>> holders_ KVERN_GUARDED_BY(mutex_);  // Of locked files.
};

}  // namespace

std::unique_ptr<Files> make_memory_files() { return std::make_unique<MemoryFiles>(); }

}  // namespace kvern
