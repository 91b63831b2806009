// Names and numbers that no two answers share.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvern::server {

/// Thread-safe. The same salt gives the same sequence, so tests know their ids; a server draws the salt.
class IdSource {
 public:
  explicit IdSource(uint64_t salt) : salt_(salt) {}
  /// `prefix` and 24 letters of [0-9a-f]: "chatcmpl-5b0c…".
  std::string next(std::string_view prefix);
  /// A number below 2^53, which JSON readers of every language keep exactly: for a seed that nobody gave.
  uint64_t next_seed();
  /// For an IdSource of one request, whose names are then its own.
  uint64_t salt() { return draw(); }

 private:
  uint64_t draw();

  uint64_t salt_;
  std::atomic<uint64_t> count_{0};
};

}  // namespace kvern::server
