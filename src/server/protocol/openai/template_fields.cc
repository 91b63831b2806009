#include "server/protocol/openai/template_fields.h"

#include "server/protocol/request_fields.h"

namespace kvern::server::openai {

Result<engine::ChatOptions> read_template_fields(ObjectReader& body, const engine::ChatFormat& format) {
  engine::ChatOptions options;
  KVERN_TRY(const json::object* variables, body.object("chat_template_kwargs"));
  if (variables != nullptr) options.variables = *variables;
  KVERN_TRY(const auto continued, body.boolean("continue_final_message"));
  options.continue_final_message = continued.value_or(false);
  KVERN_TRY(const auto begun, body.boolean("add_generation_prompt"));
  options.add_generation_prompt = begun.value_or(!options.continue_final_message);
  KVERN_TRY(const auto effort,
            body.word("reasoning_effort", {"none", "minimal", "low", "medium", "high", "xhigh"}));
  if (effort) KVERN_TRY_STATUS(set_reasoning_effort(*effort, "reasoning_effort", format, options));
  return options;
}

}  // namespace kvern::server::openai
