#include "engine/api/options.h"

#include "base/log.h"

namespace kvern::engine {

EngineOptions engine_options(const ModelOptions& options) {
  return {.model_path = options.path,
          .cpu_target = options.cpu_target,
          .threads = options.threads,
          .context_tokens = options.context_tokens,
          .kv = {.type = options.kv_type}};
}

Result<std::unique_ptr<KvDirectory>> open_kv_directory(const ModelOptions& options, Files& files,
                                                       const Clock& clock) {
  if (options.kv_dir.empty()) return nullptr;
  return KvDirectory::open({.files = files, .clock = clock, .log = null_log()}, {.path = options.kv_dir});
}

GenerateRequest generate_request(const GenerateOptions& options) {
  GenerateRequest request;
  request.max_new_tokens = options.max_new_tokens;
  request.sampling.temperature = options.temperature;
  request.sampling.top_k = options.top_k;
  request.sampling.top_p = options.top_p;
  request.sampling.min_p = options.min_p;
  request.sampling.repeat_penalty = options.repeat_penalty;
  request.sampling.presence_penalty = options.presence_penalty;
  request.sampling.frequency_penalty = options.frequency_penalty;
  request.sampling.seed = options.seed;
  request.stop = options.stop;
  request.ignore_end_tokens = options.ignore_end_tokens;
  return request;
}

}  // namespace kvern::engine
