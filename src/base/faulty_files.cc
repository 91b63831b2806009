#include "base/faulty_files.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace kvern {
namespace {

std::unexpected<Error> injected(const std::string& path) {
  return fail(ErrorCode::kIo, "cannot go on: injected fault", path);
}

/// The first half of another mapping.
class ShortMapping : public MappedFile {
 public:
  explicit ShortMapping(std::unique_ptr<MappedFile> inner) : inner_(std::move(inner)) {}
  std::span<const std::byte> bytes() const override {
    return inner_->bytes().first(inner_->bytes().size() / 2);
  }
  Status check_unchanged() const override { return inner_->check_unchanged(); }

 private:
  std::unique_ptr<MappedFile> inner_;
};

/// Everything that an open file holds.
Result<std::string> content_of(const File& file) {
  KVERN_TRY(const uint64_t size, file.size());
  std::string content(size, '\0');
  KVERN_TRY_STATUS(file.read_at(0, std::as_writable_bytes(std::span(content))));
  return content;
}

}  // namespace

class FaultyFile : public File {
 public:
  FaultyFile(FaultyFiles& owner, std::unique_ptr<File> inner, std::string path)
      : owner_(owner), inner_(std::move(inner)), path_(std::move(path)) {}

  void set_node(std::shared_ptr<FaultyFiles::Node> node) { node_ = std::move(node); }

  Result<uint64_t> size() const override {
    KVERN_TRY_STATUS(owner_.step(path_));
    return inner_->size();
  }

  Status read_at(uint64_t offset, std::span<std::byte> out) const override {
    const auto fault = owner_.next_fault(FaultKind::kShorten);
    if (!fault) return inner_->read_at(offset, out);
    if (*fault == FaultKind::kFail) return injected(path_);
    const size_t half = out.size() / 2;
    KVERN_TRY_STATUS(inner_->read_at(offset, out.first(half)));
    return fail(
        ErrorCode::kCorrupt,
        fmt::format("the file ends after {} of {} bytes wanted at offset {}", half, out.size(), offset),
        path_);
  }

  Status write_at(uint64_t offset, std::span<const std::byte> data) override {
    const auto fault = owner_.next_fault(FaultKind::kTear);
    if (fault == FaultKind::kFail) return injected(path_);
    const size_t wanted = fault ? data.size() / 2 : data.size();
    const size_t fits = owner_.take_space(wanted);
    KVERN_TRY_STATUS(inner_->write_at(offset, data.first(fits)));
    if (fits < wanted)
      return std::unexpected(Error{.code = ErrorCode::kExhausted,
                                   .message = "cannot write: No space left on device",
                                   .where = path_,
                                   .retryable = true});
    if (fault) return injected(path_);
    return Ok{};
  }

  Status sync() override {
    KVERN_TRY_STATUS(owner_.step(path_));
    KVERN_TRY_STATUS(inner_->sync());
    KVERN_TRY(std::string content, content_of(*inner_));
    const MutexLock lock(owner_.mutex_);
    node_->durable_content = std::move(content);
    return Ok{};
  }

 private:
  FaultyFiles& owner_;
  std::unique_ptr<File> inner_;
  std::string path_;
  std::shared_ptr<FaultyFiles::Node> node_;
};

void FaultyFiles::set_plan(const FaultPlan& plan) {
  const MutexLock lock(mutex_);
  plan_ = plan;
  operations_ = 0;
  written_bytes_ = 0;
}

uint64_t FaultyFiles::operations() const {
  const MutexLock lock(mutex_);
  return operations_;
}

std::optional<FaultKind> FaultyFiles::next_fault(FaultKind applicable) {
  const MutexLock lock(mutex_);
  const uint64_t number = operations_++;
  if (number == plan_.at) return plan_.kind == applicable ? applicable : FaultKind::kFail;
  if (number > plan_.at && plan_.stays_down) return FaultKind::kFail;
  return std::nullopt;
}

Status FaultyFiles::step(const std::string& path) {
  if (next_fault(FaultKind::kFail)) return injected(path);
  return Ok{};
}

uint64_t FaultyFiles::take_space(uint64_t wanted) {
  const MutexLock lock(mutex_);
  const uint64_t left = plan_.disk_bytes - std::min(plan_.disk_bytes, written_bytes_);
  const uint64_t taken = std::min(wanted, left);
  written_bytes_ += taken;
  return taken;
}

Status FaultyFiles::learn(const std::string& path) {
  {
    const MutexLock lock(mutex_);
    if (names_.contains(path)) return Ok{};
  }
  const auto kind = inner_.kind(path);
  if (!kind || *kind != FileKind::kRegular) return Ok{};
  KVERN_TRY(const auto file, inner_.open(path, OpenMode::kRead));
  KVERN_TRY(std::string content, content_of(*file));
  const auto node = std::make_shared<Node>(Node{.durable_content = std::move(content)});
  const MutexLock lock(mutex_);
  names_.emplace(path, node);
  durable_names_.emplace(path, node);
  return Ok{};
}

Status FaultyFiles::lose_unsynced() {
  const MutexLock lock(mutex_);
  std::set<std::string> paths;
  for (const auto& [path, node] : names_) paths.insert(path);
  for (const auto& [path, node] : durable_names_) paths.insert(path);
  for (const std::string& path : paths) {
    if (inner_.exists(path)) KVERN_TRY_STATUS(inner_.remove(path));
    const auto durable = durable_names_.find(path);
    if (durable == durable_names_.end()) continue;
    KVERN_TRY(const auto file, inner_.open(path, OpenMode::kCreate));
    KVERN_TRY_STATUS(file->write_at(0, std::as_bytes(std::span(durable->second->durable_content))));
  }
  names_ = durable_names_;
  plan_ = {};
  return Ok{};
}

Result<std::unique_ptr<File>> FaultyFiles::open(const std::string& path, OpenMode mode) {
  KVERN_TRY_STATUS(step(path));
  KVERN_TRY_STATUS(learn(path));
  KVERN_TRY(auto inner, inner_.open(path, mode));
  auto file = std::make_unique<FaultyFile>(*this, std::move(inner), path);
  const MutexLock lock(mutex_);
  auto& node = names_[path];
  if (!node) node = std::make_shared<Node>();
  file->set_node(node);
  return file;
}

Result<std::unique_ptr<MappedFile>> FaultyFiles::map(const std::string& path) {
  const auto fault = next_fault(FaultKind::kShorten);
  if (fault == FaultKind::kFail) return injected(path);
  KVERN_TRY(auto mapped, inner_.map(path));
  if (fault) return std::make_unique<ShortMapping>(std::move(mapped));
  return mapped;
}

Result<FileKind> FaultyFiles::kind(const std::string& path) {
  KVERN_TRY_STATUS(step(path));
  return inner_.kind(path);
}

Result<std::vector<DirectoryEntry>> FaultyFiles::list(const std::string& path) {
  KVERN_TRY_STATUS(step(path));
  return inner_.list(path);
}

Status FaultyFiles::make_directory(const std::string& path) {
  KVERN_TRY_STATUS(step(path));
  return inner_.make_directory(path);
}

Status FaultyFiles::rename(const std::string& from, const std::string& to) {
  KVERN_TRY_STATUS(step(from));
  KVERN_TRY_STATUS(learn(from));
  KVERN_TRY_STATUS(learn(to));
  KVERN_TRY_STATUS(inner_.rename(from, to));
  const MutexLock lock(mutex_);
  if (const auto moved = names_.extract(from); !moved.empty()) names_[to] = moved.mapped();
  return Ok{};
}

Status FaultyFiles::remove(const std::string& path) {
  KVERN_TRY_STATUS(step(path));
  KVERN_TRY_STATUS(learn(path));
  KVERN_TRY_STATUS(inner_.remove(path));
  const MutexLock lock(mutex_);
  names_.erase(path);
  return Ok{};
}

Status FaultyFiles::sync_directory(const std::string& path) {
  KVERN_TRY_STATUS(step(path));
  KVERN_TRY_STATUS(inner_.sync_directory(path));
  const MutexLock lock(mutex_);
  std::erase_if(durable_names_, [&](const auto& item) { return parent_directory(item.first) == path; });
  for (const auto& [name, node] : names_)
    if (parent_directory(name) == path) durable_names_[name] = node;
  return Ok{};
}

Result<std::unique_ptr<FileLock>> FaultyFiles::lock(const std::string& path, LockKind kind) {
  KVERN_TRY_STATUS(step(path));
  return inner_.lock(path, kind);
}

Result<std::unique_ptr<FileLock>> FaultyFiles::try_lock(const std::string& path, LockKind kind) {
  KVERN_TRY_STATUS(step(path));
  return inner_.try_lock(path, kind);
}

}  // namespace kvern
