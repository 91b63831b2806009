#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace kvern::internal {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "kvern: broken invariant: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace kvern::internal
