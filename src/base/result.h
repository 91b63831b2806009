// Result and Error are public (kvern/result.h); here are the macros that pass errors on.
#pragma once

#include "kvern/result.h"

#define KVERN_CONCAT_INNER(a, b) a##b
#define KVERN_CONCAT(a, b) KVERN_CONCAT_INNER(a, b)

/// KVERN_TRY(auto file, open(path)): declares or assigns the value, or returns the error to the caller.
#define KVERN_TRY(declaration, expression) \
  KVERN_TRY_INNER(KVERN_CONCAT(kvern_result_, __LINE__), declaration, expression)
#define KVERN_TRY_INNER(result, declaration, expression)                          \
  auto result = (expression);                                                     \
  if (!result) return std::unexpected<::kvern::Error>(std::move(result).error()); \
  declaration = *std::move(result)

/// KVERN_TRY_STATUS(write(...)): as KVERN_TRY for a Status.
#define KVERN_TRY_STATUS(expression)                                           \
  do {                                                                         \
    if (auto kvern_status = (expression); !kvern_status)                       \
      return std::unexpected<::kvern::Error>(std::move(kvern_status).error()); \
  } while (false)
