#include "server/batch/line_reader.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

namespace kvern::server {
namespace {

constexpr size_t kBlock = size_t{1} << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

LineReader::LineReader(std::unique_ptr<File> file, uint64_t size, size_t max_line_bytes)
    : file_(std::move(file)), size_(size), max_line_bytes_(max_line_bytes) {}

Result<LineReader> LineReader::open(Files& files, const std::string& path, size_t max_line_bytes) {
  KVERN_TRY(std::unique_ptr<File> file, files.open(path, OpenMode::kRead));
  KVERN_TRY(const uint64_t size, file->size());
  LineReader reader(std::move(file), size, max_line_bytes);
  KVERN_TRY_STATUS(reader.fill());
  if (reader.block_.starts_with(kByteOrderMark)) reader.at_ = kByteOrderMark.size();
  return reader;
}

// The next block in place of the last one, all of which was given out.
Status LineReader::fill() {
  block_.resize(static_cast<size_t>(std::min<uint64_t>(kBlock, size_ - block_end_)));
  at_ = 0;
  if (block_.empty()) return Ok{};
  KVERN_TRY_STATUS(file_->read_at(block_end_, std::as_writable_bytes(std::span(block_))));
  block_end_ += block_.size();
  return Ok{};
}

Result<std::optional<LineReader::Line>> LineReader::next() {
  Line line{.number = number_ + 1, .offset = block_end_ - block_.size() + at_, .text = {}, .ended = false};
  bool any = false;
  while (!line.ended) {
    if (at_ == block_.size()) KVERN_TRY_STATUS(fill());
    if (block_.empty()) break;
    any = true;
    const size_t end = std::min(block_.find('\n', at_), block_.size());
    if (!line.too_long && line.text.size() + (end - at_) > max_line_bytes_) {
      line.too_long = true;
      line.text.clear();
    }
    if (!line.too_long) line.text.append(block_, at_, end - at_);
    line.ended = end < block_.size();
    at_ = line.ended ? end + 1 : end;
  }
  if (!any) return std::optional<Line>();
  ++number_;
  if (line.text.ends_with('\r')) line.text.pop_back();
  return std::optional(std::move(line));
}

}  // namespace kvern::server
