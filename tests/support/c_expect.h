/* Expectations for test programs in C: a function that fails says so and returns 1. */
#ifndef KVERN_TESTS_SUPPORT_C_EXPECT_H_
#define KVERN_TESTS_SUPPORT_C_EXPECT_H_

#include <kvern/kvern.h>
#include <stdio.h>
#include <string.h>

#define EXPECT(condition)                                               \
  do {                                                                  \
    if (!(condition)) {                                                 \
      fprintf(stderr, "line %d: not true: %s\n", __LINE__, #condition); \
      return 1;                                                         \
    }                                                                   \
  } while (0)
#define EXPECT_ERROR(call, expected, part)                                                \
  do {                                                                                    \
    kvern_error error = {KVERN_OK, false, ""};                                            \
    const kvern_code code = (call);                                                       \
    if (code != (expected) || error.code != (expected) || !strstr(error.message, part)) { \
      fprintf(stderr, "line %d: %d, %s\n", __LINE__, (int)code, error.message);           \
      return 1;                                                                           \
    }                                                                                     \
  } while (0)

#endif
