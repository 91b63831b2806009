#include "cli/input.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <sys/stat.h>

namespace kvern::cli {
namespace {

struct Closer {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

bool is_stream(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

Result<std::string> read_stream(std::FILE* file, const std::string& name, uint64_t limit_bytes) {
  std::string text;
  std::array<char, size_t{64} << 10> piece;
  while (const size_t count = std::fread(piece.data(), 1, piece.size(), file)) {
    text.append(piece.data(), count);
    if (text.size() > limit_bytes)
      return fail(ErrorCode::kInvalidArgument, fmt::format("more than {} bytes", limit_bytes), name);
  }
  if (std::ferror(file) != 0)
    return fail(ErrorCode::kIo, fmt::format("cannot read: {}", std::strerror(errno)), name);
  return text;
}

}  // namespace

Result<std::string> read_input(Files& files, const std::string& path, uint64_t limit_bytes) {
  if (path == "-") return read_stream(stdin, "standard input", limit_bytes);
  if (!is_stream(path)) return read_file(files, path, limit_bytes);
  const std::unique_ptr<std::FILE, Closer> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr)
    return fail(ErrorCode::kIo, fmt::format("cannot open: {}", std::strerror(errno)), path);
  return read_stream(file.get(), path, limit_bytes);
}

}  // namespace kvern::cli
