#include "engine/api/c_convert.h"

#include "state/api/c_error.h"

namespace kvern::c_api {
namespace {

constexpr const char* kFinishReasons[] = {"stop", "length", "cancelled"};

}  // namespace

const char* static_reason(const std::string& reason) {
  for (const char* known : kFinishReasons) {
    if (reason == known) return known;
  }
  return "";
}

Result<ModelOptions> model_options_of(const kvern_model_options& options) {
  KVERN_TRY_STATUS(check_pointer(options.path, "path"));
  KVERN_TRY_STATUS(check_pointer(options.kv_type, "kv_type"));
  KVERN_TRY_STATUS(check_pointer(options.cpu_target, "cpu_target"));
  return ModelOptions{.path = options.path,
                      .threads = options.threads,
                      .context_tokens = options.context_tokens,
                      .kv_type = options.kv_type,
                      .cpu_target = options.cpu_target,
                      .kv_dir = options.kv_dir == nullptr ? "" : options.kv_dir};
}

Result<GenerateOptions> generate_options_of(const kvern_generate_options& options) {
  GenerateOptions made{.max_new_tokens = options.max_new_tokens,
                       .temperature = options.temperature,
                       .top_k = options.top_k,
                       .top_p = options.top_p,
                       .min_p = options.min_p,
                       .repeat_penalty = options.repeat_penalty,
                       .presence_penalty = options.presence_penalty,
                       .frequency_penalty = options.frequency_penalty,
                       .seed = options.seed,
                       .ignore_end_tokens = options.ignore_end_tokens};
  KVERN_TRY_STATUS(check_array(options.stop, options.stop_count, "stop"));
  for (size_t i = 0; i < options.stop_count; ++i) {
    KVERN_TRY_STATUS(check_pointer(options.stop[i], "stop"));
    made.stop.emplace_back(options.stop[i]);
  }
  return made;
}

Result<std::vector<ChatMessage>> messages_of(std::span<const kvern_message> messages) {
  std::vector<ChatMessage> made;
  for (const kvern_message& message : messages) {
    KVERN_TRY_STATUS(check_pointer(message.role, "role"));
    KVERN_TRY_STATUS(check_pointer(message.content, "content"));
    made.push_back({.role = message.role, .content = message.content});
  }
  return made;
}

std::vector<int32_t> ids_of(const int32_t* ids, size_t count) {
  return count == 0 ? std::vector<int32_t>() : std::vector<int32_t>(ids, ids + count);
}

}  // namespace kvern::c_api
