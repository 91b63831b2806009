#include "server/protocol/responses/response_events.h"

#include <chrono>
#include <utility>

#include "server/protocol/openai/logprobs_json.h"

namespace kvern::server::responses {
namespace {

using Kind = engine::ReplyDelta::Kind;
using Reason = ReplyEnd::Reason;

/// There is one content in each item.
constexpr int kContentIndex = 0;

json::object usage_json(const ReplyEnd& end) {
  const int64_t input = end.usage.prompt_tokens;
  const int64_t output = end.usage.generated_tokens;
  return {{"input_tokens", input},
          {"input_tokens_details", json::object{{"cached_tokens", end.usage.cached_tokens}}},
          {"output_tokens", output},
          {"output_tokens_details", json::object{{"reasoning_tokens", end.reasoning_tokens}}},
          {"total_tokens", input + output}};
}

}  // namespace

ResponseEvents::ResponseEvents(const ProtocolContext& context, json::object response, Options options)
    : context_(context), response_(std::move(response)), options_(options) {}

void ResponseEvents::emit(std::string_view type, json::object members) {
  json::object event{{"type", type}, {"sequence_number", next_number_++}};
  for (auto& item : members) event[item.key()] = std::move(item.value());
  events_.push_back(std::move(event));
}

void ResponseEvents::emit_response(std::string_view type) { emit(type, {{"response", response_}}); }

json::object ResponseEvents::place() const {
  return {{"item_id", item_.at("id")}, {"output_index", response_.at("output").as_array().size()}};
}

void ResponseEvents::begin() {
  emit_response("response.created");
  emit_response("response.in_progress");
}

void ResponseEvents::add(ReplyPiece piece) {
  if (options_.logprobs && piece.logprobs)
    pending_.push_back(openai::chat_logprob(*piece.logprobs, (*context_.chat)->tokenizer()));
  for (const engine::ReplyDelta& delta : piece.deltas) grow(delta);
}

void ResponseEvents::grow(const engine::ReplyDelta& delta) {
  if (delta.kind != Kind::kContent) pending_.clear();
  switch (delta.kind) {
    case Kind::kContent: {
      if (open_ != Open::kText) open_text();
      json::object event = place();
      event["content_index"] = kContentIndex;
      event["delta"] = delta.text;
      event["logprobs"] = pending_;
      emit("response.output_text.delta", std::move(event));
      for (json::value& token : pending_) logprobs_.push_back(std::move(token));
      pending_.clear();
      break;
    }
    case Kind::kReasoning: {
      if (open_ != Open::kReasoning) open_reasoning();
      json::object event = place();
      event["content_index"] = kContentIndex;
      event["delta"] = delta.text;
      emit("response.reasoning_text.delta", std::move(event));
      break;
    }
    case Kind::kCallBegin:
      return open_call(delta.text);
    case Kind::kCallArguments: {
      json::object event = place();
      event["delta"] = delta.text;
      emit("response.function_call_arguments.delta", std::move(event));
      break;
    }
  }
  text_ += delta.text;
}

void ResponseEvents::open(Open kind, json::object item) {
  close("completed");
  open_ = kind;
  item_ = std::move(item);
  text_.clear();
  emit("response.output_item.added",
       {{"output_index", response_.at("output").as_array().size()}, {"item", item_}});
}

json::object ResponseEvents::text_part() const {
  if (open_ == Open::kReasoning) return {{"type", "reasoning_text"}, {"text", text_}};
  return {{"type", "output_text"}, {"annotations", json::array{}}, {"logprobs", logprobs_}, {"text", text_}};
}

void ResponseEvents::open_text() {
  open(Open::kText, {{"id", context_.ids.next("msg_")},
                     {"type", "message"},
                     {"status", "in_progress"},
                     {"content", json::array{}},
                     {"role", "assistant"}});
  json::object event = place();
  event["content_index"] = kContentIndex;
  event["part"] = text_part();
  emit("response.content_part.added", std::move(event));
}

void ResponseEvents::open_reasoning() {
  open(Open::kReasoning, {{"id", context_.ids.next("rs_")},
                          {"type", "reasoning"},
                          {"summary", json::array{}},
                          {"content", json::array{}},
                          {"status", "in_progress"}});
  json::object event = place();
  event["content_index"] = kContentIndex;
  event["part"] = text_part();
  emit("response.content_part.added", std::move(event));
}

void ResponseEvents::open_call(const std::string& name) {
  open(Open::kCall, {{"id", context_.ids.next("fc_")},
                     {"type", "function_call"},
                     {"status", "in_progress"},
                     {"arguments", ""},
                     {"call_id", new_call_id(context_, "call_")},
                     {"name", name}});
}

void ResponseEvents::close_part() {
  json::object event = place();
  event["content_index"] = kContentIndex;
  json::object part_event = event;
  event["text"] = text_;
  if (open_ == Open::kText) {
    event["logprobs"] = logprobs_;
    emit("response.output_text.done", std::move(event));
  } else {
    emit("response.reasoning_text.done", std::move(event));
  }
  part_event["part"] = text_part();
  emit("response.content_part.done", std::move(part_event));
  item_["content"] = json::array{text_part()};
}

void ResponseEvents::close_call() {
  json::object event = place();
  event["name"] = item_.at("name");
  event["arguments"] = text_;
  emit("response.function_call_arguments.done", std::move(event));
  item_["arguments"] = text_;
}

void ResponseEvents::close(std::string_view status) {
  if (open_ == Open::kNone) return;
  if (open_ == Open::kText) {
    for (json::value& token : pending_) logprobs_.push_back(std::move(token));
    pending_.clear();
  }
  if (open_ == Open::kCall)
    close_call();
  else
    close_part();
  open_ = Open::kNone;
  logprobs_.clear();
  item_["status"] = status;
  json::array& output = response_.at("output").as_array();
  emit("response.output_item.done", {{"output_index", output.size()}, {"item", item_}});
  output.push_back(std::move(item_));
}

void ResponseEvents::end(const ReplyEnd& end) {
  const bool cut = end.reason == Reason::kTokenLimit || end.reason == Reason::kContextFull;
  close(cut ? "incomplete" : "completed");
  response_["status"] = cut ? "incomplete" : "completed";
  // The context is a limit of tokens as well, and the API has no other word.
  if (cut) response_["incomplete_details"] = json::object{{"reason", "max_output_tokens"}};
  response_["usage"] = usage_json(end);
  if (!cut) {
    response_["completed_at"] =
        std::chrono::duration_cast<std::chrono::seconds>(context_.clock.wall_now().time_since_epoch())
            .count();
  }
  emit_response(cut ? "response.incomplete" : "response.completed");
}

void ResponseEvents::fail(const ApiError& error) {
  const std::string code = error.status == 429 ? "rate_limit_exceeded" : "server_error";
  emit("error", {{"code", code}, {"message", error.message}, {"param", nullptr}});
  response_["status"] = "failed";
  response_["error"] = json::object{{"code", code}, {"message", error.message}};
  emit_response("response.failed");
}

void ResponseEvents::cancel() {
  close("incomplete");
  response_["status"] = "cancelled";
  emit_response("response.failed");
}

}  // namespace kvern::server::responses
