// KVERN_CHECK: our own invariants, on in every build. Never for input: a file or request that is wrong is a
// Result.
#pragma once

namespace kvern::internal {
/// Prints the broken invariant and aborts. `expression` and `file` are string literals.
[[noreturn]] void check_failed(const char* expression, const char* file, int line);
}  // namespace kvern::internal

#define KVERN_CHECK(condition)                       \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::kvern::internal::check_failed(#condition, __FILE__, __LINE__))

/// For hot loops: checked in debug builds only.
#ifdef NDEBUG
#define KVERN_DCHECK(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#else
#define KVERN_DCHECK(condition) KVERN_CHECK(condition)
#endif
