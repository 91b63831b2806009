#include "server/protocol/support/scripted_service.h"

#include <algorithm>
#include <utility>

namespace kvern::server::test {
namespace {

/// One choice as events.
struct Line {
  std::vector<engine::TokenEvent> events;
  engine::ChoiceEnd end;
};

engine::TokenLogprobs logprobs_of(engine::TokenId token, uint32_t top) {
  engine::TokenLogprobs logprobs{.token = token, .logprob = -0.5F};
  for (uint32_t i = 0; i < top; ++i)
    logprobs.top.push_back(
        {.token = token + static_cast<engine::TokenId>(i), .logprob = -0.5F - static_cast<float>(i)});
  return logprobs;
}

Line line_of(const text::Tokenizer& tokenizer, const ScriptedChoice& choice, int32_t index,
             const engine::ServiceRequest& request) {
  Line line;
  line.end = {.choice = index, .reason = choice.reason, .stop_string = choice.stop_string};
  size_t left = choice.text.size() - choice.held_back;
  text::StreamDecoder decoder(tokenizer, {.skip_special = true});
  std::vector<engine::TokenId> tokens =
      tokenizer.encode(choice.text, {.add_special = false, .parse_special = true});
  const bool ends = choice.reason == engine::FinishReason::kStop && tokenizer.eos();
  if (ends) tokens.push_back(*tokenizer.eos());
  for (const engine::TokenId token : tokens) {
    std::string text = decoder.push(token);
    engine::TokenEvent event{.choice = index, .token = token, .text = text.substr(0, left)};
    if (event.text.size() < text.size()) line.end.text += text.substr(event.text.size());
    left -= event.text.size();
    if (request.generate.sampling.top_logprobs)
      event.logprobs = logprobs_of(token, *request.generate.sampling.top_logprobs);
    line.events.push_back(std::move(event));
  }
  line.end.text += decoder.finish();
  return line;
}

}  // namespace

Result<engine::Ticket> ScriptedService::submit(engine::ServiceRequest request,
                                               std::shared_ptr<engine::GenerationSink> sink) {
  if (refusal_) return std::unexpected(*refusal_);
  engine::Ticket ticket{};
  {
    const MutexLock lock(mutex_);
    requests_.push_back(request);
    last_sink_ = sink;
    ticket = engine::Ticket{requests_.size()};
  }
  if (play_) play_(request, *sink);
  return ticket;
}

void ScriptedService::cancel(engine::Ticket ticket) {
  const MutexLock lock(mutex_);
  cancelled_.push_back(ticket);
}

std::vector<engine::ServiceRequest> ScriptedService::requests() const {
  const MutexLock lock(mutex_);
  return requests_;
}

std::vector<engine::Ticket> ScriptedService::cancelled() const {
  const MutexLock lock(mutex_);
  return cancelled_;
}

std::shared_ptr<engine::GenerationSink> ScriptedService::last_sink() const {
  const MutexLock lock(mutex_);
  return last_sink_;
}

ScriptedService::Play say(const text::Tokenizer& tokenizer, std::vector<ScriptedChoice> choices) {
  return [&tokenizer, choices = std::move(choices)](const engine::ServiceRequest& request,
                                                    engine::GenerationSink& sink) {
    const auto prompt = static_cast<int64_t>(request.generate.prompt.size());
    sink.on_prompt({.total = prompt, .cached = 1, .computed = prompt - 1});
    std::vector<Line> lines;
    size_t longest = 0;
    engine::RequestEnd end{.prompt_tokens = prompt, .cached_tokens = 1};
    for (int32_t i = 0; i < request.choices; ++i) {
      const size_t script = std::min(static_cast<size_t>(i), choices.size() - 1);
      lines.push_back(line_of(tokenizer, choices[script], i, request));
      longest = std::max(longest, lines.back().events.size());
      end.generated_tokens += static_cast<int64_t>(lines.back().events.size());
    }
    if (request.best > 0) lines.resize(static_cast<size_t>(request.best));
    for (size_t step = 0; step <= longest; ++step) {
      for (const Line& line : lines) {
        if (step < line.events.size()) sink.on_token(line.events[step]);
        if (step == line.events.size()) sink.on_choice_end(line.end);
      }
    }
    if (request.prompt_logprobs) {
      for (size_t i = 1; i < request.generate.prompt.size(); ++i)
        end.prompt_logprobs.push_back(logprobs_of(request.generate.prompt[i], *request.prompt_logprobs));
    }
    sink.on_end(end);
  };
}

}  // namespace kvern::server::test
