#include "cli/bench_kv.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/output.h"

namespace kvern::cli {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Median over the repetitions of a type's time beside the first type's in the same round.
double ratio_to_first(const engine::KvComparison& result, const engine::KvComparison& first) {
  std::vector<double> ratios;
  ratios.reserve(result.step_seconds.size());
  for (size_t i = 0; i < result.step_seconds.size(); ++i) {
    ratios.push_back(first.step_seconds[i] / result.step_seconds[i]);
  }
  return median(std::move(ratios));
}

json::object object_of(const engine::KvComparison& result, const engine::KvComparison& first) {
  json::object object{{"type", result.type},
                      {"bytes_per_token", result.bytes_per_token},
                      {"mean_kl", result.mean_kl},
                      {"same_top", result.same_top}};
  if (!result.step_seconds.empty()) {
    object["step_seconds"] = json::array(result.step_seconds.begin(), result.step_seconds.end());
    object["tokens_per_second"] = 1 / median(result.step_seconds);
    object["speed_to_first"] = ratio_to_first(result, first);
  }
  return object;
}

std::string line_of(const engine::KvComparison& result, const engine::KvComparison& first) {
  std::string line = fmt::format("{:<14} {:>13} {:>12.3e} {:>9.1f} %", result.type, result.bytes_per_token,
                                 result.mean_kl, result.same_top * 100);
  if (!result.step_seconds.empty()) {
    line +=
        fmt::format(" {:>10.2f} {:>8.2f}", 1 / median(result.step_seconds), ratio_to_first(result, first));
  }
  return line + "\n";
}

}  // namespace

Result<ExitCode> run_bench_kv(Environment& environment, const ModelFlags& model,
                              const engine::KvComparisonOptions& options, bool as_json) {
  ProgressLine progress;
  KVERN_TRY(const std::vector<engine::KvComparison> results,
            engine::compare_kv_types(environment.files, model.engine, options,
                                     [&](const std::string& part) { progress.show("KV types: " + part); }));
  progress.clear();
  const int64_t context = results.front().context;
  if (as_json) {
    json::array lines;
    for (const engine::KvComparison& result : results) lines.push_back(object_of(result, results.front()));
    KVERN_TRY_STATUS(write_json({{"model", model.engine.model_path},
                                 {"context", context},
                                 {"text_tokens", options.text_tokens},
                                 {"types", std::move(lines)}}));
    return ExitCode::kOk;
  }
  std::string table =
      fmt::format("{:<14} {:>13} {:>12} {:>11}", "type", "bytes/token", "KL to f32", "same token");
  if (context > 0) table += fmt::format(" {:>10} {:>8}", "tokens/s", "to first");
  table += "\n";
  for (const engine::KvComparison& result : results) table += line_of(result, results.front());
  if (context > 0) table += fmt::format("steps at a context of {} tokens\n", context);
  KVERN_TRY_STATUS(write_stdout(table));
  return ExitCode::kOk;
}

}  // namespace kvern::cli
