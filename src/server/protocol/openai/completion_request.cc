#include "server/protocol/openai/completion_request.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "server/protocol/openai/constraint_fields.h"
#include "server/protocol/openai/prompt_fields.h"
#include "server/protocol/prompt_length.h"
#include "server/protocol/request_fields.h"

namespace kvern::server::openai {
namespace {

/// What OpenAI's API reference gives.
constexpr int64_t kDefaultMaxTokens = 16;

using Tokens = std::vector<engine::TokenId>;

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, message), path);
}

/// A string, token ids, or an array of either.
Result<std::vector<Tokens>> read_prompts(ObjectReader& body, const ProtocolContext& context) {
  const json::value* value = body.take("prompt");
  const std::string path = body.path_of("prompt");
  if (value == nullptr) return invalid(path, "expected a string or an array, but it is missing");
  std::vector<Tokens> prompts;
  const json::array* array = value->if_array();
  if (array == nullptr || (!array->empty() && array->front().is_number())) {
    KVERN_TRY(Tokens tokens, read_prompt(*value, path, context));
    prompts.push_back(std::move(tokens));
    return prompts;
  }
  if (array->empty()) return invalid(path, "expected at least one prompt, got none");
  if (array->size() > static_cast<size_t>(context.limits.max_choices))
    return invalid(
        path, fmt::format("{} prompts; at most {} are taken", array->size(), context.limits.max_choices));
  for (size_t i = 0; i < array->size(); ++i) {
    KVERN_TRY(Tokens tokens, read_prompt((*array)[i], fmt::format("{}[{}]", path, i), context));
    prompts.push_back(std::move(tokens));
  }
  return prompts;
}

Status check_length(const Tokens& prompt, const ProtocolContext& context) {
  return check_prompt_length(prompt.size(), "the prompt has", context.engine);
}

/// n and best_of to what the service is asked for.
Status read_choices(ObjectReader& body, const ProtocolContext& context, CompletionRequest& request,
                    engine::ServiceRequest& service) {
  request.n = service.choices;
  KVERN_TRY(const auto best_of, body.integer("best_of", {1, context.limits.max_choices}));
  if (!best_of) return Ok{};
  if (*best_of < request.n)
    return invalid("best_of", fmt::format("must be at least n, which is {}", request.n));
  if (*best_of == request.n) return Ok{};
  if (request.answer.stream)
    return invalid("best_of", "what is best is known at the end; set stream to false");
  service.choices = static_cast<int32_t>(*best_of);
  service.best = request.n;
  return Ok{};
}

Status read_logprobs(ObjectReader& body, const ProtocolContext& context, CompletionRequest& request,
                     engine::ServiceRequest& service) {
  KVERN_TRY(const auto logprobs, body.integer("logprobs", {0, context.limits.max_top_logprobs}));
  KVERN_TRY(const auto echo, body.boolean("echo"));
  request.echo = echo.value_or(false);
  if (!logprobs) return Ok{};
  request.answer.top_logprobs = static_cast<uint32_t>(*logprobs);
  service.generate.sampling.top_logprobs = request.answer.top_logprobs;
  if (!request.echo) return Ok{};
  if (request.answer.stream) {
    return fail(ErrorCode::kUnsupported, "logprobs: with echo they are known at the end; set stream to false",
                "logprobs");
  }
  service.prompt_logprobs = request.answer.top_logprobs;
  return Ok{};
}

Status refuse_other_fields(ObjectReader& body) {
  KVERN_TRY_STATUS(body.refuse("suffix", "the model cannot fill in", {"\"\""}));
  KVERN_TRY_STATUS(refuse_stored_and_paid(body));
  return body.finish();
}

}  // namespace

Result<CompletionRequest> read_completion_request(const json::value& value, const ProtocolContext& context) {
  KVERN_TRY(ObjectReader body, ObjectReader::of(value, ""));
  CompletionRequest request;
  engine::ServiceRequest service;
  KVERN_TRY_STATUS(read_generation_fields(body, context, service, request.answer));
  KVERN_TRY_STATUS(read_choices(body, context, request, service));
  KVERN_TRY_STATUS(read_logprobs(body, context, request, service));
  KVERN_TRY(const auto max_tokens, body.integer("max_tokens", {0, max_new_tokens(context)}));
  service.as_long_as_fits = !max_tokens;
  service.generate.max_new_tokens =
      std::min(max_tokens.value_or(kDefaultMaxTokens), context.engine.context_tokens());
  KVERN_TRY(service.grammar, read_constraint(body, context));
  KVERN_TRY(std::vector<Tokens> prompts, read_prompts(body, context));
  KVERN_TRY_STATUS(refuse_other_fields(body));
  if (static_cast<int64_t>(prompts.size()) * service.choices > context.limits.max_choices) {
    return invalid("prompt", fmt::format("{} prompts with {} choices each; at most {} choices are made",
                                         prompts.size(), service.choices, context.limits.max_choices));
  }
  for (size_t part = 0; part < prompts.size(); ++part) {
    KVERN_TRY_STATUS(check_length(prompts[part], context));
    engine::ServiceRequest one = service;
    one.generate.prompt = std::move(prompts[part]);
    // Equal prompts in one list are not to have equal answers.
    one.generate.sampling.seed = engine::choice_seed(request.answer.seed, static_cast<int32_t>(part));
    if (request.echo && context.engine.tokenizer() != nullptr)
      request.prompts.push_back(context.engine.tokenizer()->decode(one.generate.prompt));
    request.parts.push_back(std::move(one));
  }
  request.prompts.resize(request.parts.size());
  request.answer.id = context.ids.next("cmpl-");
  return request;
}

}  // namespace kvern::server::openai
