/* The KV state library from C: one row in pages, a fork that goes another way, and what the two share.
 *
 *   state_from_c
 */
#include <inttypes.h>
#include <kvern/kvern.h>
#include <stdio.h>

enum { kPrompt = 200, kWidth = 64 };

static kvern_error error;

/* Adds `tokens` tokens whose keys are 0 and whose values are all `value`, and reads the first number of the
 * last. */
static kvern_code grow(kvern_kv* kv, kvern_compute* compute, kvern_row row, int64_t tokens, float value,
                       float* seen) {
  static float k[kPrompt * kWidth], v[kPrompt * kWidth], out[kPrompt * kWidth];
  for (int64_t i = 0; i < tokens * kWidth; ++i) v[i] = value;
  const kvern_append append = {.row = row, .tokens = tokens};
  const kvern_kv_input input = {.k = k, .v = v};
  const kvern_kv_attention attention = {.q = k, .out = out, .heads = 1};
  kvern_kv_step* step = NULL;
  kvern_code code = kvern_kv_begin(kv, &append, 1, &step, &error);
  if (code == KVERN_OK) code = kvern_kv_step_append(step, compute, 0, &input, &error);
  if (code == KVERN_OK) code = kvern_kv_step_attend(step, compute, 0, &attention, &error);
  if (code == KVERN_OK) code = kvern_kv_step_commit(step, NULL, &error);
  kvern_kv_step_free(step); /* Without the commit, this takes everything back. */
  *seen = out[(tokens - 1) * kWidth];
  return code;
}

static kvern_code run(kvern_compute* compute, kvern_kv* kv) {
  kvern_row row = 0, fork = 0;
  kvern_kv_memory memory;
  float seen = 0.0F, seen_by_fork = 0.0F;
  kvern_code code = kvern_kv_add_row(kv, &row, &error);
  if (code == KVERN_OK) code = grow(kv, compute, row, kPrompt, 1.0F, &seen);
  if (code == KVERN_OK) code = kvern_kv_fork(kv, row, &fork, &error);
  if (code == KVERN_OK) code = grow(kv, compute, row, 1, 3.0F, &seen);
  if (code == KVERN_OK) code = grow(kv, compute, fork, 1, 5.0F, &seen_by_fork);
  if (code == KVERN_OK) code = kvern_kv_memory_usage(kv, &memory, &error);
  if (code != KVERN_OK) return code;
  printf("mean of what a token sees: %.3f in the row, %.3f in its fork\n", seen, seen_by_fork);
  printf("%" PRIu64 " bytes live, %" PRIu64 " more would be needed without sharing\n", memory.live,
         memory.shared);
  return KVERN_OK;
}

int main(void) {
  const kvern_kv_layer layer = {.kv_heads = 1, .k_dim = kWidth, .v_dim = kWidth};
  kvern_kv_options options = kvern_kv_options_default();
  kvern_compute* compute = NULL;
  kvern_kv* kv = NULL;
  options.layout = KVERN_PAGED;
  kvern_code code = kvern_compute_new(0, NULL, &compute, &error);
  if (code == KVERN_OK) code = kvern_kv_new(&layer, 1, &options, &kv, &error);
  if (code == KVERN_OK) code = run(compute, kv);
  if (code != KVERN_OK) fprintf(stderr, "%s: %s\n", kvern_code_name(code), error.message);
  kvern_kv_free(kv);
  kvern_compute_free(compute);
  return code == KVERN_OK ? 0 : 1;
}
