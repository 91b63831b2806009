// kvern bench --kv: types of keys and values beside each other.
#pragma once

#include "cli/environment.h"
#include "cli/model_options.h"
#include "engine/measure/kv_comparison.h"

namespace kvern::cli {

/// Prints a table, or one JSON object. The types are those of `options`.
Result<ExitCode> run_bench_kv(Environment& environment, const ModelFlags& model,
                              const engine::KvComparisonOptions& options, bool as_json);

}  // namespace kvern::cli
