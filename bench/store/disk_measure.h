// What benchmarks of saved state need to know of the disk itself.
#pragma once

#include <chrono>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/check.h"
#include "store/block/aligned_buffer.h"

namespace kvern::bench {

template <typename F>
double seconds(const F& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline void for_files(const std::string& folder, const auto& f) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) f(entry.path().string());
  }
}

inline void drop_cache(const std::string& folder) {
  for_files(folder, [](const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY);
    ::fsync(fd);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ::close(fd);
  });
}

inline void fill_cache(const std::string& folder) {
  std::vector<char> buffer(1 << 20);
  for_files(folder, [&](const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY);
    while (::read(fd, buffer.data(), buffer.size()) > 0) {
    }
    ::close(fd);
  });
}

/// One large file, read 4 MiB at a time past the page cache: what the disk gives to who reads in order.
class RateFile {
 public:
  RateFile(const std::string& directory, size_t bytes)
      : path_(directory + "/rate"), buffer_(size_t{4} << 20) {
    std::mt19937_64 random(1);
    const int fd = ::open(path_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_DIRECT, 0600);
    KVERN_CHECK(fd >= 0);
    for (size_t done = 0; done < bytes; done += buffer_.size()) {
      for (size_t i = 0; i < buffer_.size(); i += 8) {
        const uint64_t number = random();
        std::memcpy(buffer_.bytes().data() + i, &number, 8);
      }
      KVERN_CHECK(::write(fd, buffer_.bytes().data(), buffer_.size()) ==
                  static_cast<ssize_t>(buffer_.size()));
    }
    ::fsync(fd);
    ::close(fd);
  }
  RateFile(const RateFile&) = delete;
  RateFile& operator=(const RateFile&) = delete;
  ~RateFile() { std::filesystem::remove(path_); }

  /// GB/s.
  double rate() {
    const int fd = ::open(path_.c_str(), O_RDONLY | O_DIRECT);
    size_t got = 0;
    const double time = seconds([&] {
      while (true) {
        const ssize_t n = ::read(fd, buffer_.bytes().data(), buffer_.size());
        if (n <= 0) break;
        got += static_cast<size_t>(n);
      }
    });
    ::close(fd);
    return static_cast<double>(got) / time / 1e9;
  }

 private:
  std::string path_;
  store::AlignedBuffer buffer_;
};

}  // namespace kvern::bench
