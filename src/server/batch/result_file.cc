#include "server/batch/result_file.h"

#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "server/batch/line_reader.h"

namespace kvern::server {
namespace {

constexpr size_t kMaxResultBytes = size_t{256} << 20;

std::optional<std::string> custom_id_of(const LineReader::Line& line) {
  const auto value = parse_json(line.text, "");
  if (!value || !value->is_object()) return std::nullopt;
  const json::value* id = value->as_object().if_contains("custom_id");
  if (id == nullptr || !id->is_string()) return std::nullopt;
  return std::string(id->as_string());
}

/// Whether more of it could have become a result, whose first member is its id.
bool begins_like_result(std::string_view text) {
  constexpr std::string_view kBegin = R"({"id":"batch_req_)";
  return text.starts_with(kBegin.substr(0, text.size()));
}

Status write_at(File& file, uint64_t offset, std::string_view text) {
  return file.write_at(offset, std::as_bytes(std::span(text)));
}

// The file without what follows `size`.
Status cut(Files& files, const std::string& path, uint64_t size) {
  KVERN_TRY(const std::unique_ptr<MappedFile> whole, files.map(path));
  return write_file_atomically(files, path, whole->bytes().first(static_cast<size_t>(size)));
}

}  // namespace

Status ResultFile::lock(Files& files, const std::string& path) {
  lock_.reset();
  KVERN_TRY(auto lock, files.try_lock(path, LockKind::kExclusive));
  if (lock == nullptr)
    return fail(ErrorCode::kInvalidArgument, "another program is writing results there", path);
  lock_ = std::move(lock);
  return Ok{};
}

Result<ResultFile> ResultFile::open(Files& files, const std::string& path) {
  ResultFile results;
  const bool exists = files.exists(path);
  KVERN_TRY_STATUS(results.lock(files, path));
  if (exists) {
    KVERN_TRY_STATUS(results.read(files, path));
    // What was cut off is gone with the file that was locked.
    if (results.repaired_) KVERN_TRY_STATUS(results.lock(files, path));
    return results;
  }
  KVERN_TRY(results.file_, files.open(path, OpenMode::kCreate));
  KVERN_TRY_STATUS(files.sync_directory(parent_directory(path)));
  return results;
}

Status ResultFile::read(Files& files, const std::string& path) {
  KVERN_TRY(LineReader reader, LineReader::open(files, path, kMaxResultBytes));
  bool line_open = false;
  for (;;) {
    KVERN_TRY(std::optional<LineReader::Line> line, reader.next());
    if (!line) break;
    std::optional<std::string> id = custom_id_of(*line);
    if (!id && !line->ended && begins_like_result(line->text)) {
      KVERN_TRY_STATUS(cut(files, path, line->offset));
      repaired_ = true;
      break;
    }
    if (!id && line->ended && line->text.empty()) continue;
    if (!id) {
      return fail(
          ErrorCode::kCorrupt,
          fmt::format("line {} is no result of a batch; choose another file for the results", line->number),
          path);
    }
    ids_.insert(*std::move(id));
    line_open = !line->ended;
  }
  KVERN_TRY(file_, files.open(path, OpenMode::kUpdate));
  KVERN_TRY(end_, file_->size());
  if (!line_open) return Ok{};
  KVERN_TRY_STATUS(write_at(*file_, end_, "\n"));
  ++end_;
  return Ok{};
}

Status ResultFile::append(std::string_view custom_id, const json::object& result) {
  const std::string line = to_json(result) + "\n";
  KVERN_TRY_STATUS(write_at(*file_, end_, line));
  end_ += line.size();
  ids_.emplace(custom_id);
  unsynced_ = true;
  return Ok{};
}

Status ResultFile::sync() {
  KVERN_TRY_STATUS(file_->sync());
  unsynced_ = false;
  return Ok{};
}

}  // namespace kvern::server
