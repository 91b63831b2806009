// A stretch of a text, in bytes.
#pragma once

#include <cstddef>

namespace kvern::text {

/// Half-open range of bytes.
struct Range {
  size_t begin = 0;
  size_t end = 0;
  bool operator==(const Range&) const = default;
};

}  // namespace kvern::text
