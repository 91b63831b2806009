// kvern/kvern.h: compute, rows and images. Steps are in c_kv_step.cc.
#include "state/api/c_kv.h"

#include <limits>
#include <string>

#include "state/api/c_error.h"

using kvern::Ok;
using kvern::Status;
using kvern::c_api::check_array;
using kvern::c_api::check_pointer;
using kvern::c_api::guarded;

namespace {

kvern::KvRow row_of(kvern_row row) { return static_cast<kvern::KvRow>(row); }
kvern_row name_of(kvern::KvRow row) { return static_cast<kvern_row>(row); }

Status check_output(const kvern_kv* kv, const void* out) {
  KVERN_TRY_STATUS(check_pointer(kv, "kv"));
  return check_pointer(out, "out");
}

kvern::Result<kvern::KvStateOptions> options_of(const kvern_kv_options& options, size_t layers) {
  KVERN_TRY_STATUS(check_pointer(options.type, "type"));
  KVERN_TRY_STATUS(check_pointer(options.full, "full"));
  if (options.budget_bytes > std::numeric_limits<size_t>::max())
    return kvern::fail(kvern::ErrorCode::kInvalidArgument, "more bytes than this machine can name",
                       "budget_bytes");
  kvern::KvStateOptions made{.type = options.type,
                             .layout = static_cast<kvern::KvLayout>(options.layout),
                             .page = options.page,
                             .slack = options.slack,
                             .budget_bytes = static_cast<size_t>(options.budget_bytes)};
  for (size_t i = 0; options.layer_types != nullptr && i < layers; ++i) {
    KVERN_TRY_STATUS(check_pointer(options.layer_types[i], "layer_types"));
    made.layer_types.emplace_back(options.layer_types[i]);
  }
  made.precision = {.quant_start = options.quant_start,
                    .keep_first = options.keep_first,
                    .keep_last = options.keep_last,
                    .full = options.full};
  return made;
}

// Any number may come from C.
Status check_layout(kvern_layout layout) {
  if (layout >= KVERN_SLAB && layout <= KVERN_PADDED) return Ok{};
  return kvern::fail(kvern::ErrorCode::kInvalidArgument, "no such layout; choose slab, ring, paged or padded",
                     "layout");
}

std::vector<kvern::KvLayer> layers_of(const kvern_kv_layer* layers, size_t count) {
  std::vector<kvern::KvLayer> made;
  made.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    made.push_back({.kv_heads = layers[i].kv_heads,
                    .k_dim = layers[i].k_dim,
                    .v_dim = layers[i].v_dim,
                    .window = layers[i].window,
                    .sinks = layers[i].sinks});
  }
  return made;
}

}  // namespace

kvern_code kvern_compute_new(int32_t threads, const char* cpu_target, kvern_compute** out,
                             kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(out, "out"));
    *out = nullptr;
    KVERN_TRY(kvern::Compute made,
              kvern::Compute::create(
                  {.threads = threads, .cpu_target = cpu_target == nullptr ? "auto" : cpu_target}));
    *out = new kvern_compute{std::move(made)};
    return Ok{};
  });
}

void kvern_compute_free(kvern_compute* compute) { delete compute; }

kvern_kv_options kvern_kv_options_default(void) {
  const kvern::KvStateOptions options;
  return {.type = "f16",
          .layer_types = nullptr,
          .layout = KVERN_SLAB,
          .page = options.page,
          .slack = options.slack,
          .budget_bytes = 0,
          .quant_start = 0,
          .keep_first = 0,
          .keep_last = 0,
          .full = "f16"};
}

kvern_code kvern_kv_new(const kvern_kv_layer* layers, size_t layer_count, const kvern_kv_options* options,
                        kvern_kv** out, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(out, "out"));
    *out = nullptr;
    KVERN_TRY_STATUS(check_array(layers, layer_count, "layers"));
    const kvern_kv_options asked = options == nullptr ? kvern_kv_options_default() : *options;
    KVERN_TRY_STATUS(check_layout(asked.layout));
    KVERN_TRY(const kvern::KvStateOptions made, options_of(asked, layer_count));
    auto shapes = std::make_shared<const std::vector<kvern::KvLayer>>(layers_of(layers, layer_count));
    KVERN_TRY(kvern::KvState state, kvern::KvState::create(*shapes, made));
    *out = new kvern_kv{std::move(state), std::move(shapes)};
    return Ok{};
  });
}

void kvern_kv_free(kvern_kv* kv) { delete kv; }

kvern_code kvern_kv_add_row(kvern_kv* kv, kvern_row* out, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_output(kv, out));
    KVERN_TRY(const kvern::KvRow row, kv->state.add_row());
    *out = name_of(row);
    return Ok{};
  });
}

kvern_code kvern_kv_remove_row(kvern_kv* kv, kvern_row row, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(kv, "kv"));
    return kv->state.remove_row(row_of(row));
  });
}

kvern_code kvern_kv_length(const kvern_kv* kv, kvern_row row, int64_t* out, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_output(kv, out));
    KVERN_TRY(*out, kv->state.length(row_of(row)));
    return Ok{};
  });
}

kvern_code kvern_kv_minimum_reusable_position(const kvern_kv* kv, kvern_row row, int64_t* out,
                                              kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_output(kv, out));
    KVERN_TRY(*out, kv->state.minimum_reusable_position(row_of(row)));
    return Ok{};
  });
}

kvern_code kvern_kv_truncate(kvern_kv* kv, kvern_row row, int64_t length, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(kv, "kv"));
    return kv->state.truncate(row_of(row), length);
  });
}

kvern_code kvern_kv_fork(kvern_kv* kv, kvern_row row, kvern_row* out, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_output(kv, out));
    KVERN_TRY(const kvern::KvRow made, kv->state.fork(row_of(row)));
    *out = name_of(made);
    return Ok{};
  });
}

kvern_code kvern_kv_filter(kvern_kv* kv, const kvern_row* keep, size_t count, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(kv, "kv"));
    KVERN_TRY_STATUS(check_array(keep, count, "keep"));
    std::vector<kvern::KvRow> rows;
    rows.reserve(count);
    for (size_t i = 0; i < count; ++i) rows.push_back(row_of(keep[i]));
    return kv->state.filter(rows);
  });
}

kvern_code kvern_kv_merge(kvern_kv* kv, kvern_kv* from, kvern_row** rows, size_t* count, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(kv, "kv"));
    KVERN_TRY_STATUS(check_pointer(from, "from"));
    KVERN_TRY(const std::vector<kvern::KvRow> moved, kv->state.merge(from->state));
    std::vector<kvern_row> names;
    names.reserve(moved.size());
    for (const kvern::KvRow row : moved) names.push_back(name_of(row));
    if (rows != nullptr) *rows = kvern::c_api::copied<kvern_row>(names);
    if (count != nullptr) *count = names.size();
    return Ok{};
  });
}

kvern_code kvern_kv_extract(const kvern_kv* kv, kvern_row row, kvern_kv_image** out, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_output(kv, out));
    *out = nullptr;
    KVERN_TRY(kvern::KvRowImage image, kv->state.extract(row_of(row)));
    *out = new kvern_kv_image{std::move(image), {}};
    return Ok{};
  });
}

kvern_code kvern_kv_evict(kvern_kv* kv, kvern_row row, kvern_kv_image** out, kvern_error* error) {
  const kvern_code code = kvern_kv_extract(kv, row, out, error);
  return code == KVERN_OK ? kvern_kv_remove_row(kv, row, error) : code;
}

kvern_code kvern_kv_adopt(kvern_kv* kv, const kvern_kv_image* image, kvern_row* out, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_output(kv, out));
    KVERN_TRY_STATUS(check_pointer(image, "image"));
    KVERN_TRY(const kvern::KvRow row, kv->state.adopt(image->image));
    *out = name_of(row);
    return Ok{};
  });
}

kvern_code kvern_kv_image_bytes(kvern_kv_image* image, const uint8_t** data, size_t* size,
                                kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(image, "image"));
    KVERN_TRY_STATUS(check_pointer(data, "data"));
    KVERN_TRY_STATUS(check_pointer(size, "size"));
    if (image->bytes.empty()) image->bytes = image->image.to_bytes();
    *data = reinterpret_cast<const uint8_t*>(image->bytes.data());
    *size = image->bytes.size();
    return Ok{};
  });
}

kvern_code kvern_kv_image_from_bytes(const uint8_t* data, size_t size, kvern_kv_image** out,
                                     kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(out, "out"));
    *out = nullptr;
    KVERN_TRY_STATUS(check_array(data, size, "data"));
    KVERN_TRY(kvern::KvRowImage image, kvern::KvRowImage::from_bytes(std::as_bytes(std::span(data, size))));
    *out = new kvern_kv_image{std::move(image), {}};
    return Ok{};
  });
}

void kvern_kv_image_free(kvern_kv_image* image) { delete image; }

kvern_code kvern_kv_memory_usage(const kvern_kv* kv, kvern_kv_memory* out, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_output(kv, out));
    const kvern::KvUsage usage = kv->state.usage();
    *out = {.bytes_per_token = kv->state.bytes_per_token(),
            .live = usage.live,
            .shared = usage.shared,
            .slack = usage.slack,
            .allocated = kv->state.allocated_bytes()};
    return Ok{};
  });
}

kvern_code kvern_kv_projected_bytes(const kvern_kv* kv, int64_t tokens, uint64_t* out, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_output(kv, out));
    KVERN_TRY(*out, kv->state.projected_bytes(tokens));
    return Ok{};
  });
}
