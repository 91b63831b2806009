// kvern/kvern.h: steps.
#include <limits>
#include <span>

#include "state/api/c_error.h"
#include "state/api/c_kv.h"

using kvern::Ok;
using kvern::Status;
using kvern::c_api::check_array;
using kvern::c_api::check_pointer;
using kvern::c_api::guarded;

namespace {

constexpr int64_t kMaxHeads = 65536;

// The floats of `tokens` records that a caller of C promises to have. Nothing where the numbers are
// impossible, which the step then refuses.
size_t promised(int64_t tokens, int64_t width, int64_t stride) {
  if (stride == 0) stride = width;
  if (tokens <= 0 || stride < width || stride > std::numeric_limits<int64_t>::max() / 2 / tokens) return 0;
  return static_cast<size_t>((tokens - 1) * stride + width);
}

template <typename T>
std::span<T> array(T* data, size_t size) {
  return data == nullptr ? std::span<T>() : std::span<T>(data, size);
}

// Of a layer that does not exist: nothing; the step refuses it.
kvern::KvLayer layer_of(const kvern_kv_step& step, size_t layer) {
  return layer < step.layers->size() ? (*step.layers)[layer] : kvern::KvLayer{};
}

kvern::KvInput input_of(const kvern_kv_input& input, const kvern::KvLayer& layer, int64_t tokens) {
  return {.k = array(input.k, promised(tokens, layer.kv_heads * layer.k_dim, input.k_stride)),
          .v = array(input.v, promised(tokens, layer.kv_heads * layer.v_dim, input.v_stride)),
          .k_stride = input.k_stride,
          .v_stride = input.v_stride};
}

kvern::KvAttention attention_of(const kvern_kv_attention& attention, const kvern::KvLayer& layer,
                                int64_t tokens) {
  const int64_t heads = attention.heads < 0 || attention.heads > kMaxHeads ? 0 : attention.heads;
  return {.q = array(attention.q, promised(tokens, heads * layer.k_dim, attention.q_stride)),
          .out = array(attention.out, promised(tokens, heads * layer.v_dim, attention.out_stride)),
          .heads = attention.heads,
          .scale = attention.scale,
          .softcap = attention.softcap,
          .sink_logits = array(attention.sink_logits, static_cast<size_t>(heads)),
          .q_stride = attention.q_stride,
          .out_stride = attention.out_stride};
}

}  // namespace

kvern_code kvern_kv_begin(kvern_kv* kv, const kvern_append* rows, size_t count, kvern_kv_step** out,
                          kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(out, "out"));
    *out = nullptr;
    KVERN_TRY_STATUS(check_pointer(kv, "kv"));
    KVERN_TRY_STATUS(check_array(rows, count, "rows"));
    std::vector<kvern::KvAppend> appends;
    appends.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      appends.push_back({.row = static_cast<kvern::KvRow>(rows[i].row), .tokens = rows[i].tokens});
    }
    KVERN_TRY(kvern::KvStep step, kv->state.begin(appends));
    std::vector<kvern_step_row> made;
    for (const kvern::KvStepRow& row : step.rows()) {
      made.push_back({.row = static_cast<kvern_row>(row.row),
                      .first = row.first,
                      .tokens = row.tokens,
                      .offset = row.offset});
    }
    *out = new kvern_kv_step{std::move(step), kv->layers, std::move(made)};
    return Ok{};
  });
}

kvern_code kvern_kv_step_rows(const kvern_kv_step* step, const kvern_step_row** rows, size_t* count,
                              kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(step, "step"));
    if (rows != nullptr) *rows = step->rows.data();
    if (count != nullptr) *count = step->rows.size();
    return Ok{};
  });
}

kvern_code kvern_kv_step_positions(const kvern_kv_step* step, const int64_t** positions, size_t* tokens,
                                   kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(step, "step"));
    if (positions != nullptr) *positions = step->step.positions().data();
    if (tokens != nullptr) *tokens = step->step.positions().size();
    return Ok{};
  });
}

kvern_code kvern_kv_step_append(kvern_kv_step* step, kvern_compute* compute, size_t layer,
                                const kvern_kv_input* input, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(step, "step"));
    KVERN_TRY_STATUS(check_pointer(compute, "compute"));
    KVERN_TRY_STATUS(check_pointer(input, "input"));
    return step->step.append(compute->compute, layer,
                             input_of(*input, layer_of(*step, layer), step->step.tokens()));
  });
}

kvern_code kvern_kv_step_attend(const kvern_kv_step* step, kvern_compute* compute, size_t layer,
                                const kvern_kv_attention* attention, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(step, "step"));
    KVERN_TRY_STATUS(check_pointer(compute, "compute"));
    KVERN_TRY_STATUS(check_pointer(attention, "attention"));
    return step->step.attend(compute->compute, layer,
                             attention_of(*attention, layer_of(*step, layer), step->step.tokens()));
  });
}

kvern_code kvern_kv_step_commit(kvern_kv_step* step, const int64_t* keep, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(step, "step"));
    if (keep == nullptr) return step->step.commit();
    return step->step.commit(std::span(keep, step->rows.size()));
  });
}

kvern_code kvern_kv_step_rollback(kvern_kv_step* step, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(step, "step"));
    return step->step.rollback();
  });
}

void kvern_kv_step_free(kvern_kv_step* step) { delete step; }
