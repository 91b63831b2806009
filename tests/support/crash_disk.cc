#include "support/crash_disk.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/memory_files.h"

namespace kvern::test {
namespace {

constexpr size_t kSector = 512;

uint64_t next(uint64_t& state) {
  state += 0x9E3779B97F4A7C15U;
  uint64_t x = state;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

bool chosen(CrashChoice::What what, uint64_t& random) {
  if (what != CrashChoice::What::kAny) return what == CrashChoice::What::kAll;
  return next(random) % 2 == 0;
}

}  // namespace

class RecordingFile : public File {
 public:
  RecordingFile(RecordingFiles& owner, std::unique_ptr<File> inner, size_t node)
      : owner_(owner), inner_(std::move(inner)), node_(node) {}

  Result<uint64_t> size() const override { return inner_->size(); }
  Status read_at(uint64_t offset, std::span<std::byte> out) const override {
    return inner_->read_at(offset, out);
  }
  Status write_at(uint64_t offset, std::span<const std::byte> data) override {
    owner_.add({.kind = RecordedCall::Kind::kWrite,
                .node = node_,
                .offset = offset,
                .data = {data.begin(), data.end()}});
    return inner_->write_at(offset, data);
  }
  Status sync() override {
    owner_.add({.kind = RecordedCall::Kind::kSync, .node = node_});
    return inner_->sync();
  }

 private:
  RecordingFiles& owner_;
  std::unique_ptr<File> inner_;
  size_t node_;
};

RecordingFiles::RecordingFiles() : inner_(make_memory_files()) {}

size_t RecordingFiles::calls() {
  const MutexLock lock(mutex_);
  return record_.size();
}

std::vector<RecordedCall> RecordingFiles::record() {
  const MutexLock lock(mutex_);
  return record_;
}

void RecordingFiles::add(RecordedCall call) {
  const MutexLock lock(mutex_);
  record_.push_back(std::move(call));
}

Result<std::unique_ptr<File>> RecordingFiles::open(const std::string& path, OpenMode mode) {
  KVERN_TRY(auto inner, inner_->open(path, mode));
  const MutexLock lock(mutex_);
  const auto [known, is_new] = nodes_.try_emplace(path, next_node_);
  if (is_new) {
    ++next_node_;
    record_.push_back({.kind = RecordedCall::Kind::kCreate, .path = path, .node = known->second});
  } else if (mode == OpenMode::kCreate) {
    record_.push_back({.kind = RecordedCall::Kind::kTruncate, .path = path, .node = known->second});
  }
  return std::make_unique<RecordingFile>(*this, std::move(inner), known->second);
}

Status RecordingFiles::make_directory(const std::string& path) {
  if (!inner_->exists(path)) add({.kind = RecordedCall::Kind::kMakeDirectory, .path = path});
  return inner_->make_directory(path);
}

Status RecordingFiles::rename(const std::string& from, const std::string& to) {
  KVERN_TRY_STATUS(inner_->rename(from, to));
  const MutexLock lock(mutex_);
  const size_t node = nodes_.at(from);
  nodes_.erase(from);
  nodes_[to] = node;
  record_.push_back({.kind = RecordedCall::Kind::kRename, .path = from, .to = to, .node = node});
  return Ok{};
}

Status RecordingFiles::remove(const std::string& path) {
  KVERN_TRY_STATUS(inner_->remove(path));
  const MutexLock lock(mutex_);
  nodes_.erase(path);
  record_.push_back({.kind = RecordedCall::Kind::kRemove, .path = path});
  return Ok{};
}

Status RecordingFiles::sync_directory(const std::string& path) {
  add({.kind = RecordedCall::Kind::kSyncDirectory, .path = path});
  return inner_->sync_directory(path);
}

Result<std::unique_ptr<FileLock>> RecordingFiles::lock(const std::string& path, LockKind kind) {
  if (!exists(path)) KVERN_TRY_STATUS(open(path, OpenMode::kCreate));
  return inner_->lock(path, kind);
}

Result<std::unique_ptr<FileLock>> RecordingFiles::try_lock(const std::string& path, LockKind kind) {
  if (!exists(path)) KVERN_TRY_STATUS(open(path, OpenMode::kCreate));
  return inner_->try_lock(path, kind);
}

void CrashDisk::change_name(const std::string& removes, const std::string& adds, size_t node) {
  Directory& directory = directories_[parent_directory(adds.empty() ? removes : adds)];
  KVERN_CHECK(removes.empty() || adds.empty() || parent_directory(removes) == parent_directory(adds));
  if (!removes.empty()) directory.names.erase(removes);
  if (!adds.empty()) directory.names[adds] = node;
  directory.pending.push_back({removes, adds, node});
}

void CrashDisk::advance() {
  const RecordedCall& call = record_.at(done_++);
  switch (call.kind) {
    case RecordedCall::Kind::kMakeDirectory:
      return change_name("", call.path, kFolder);
    case RecordedCall::Kind::kCreate:
      return change_name("", call.path, call.node);
    case RecordedCall::Kind::kWrite:
    case RecordedCall::Kind::kTruncate:
      nodes_[call.node].pending.push_back(&call);
      return;
    case RecordedCall::Kind::kSync: {
      Node& node = nodes_[call.node];
      uint64_t unused = 0;
      node.durable = content(node, CrashChoice::What::kAll, unused);
      node.pending.clear();
      return;
    }
    case RecordedCall::Kind::kRename:
      return change_name(call.path, call.to, call.node);
    case RecordedCall::Kind::kRemove:
      return change_name(call.path, "", 0);
    case RecordedCall::Kind::kSyncDirectory: {
      Directory& directory = directories_[call.path];
      directory.durable = directory.names;
      directory.pending.clear();
      return;
    }
  }
}

CrashDisk::Bytes CrashDisk::content(const Node& node, CrashChoice::What what, uint64_t& random) const {
  Bytes bytes = node.durable;
  for (const RecordedCall* call : node.pending) {
    if (call->kind == RecordedCall::Kind::kTruncate) {
      if (chosen(what, random)) bytes.clear();
      continue;
    }
    for (size_t at = 0; at < call->data.size(); at += kSector) {
      if (!chosen(what, random)) continue;
      const size_t count = std::min(kSector, call->data.size() - at);
      const size_t begin = call->offset + at;
      if (bytes.size() < begin + count) bytes.resize(begin + count);
      std::memcpy(bytes.data() + begin, call->data.data() + at, count);
    }
  }
  return bytes;
}

std::map<std::string, size_t> CrashDisk::names(const Directory& directory, CrashChoice::What what,
                                               uint64_t& random) const {
  if (what == CrashChoice::What::kAll) return directory.names;
  std::map<std::string, size_t> names = directory.durable;
  for (const NameChange& change : directory.pending) {
    if (!chosen(what, random)) continue;
    if (!change.removes.empty()) names.erase(change.removes);
    if (!change.adds.empty()) names[change.adds] = change.node;
  }
  return names;
}

std::unique_ptr<Files> CrashDisk::image(const CrashChoice& choice) const {
  auto files = make_memory_files();
  uint64_t random = choice.seed;
  std::vector<std::string> folders = {"."};
  for (size_t i = 0; i < folders.size(); ++i) {
    const auto directory = directories_.find(folders[i]);
    if (directory == directories_.end()) continue;
    for (const auto& [path, node] : names(directory->second, choice.names, random)) {
      if (node == kFolder) {
        KVERN_CHECK(files->make_directory(path).has_value());
        folders.push_back(path);
        continue;
      }
      const auto file = files->open(path, OpenMode::kCreate);
      const auto known = nodes_.find(node);
      if (known == nodes_.end()) continue;
      KVERN_CHECK((*file)->write_at(0, content(known->second, choice.data, random)).has_value());
    }
  }
  return files;
}

}  // namespace kvern::test
