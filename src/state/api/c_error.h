// From Result and exceptions to the codes of kvern/kvern.h.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <new>

#include "base/result.h"
#include "kvern/kvern.h"

namespace kvern::c_api {

/// Writes the error where `out` is not null, and returns its code.
kvern_code report(const Error& error, kvern_error* out);

/// kInvalidArgument that names the parameter, when the pointer is null.
inline Status check_pointer(const void* pointer, const char* name) {
  if (pointer != nullptr) return Ok{};
  return fail(ErrorCode::kInvalidArgument, "must not be NULL", name);
}
inline Status check_array(const void* pointer, size_t count, const char* name) {
  return count == 0 ? Status(Ok{}) : check_pointer(pointer, name);
}

/// Runs a body that returns a Status. No exception leaves it.
template <typename Body>
kvern_code guarded(kvern_error* error, const Body& body) {
  try {
    const Status status = body();
    return status ? KVERN_OK : report(status.error(), error);
  } catch (const std::bad_alloc&) {
    return report(
        {.code = ErrorCode::kExhausted, .message = "the system has no more memory", .retryable = true},
        error);
  } catch (const std::exception& exception) {
    return report({.code = ErrorCode::kInternal, .message = exception.what()}, error);
  }
}

/// A copy for kvern_free, with `extra` zeros behind it; null when there is nothing to copy.
template <typename T, typename Range>
T* copied(const Range& values, size_t extra = 0) {
  const size_t count = std::size(values) + extra;
  if (count == 0) return nullptr;
  auto* copy = static_cast<T*>(std::calloc(count, sizeof(T)));
  if (copy == nullptr) throw std::bad_alloc();
  std::copy(std::begin(values), std::end(values), copy);
  return copy;
}

}  // namespace kvern::c_api
