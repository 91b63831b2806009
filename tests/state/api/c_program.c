/* A program in C that keeps keys and values of three rows, checks what it reads, and makes every kind of
 * mistake. Returns 0, or 1 after saying what was not as expected. */
#include <kvern/kvern.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/c_expect.h"

enum { kTokens = 3, kWidth = 64 };

/* Token t has value t everywhere and equal keys, so attention gives the mean of what it sees. */
static void fill(float* k, float* v) {
  for (int i = 0; i < kTokens * kWidth; ++i) {
    k[i] = 0.0F;
    v[i] = (float)(i / kWidth);
  }
}

static int grow(kvern_kv* kv, kvern_compute* compute, kvern_row row) {
  float k[kTokens * kWidth], v[kTokens * kWidth], out[kTokens * kWidth];
  fill(k, v);
  const kvern_append append = {row, kTokens};
  kvern_kv_step* step = NULL;
  EXPECT(kvern_kv_begin(kv, &append, 1, &step, NULL) == KVERN_OK);
  const kvern_step_row* rows = NULL;
  size_t count = 0, tokens = 0;
  const int64_t* positions = NULL;
  EXPECT(kvern_kv_step_rows(step, &rows, &count, NULL) == KVERN_OK && count == 1 && rows[0].row == row);
  EXPECT(kvern_kv_step_positions(step, &positions, &tokens, NULL) == KVERN_OK && tokens == kTokens);
  EXPECT(positions[2] == rows[0].first + 2);
  const kvern_kv_input input = {.k = k, .v = v};
  const kvern_kv_attention attention = {.q = k, .out = out, .heads = 1};
  EXPECT_ERROR(kvern_kv_step_append(step, compute, 1, &input, &error), KVERN_INVALID_ARGUMENT, "layer 1");
  EXPECT_ERROR(kvern_kv_step_attend(step, compute, 0, &attention, &error), KVERN_INVALID_ARGUMENT, "append");
  const kvern_kv_input no_keys = {.k = NULL, .v = v};
  EXPECT_ERROR(kvern_kv_step_append(step, compute, 0, &no_keys, &error), KVERN_INVALID_ARGUMENT,
               "k: 0 floats");
  const kvern_kv_input overlap = {.k = k, .v = v, .k_stride = 1};
  EXPECT_ERROR(kvern_kv_step_append(step, compute, 0, &overlap, &error), KVERN_INVALID_ARGUMENT, "stride");
  const kvern_kv_input far = {.k = k, .v = v, .k_stride = INT64_MAX};
  EXPECT_ERROR(kvern_kv_step_append(step, compute, 0, &far, &error), KVERN_INVALID_ARGUMENT, "too few");
  EXPECT(kvern_kv_step_append(step, compute, 0, &input, NULL) == KVERN_OK);
  kvern_kv_attention wrong = attention;
  wrong.heads = -1;
  EXPECT_ERROR(kvern_kv_step_attend(step, compute, 0, &wrong, &error), KVERN_INVALID_ARGUMENT, "heads");
  wrong.heads = INT64_MAX;
  EXPECT_ERROR(kvern_kv_step_attend(step, compute, 0, &wrong, &error), KVERN_INVALID_ARGUMENT, "heads");
  wrong = attention;
  wrong.out = NULL;
  EXPECT_ERROR(kvern_kv_step_attend(step, compute, 0, &wrong, &error), KVERN_INVALID_ARGUMENT, "out");
  EXPECT(kvern_kv_step_attend(step, compute, 0, &attention, NULL) == KVERN_OK);
  EXPECT(fabsf(out[2 * kWidth] - 1.0F) < 1e-3F); /* the mean of 0, 1, 2, however often they came */
  EXPECT_ERROR(kvern_kv_truncate(kv, row, 0, &error), KVERN_INVALID_ARGUMENT, "step is open");
  const int64_t too_many = kTokens + 1;
  EXPECT_ERROR(kvern_kv_step_commit(step, &too_many, &error), KVERN_INVALID_ARGUMENT, "4 of 3");
  EXPECT(kvern_kv_step_commit(step, NULL, NULL) == KVERN_OK);
  EXPECT_ERROR(kvern_kv_step_rollback(step, &error), KVERN_INVALID_ARGUMENT, "begin another one");
  kvern_kv_step_free(step);
  return 0;
}

static int null_handles(kvern_kv* kv) {
  kvern_row row = 77;
  int64_t length = 78;
  size_t size = 0;
  kvern_kv_image* image = NULL;
  const uint8_t* data = NULL;
  EXPECT_ERROR(kvern_kv_add_row(NULL, &row, &error), KVERN_INVALID_ARGUMENT, "kv: must not be NULL");
  EXPECT_ERROR(kvern_kv_add_row(kv, NULL, &error), KVERN_INVALID_ARGUMENT, "out: must not be NULL");
  EXPECT(kvern_kv_add_row(NULL, NULL, NULL) == KVERN_INVALID_ARGUMENT);
  EXPECT_ERROR(kvern_kv_length(kv, 12345, &length, &error), KVERN_NOT_FOUND, "row 12345");
  EXPECT_ERROR(kvern_kv_minimum_reusable_position(NULL, 1, &length, &error), KVERN_INVALID_ARGUMENT, "kv");
  EXPECT_ERROR(kvern_kv_remove_row(NULL, 1, &error), KVERN_INVALID_ARGUMENT, "kv");
  EXPECT_ERROR(kvern_kv_remove_row(kv, 0, &error), KVERN_NOT_FOUND, "row 0");
  EXPECT_ERROR(kvern_kv_truncate(NULL, 1, 0, &error), KVERN_INVALID_ARGUMENT, "kv");
  EXPECT_ERROR(kvern_kv_fork(NULL, 1, &row, &error), KVERN_INVALID_ARGUMENT, "kv");
  EXPECT_ERROR(kvern_kv_filter(kv, NULL, 1, &error), KVERN_INVALID_ARGUMENT, "keep");
  EXPECT_ERROR(kvern_kv_merge(kv, NULL, NULL, NULL, &error), KVERN_INVALID_ARGUMENT, "from");
  EXPECT_ERROR(kvern_kv_extract(kv, 0, &image, &error), KVERN_NOT_FOUND, "row 0");
  EXPECT_ERROR(kvern_kv_evict(NULL, 0, &image, &error), KVERN_INVALID_ARGUMENT, "kv");
  EXPECT_ERROR(kvern_kv_adopt(kv, NULL, &row, &error), KVERN_INVALID_ARGUMENT, "image");
  EXPECT_ERROR(kvern_kv_image_bytes(NULL, &data, &size, &error), KVERN_INVALID_ARGUMENT, "image");
  EXPECT_ERROR(kvern_kv_image_from_bytes(NULL, 5, &image, &error), KVERN_INVALID_ARGUMENT, "data");
  EXPECT_ERROR(kvern_kv_image_from_bytes((const uint8_t*)"stranger", 8, &image, &error), KVERN_CORRUPT, "");
  EXPECT_ERROR(kvern_kv_begin(kv, NULL, 2, &(kvern_kv_step*){NULL}, &error), KVERN_INVALID_ARGUMENT, "rows");
  EXPECT_ERROR(kvern_kv_step_append(NULL, NULL, 0, NULL, &error), KVERN_INVALID_ARGUMENT, "step");
  EXPECT_ERROR(kvern_kv_step_attend(NULL, NULL, 0, NULL, &error), KVERN_INVALID_ARGUMENT, "step");
  EXPECT_ERROR(kvern_kv_step_commit(NULL, NULL, &error), KVERN_INVALID_ARGUMENT, "step");
  EXPECT_ERROR(kvern_kv_step_rollback(NULL, &error), KVERN_INVALID_ARGUMENT, "step");
  EXPECT_ERROR(kvern_kv_memory_usage(kv, NULL, &error), KVERN_INVALID_ARGUMENT, "out");
  EXPECT_ERROR(kvern_kv_projected_bytes(kv, -1, &(uint64_t){0}, &error), KVERN_INVALID_ARGUMENT, "-1");
  EXPECT(row == 77 && length == 78 && image == NULL);
  kvern_kv_free(NULL);
  kvern_kv_step_free(NULL);
  kvern_kv_image_free(NULL);
  kvern_compute_free(NULL);
  kvern_free(NULL);
  return 0;
}

static int bad_options(void) {
  const kvern_kv_layer layer = {.kv_heads = 1, .k_dim = kWidth, .v_dim = kWidth};
  kvern_kv* kv = (kvern_kv*)&layer;
  kvern_kv_options options = kvern_kv_options_default();
  EXPECT_ERROR(kvern_kv_new(NULL, 1, NULL, &kv, &error), KVERN_INVALID_ARGUMENT, "layers");
  EXPECT(kv == NULL);
  EXPECT_ERROR(kvern_kv_new(&layer, 0, NULL, &kv, &error), KVERN_INVALID_ARGUMENT, "layers");
  EXPECT_ERROR(kvern_kv_new(&layer, 1, NULL, NULL, &error), KVERN_INVALID_ARGUMENT, "out");
  options.type = "q9";
  EXPECT_ERROR(kvern_kv_new(&layer, 1, &options, &kv, &error), KVERN_INVALID_ARGUMENT, "q8");
  options.type = NULL;
  EXPECT_ERROR(kvern_kv_new(&layer, 1, &options, &kv, &error), KVERN_INVALID_ARGUMENT, "type");
  options = kvern_kv_options_default();
  options.layout = 300;
  EXPECT_ERROR(kvern_kv_new(&layer, 1, &options, &kv, &error), KVERN_INVALID_ARGUMENT, "slab, ring");
  options = kvern_kv_options_default();
  const char* const types[] = {NULL};
  options.layer_types = types;
  EXPECT_ERROR(kvern_kv_new(&layer, 1, &options, &kv, &error), KVERN_INVALID_ARGUMENT, "layer_types");
  kvern_compute* compute = NULL;
  EXPECT_ERROR(kvern_compute_new(-1, NULL, &compute, &error), KVERN_INVALID_ARGUMENT, "threads");
  EXPECT_ERROR(kvern_compute_new(1, "i386", &compute, &error), KVERN_INVALID_ARGUMENT, "avx2");
  EXPECT_ERROR(kvern_compute_new(1, NULL, NULL, &error), KVERN_INVALID_ARGUMENT, "out");
  return 0;
}

static int rows_leave_and_come_back(kvern_kv* kv, kvern_row row) {
  kvern_kv_image* image = NULL;
  kvern_kv_image* read = NULL;
  const uint8_t* data = NULL;
  size_t size = 0, count = 0;
  int64_t length = 0;
  kvern_row fork = 0, adopted = 0;
  EXPECT(kvern_kv_fork(kv, row, &fork, NULL) == KVERN_OK && fork != row);
  EXPECT(kvern_kv_truncate(kv, fork, 2, NULL) == KVERN_OK);
  EXPECT(kvern_kv_length(kv, fork, &length, NULL) == KVERN_OK && length == 2);
  EXPECT(kvern_kv_evict(kv, fork, &image, NULL) == KVERN_OK);
  EXPECT_ERROR(kvern_kv_length(kv, fork, &length, &error), KVERN_NOT_FOUND, "no such row");
  EXPECT(kvern_kv_image_bytes(image, &data, &size, NULL) == KVERN_OK && size > 2 * 2 * kWidth);
  EXPECT(kvern_kv_image_from_bytes(data, size, &read, NULL) == KVERN_OK);
  EXPECT_ERROR(kvern_kv_image_from_bytes(data, size - 1, &(kvern_kv_image*){NULL}, &error), KVERN_CORRUPT,
               "");
  kvern_kv_image_free(image);

  const kvern_kv_layer layer = {.kv_heads = 1, .k_dim = kWidth, .v_dim = kWidth};
  kvern_kv_options options = kvern_kv_options_default();
  options.layout = KVERN_PAGED;
  kvern_kv* other = NULL;
  EXPECT(kvern_kv_new(&layer, 1, &options, &other, NULL) == KVERN_OK);
  EXPECT(kvern_kv_adopt(other, read, &adopted, NULL) == KVERN_OK);
  kvern_kv_image_free(read);
  kvern_row* moved = NULL;
  EXPECT(kvern_kv_merge(kv, other, &moved, &count, NULL) == KVERN_OK && count == 1);
  EXPECT(kvern_kv_length(kv, moved[0], &length, NULL) == KVERN_OK && length == 2);
  kvern_kv_free(other);
  EXPECT(kvern_kv_filter(kv, moved, 1, NULL) == KVERN_OK);
  EXPECT_ERROR(kvern_kv_length(kv, row, &length, &error), KVERN_NOT_FOUND, "no such row");
  kvern_kv_memory memory;
  uint64_t projected = 0;
  EXPECT(kvern_kv_memory_usage(kv, &memory, NULL) == KVERN_OK && memory.bytes_per_token == 4 * kWidth);
  EXPECT(kvern_kv_projected_bytes(kv, 2, &projected, NULL) == KVERN_OK && projected == memory.live);
  EXPECT(memory.allocated == memory.live + memory.slack);
  kvern_free(moved);
  return 0;
}

/* A step may be freed after its state. */
static int late_step(void) {
  const kvern_kv_layer layer = {.kv_heads = 1, .k_dim = kWidth, .v_dim = kWidth};
  kvern_kv* kv = NULL;
  kvern_kv_step* step = NULL;
  kvern_append append = {.tokens = 9};
  EXPECT(kvern_kv_new(&layer, 1, NULL, &kv, NULL) == KVERN_OK);
  EXPECT(kvern_kv_add_row(kv, &append.row, NULL) == KVERN_OK);
  EXPECT(kvern_kv_begin(kv, &append, 1, &step, NULL) == KVERN_OK);
  kvern_kv_free(kv);
  kvern_kv_step_free(step);
  return 0;
}

int main(void) {
  const kvern_kv_layer layer = {.kv_heads = 1, .k_dim = kWidth, .v_dim = kWidth};
  kvern_compute* compute = NULL;
  kvern_kv* kv = NULL;
  kvern_row row = 0;
  EXPECT(strchr(kvern_version(), '.') != NULL);
  EXPECT(strcmp(kvern_code_name(KVERN_CORRUPT), "corrupt") == 0 && !kvern_code_name(99));
  EXPECT(kvern_compute_new(1, NULL, &compute, NULL) == KVERN_OK);
  EXPECT(kvern_kv_new(&layer, 1, NULL, &kv, NULL) == KVERN_OK);
  EXPECT(kvern_kv_add_row(kv, &row, NULL) == KVERN_OK);
  int failed = null_handles(kv);
  if (!failed) failed = bad_options();
  if (!failed) failed = late_step();
  for (int i = 0; i < 2 && !failed; ++i) failed = grow(kv, compute, row);
  if (!failed) failed = rows_leave_and_come_back(kv, row);
  kvern_kv_free(kv);
  kvern_compute_free(compute);
  return failed ? 1 : 0;
}
