#include "server/protocol/anthropic/message_answer.h"

#include <utility>

#include "server/http/sse.h"
#include "server/protocol/anthropic/errors.h"

namespace kvern::server::anthropic {
namespace {

using Kind = engine::ReplyDelta::Kind;
using Reason = ReplyEnd::Reason;

/// Tokens that were kept from earlier requests are counted apart, so the three input counts add up to the
/// prompt. Prefixes are kept by themselves: nothing is "created" at a price.
json::object usage_json(const engine::PromptProgress& prompt, int64_t output_tokens) {
  return {{"input_tokens", prompt.total - prompt.cached},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", prompt.cached},
          {"output_tokens", output_tokens}};
}

std::string_view stop_reason(Reason reason) {
  switch (reason) {
    case Reason::kDone:
      return "end_turn";
    case Reason::kCalls:
      return "tool_use";
    case Reason::kStopString:
      return "stop_sequence";
    case Reason::kTokenLimit:
      return "max_tokens";
    case Reason::kContextFull:
      break;
  }
  return "model_context_window_exceeded";
}

}  // namespace

MessageAnswer::MessageAnswer(const ProtocolContext& context, const MessageRequest& request,
                             std::shared_ptr<Exchange> exchange)
    : ReplyHandler(context, request, request.max_tokens),
      exchange_(std::move(exchange)),
      id_(request.id),
      model_(request.model),
      omit_thinking_(request.omit_thinking),
      prompt_tokens_(static_cast<int64_t>(request.service.generate.prompt.size())) {}

void MessageAnswer::start(const engine::PromptProgress& prompt) {
  if (std::exchange(started_, true)) return;
  message_start({{"id", id_},
                 {"type", "message"},
                 {"role", "assistant"},
                 {"model", model_},
                 {"content", json::array{}},
                 {"stop_reason", nullptr},
                 {"stop_sequence", nullptr},
                 {"usage", usage_json(prompt, 0)}});
}

void MessageAnswer::progress(const engine::PromptProgress& progress) { start(progress); }

void MessageAnswer::open(Open kind, json::object block) {
  close();
  open_ = kind;
  block_start(blocks_++, std::move(block));
}

void MessageAnswer::close() {
  if (open_ == Open::kNone) return;
  // Clients take a thinking block for complete with its signature; thoughts are not sealed here.
  if (open_ == Open::kThinking) block_delta(blocks_ - 1, {{"type", "signature_delta"}, {"signature", ""}});
  open_ = Open::kNone;
  block_stop(blocks_ - 1);
}

void MessageAnswer::grow(const engine::ReplyDelta& delta) {
  switch (delta.kind) {
    case Kind::kContent:
      if (open_ != Open::kText) open(Open::kText, {{"type", "text"}, {"text", ""}});
      return block_delta(blocks_ - 1, {{"type", "text_delta"}, {"text", delta.text}});
    case Kind::kReasoning:
      if (open_ != Open::kThinking)
        open(Open::kThinking, {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}});
      if (omit_thinking_) return;
      return block_delta(blocks_ - 1, {{"type", "thinking_delta"}, {"thinking", delta.text}});
    case Kind::kCallBegin:
      return open(Open::kToolUse, {{"type", "tool_use"},
                                   {"id", new_call_id(context_, "toolu_")},
                                   {"name", delta.text},
                                   {"input", json::object{}}});
    case Kind::kCallArguments:
      return block_delta(blocks_ - 1, {{"type", "input_json_delta"}, {"partial_json", delta.text}});
  }
}

void MessageAnswer::piece(ReplyPiece piece) {
  start({.total = prompt_tokens_});
  for (const engine::ReplyDelta& delta : piece.deltas) grow(delta);
}

void MessageAnswer::end(ReplyEnd end) {
  const engine::PromptProgress prompt{.total = end.usage.prompt_tokens, .cached = end.usage.cached_tokens};
  start(prompt);
  close();
  json::object delta{{"stop_reason", stop_reason(end.reason)}, {"stop_sequence", nullptr}};
  if (end.reason == Reason::kStopString) delta["stop_sequence"] = end.stop_string;
  message_end(std::move(delta), usage_json(prompt, end.usage.generated_tokens));
}

void MessageCollector::block_start(size_t, json::object block) {
  content_.push_back(std::move(block));
  input_.clear();
}

void MessageCollector::block_delta(size_t, json::object delta) {
  json::object& block = content_.back().as_object();
  for (const char* name : {"text", "thinking"}) {
    if (const json::value* text = delta.if_contains(name)) block[name].as_string().append(text->as_string());
  }
  if (const json::value* text = delta.if_contains("partial_json")) input_ += text->as_string();
}

void MessageCollector::block_stop(size_t) {
  json::object& block = content_.back().as_object();
  if (block["type"] != "tool_use") return;
  // What was cut short is no JSON; then the stop reason says so.
  if (auto input = parse_json(input_, ""); input) block["input"] = *std::move(input);
}

void MessageCollector::message_end(json::object delta, json::object usage) {
  message_["content"] = std::move(content_);
  for (const char* name : {"stop_reason", "stop_sequence"}) message_[name] = delta[name];
  usage["service_tier"] = "standard";
  message_["usage"] = std::move(usage);
  exchange_->respond({.headers = {{"request-id", request_id()}}, .body = to_json(message_)});
}

void MessageCollector::fail(const Error& error) {
  exchange_->respond(error_response(run_error(error), request_id()));
}

void MessageStream::begin() {
  HttpResponse head = sse_head(context_.limits.ping_after);
  head.idle_bytes = sse_event("ping", R"({"type":"ping"})");
  head.headers.emplace_back("request-id", request_id());
  exchange_->start_stream(std::move(head));
}

void MessageStream::send(const json::object& event) {
  exchange_->write(sse_event(event.at("type").as_string(), to_json(event)));
}

void MessageStream::message_start(json::object message) {
  send({{"type", "message_start"}, {"message", std::move(message)}});
}

void MessageStream::block_start(size_t index, json::object block) {
  send({{"type", "content_block_start"}, {"index", index}, {"content_block", std::move(block)}});
}

void MessageStream::block_delta(size_t index, json::object delta) {
  send({{"type", "content_block_delta"}, {"index", index}, {"delta", std::move(delta)}});
}

void MessageStream::block_stop(size_t index) { send({{"type", "content_block_stop"}, {"index", index}}); }

void MessageStream::message_end(json::object delta, json::object usage) {
  send({{"type", "message_delta"}, {"delta", std::move(delta)}, {"usage", std::move(usage)}});
  send({{"type", "message_stop"}});
  exchange_->end();
}

void MessageStream::fail(const Error& error) {
  send(error_json(run_error(error), request_id()));
  exchange_->end();
}

std::unique_ptr<MessageAnswer> make_message_answer(const ProtocolContext& context,
                                                   const MessageRequest& request,
                                                   std::shared_ptr<Exchange> exchange) {
  if (request.stream) return std::make_unique<MessageStream>(context, request, std::move(exchange));
  return std::make_unique<MessageCollector>(context, request, std::move(exchange));
}

}  // namespace kvern::server::anthropic
