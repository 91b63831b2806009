#include "server/protocol/llama/server_info.h"

#include <algorithm>

#include "server/protocol/sampling_fields.h"

namespace kvern::server::llama {
namespace {

/// llama.cpp's name for "no limit".
constexpr int kUnlimited = -1;

json::object sampling_json() {
  const engine::SamplingParams sampling = default_sampling();
  return {{"n_predict", kUnlimited},
          {"temperature", sampling.temperature},
          {"top_k", sampling.top_k},
          {"top_p", sampling.top_p},
          {"min_p", sampling.min_p},
          {"xtc_probability", sampling.xtc_probability},
          {"xtc_threshold", sampling.xtc_threshold},
          {"typical_p", sampling.typical_p},
          {"repeat_last_n", sampling.repeat_last_n},
          {"repeat_penalty", sampling.repeat_penalty},
          {"presence_penalty", sampling.presence_penalty},
          {"frequency_penalty", sampling.frequency_penalty},
          {"min_keep", sampling.min_keep},
          {"max_tokens", kUnlimited},
          {"stop", json::array{}},
          {"ignore_eos", false},
          {"stream", false},
          {"n_probs", 0},
          {"grammar", ""}};
}

/// What chat templates can express here, as far as it is known.
json::object template_caps(const engine::ChatFormat& chat) {
  const bool tools = chat.tool_call_style() != engine::ToolCallStyle::kNone;
  return {{"supports_tools", tools},
          {"supports_tool_calls", tools},
          {"supports_system_role", chat.mentions("system")},
          {"supports_reasoning", chat.reasons()}};
}

json::object slot_json(const engine::RowInfo& row, int64_t context_tokens, size_t index) {
  const bool running = row.state == "prefill" || row.state == "decode";
  return {{"id", index},
          {"id_task", static_cast<uint64_t>(row.ticket)},
          {"choice", row.choice},
          {"n_ctx", context_tokens},
          {"speculative", false},
          {"is_processing", running},
          {"state", row.state},
          {"n_prompt_tokens", row.prompt_tokens},
          {"n_prompt_tokens_processed", row.computed_tokens},
          {"next_token", json::object{{"has_next_token", true}, {"n_decoded", row.generated_tokens}}}};
}

}  // namespace

json::object props_json(const ProtocolContext& context) {
  const engine::Engine& engine = context.engine;
  json::object props{
      {"default_generation_settings",
       json::object{{"n_ctx", engine.context_tokens()}, {"speculative", false}, {"params", sampling_json()}}},
      {"total_slots", context.limits.max_rows},
      {"model_alias", context.model_name},
      {"model_path", engine.options().model_path},
      {"chat_template", engine.chat_template().value_or("")},
      {"modalities", json::object{{"vision", false}, {"audio", false}}},
      {"build_info", context.system_fingerprint},
      {"is_sleeping", false}};
  if (context.chat) {
    props["chat_template_caps"] = template_caps(**context.chat);
    props["bos_token"] = (*context.chat)->bos();
    props["eos_token"] = (*context.chat)->eos();
  }
  return props;
}

json::array slots_json(const ProtocolContext& context) {
  json::array slots;
  for (const engine::RowInfo& row : context.service.rows())
    slots.push_back(slot_json(row, context.engine.context_tokens(), slots.size()));
  return slots;
}

}  // namespace kvern::server::llama
