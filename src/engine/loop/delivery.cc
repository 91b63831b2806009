#include "engine/loop/delivery.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace kvern::engine {
namespace {

template <typename Call>
Status guarded(const Call& call) {
  try {
    call();
    return Ok{};
  } catch (const std::exception& error) {
    return fail(ErrorCode::kInternal, std::string("the receiver of the request failed: ") + error.what());
  } catch (...) {
    return fail(ErrorCode::kInternal, "the receiver of the request failed");
  }
}

/// Of a choice without tokens: none is less likely.
double mean_logprob(const HeldBack& choice) {
  if (choice.tokens.empty()) return -std::numeric_limits<double>::infinity();
  return choice.logprob_sum / static_cast<double>(choice.tokens.size());
}

HeldBack& held_back(Request& request, int32_t choice) {
  request.held_back.resize(static_cast<size_t>(request.spec.choices));
  return request.held_back[static_cast<size_t>(choice)];
}

/// Of several choices, what it is the turn of.
Status deliver_due(Request& request) {
  return guarded([&] {
    while (auto due = request.order_of_choices->pop()) {
      if (auto* token = std::get_if<TokenEvent>(&*due))
        request.sink->on_token(std::move(*token));
      else
        request.sink->on_choice_end(std::get<ChoiceEnd>(std::move(*due)));
    }
  });
}

}  // namespace

Status deliver_prompt(Request& request) {
  const PromptProgress progress{
      .total = request.prompt_tokens(), .cached = request.cached_tokens, .computed = request.computed_tokens};
  return guarded([&] { request.sink->on_prompt(progress); });
}

Status deliver_token(Request& request, TokenEvent event, Follows follows) {
  if (request.order_of_choices) {
    request.order_of_choices->push(std::move(event), follows);
    return deliver_due(request);
  }
  if (!request.gives_best) return guarded([&] { request.sink->on_token(std::move(event)); });
  // They were computed for the choice to be made, whether the caller wants them or not.
  if (!request.spec.generate.sampling.top_logprobs) event.logprobs.reset();
  std::vector<TokenEvent>& tokens = held_back(request, event.choice).tokens;
  tokens.push_back(std::move(event));
  return Ok{};
}

Status deliver_choice_end(Request& request, ChoiceEnd end, double logprob_sum) {
  if (request.order_of_choices) {
    request.order_of_choices->push(std::move(end));
    return deliver_due(request);
  }
  if (!request.gives_best) return guarded([&] { request.sink->on_choice_end(std::move(end)); });
  HeldBack& choice = held_back(request, end.choice);
  choice.end = std::move(end);
  choice.logprob_sum = logprob_sum;
  return Ok{};
}

Status deliver_best(Request& request) {
  if (!request.gives_best || request.held_back.empty()) return Ok{};
  std::vector<size_t> order(request.held_back.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater{},
                           [&](size_t i) { return mean_logprob(request.held_back[i]); });
  order.resize(std::min(order.size(), static_cast<size_t>(request.spec.best)));
  return guarded([&] {
    for (size_t rank = 0; rank < order.size(); ++rank) {
      HeldBack& choice = request.held_back[order[rank]];
      for (TokenEvent& event : choice.tokens) {
        event.choice = static_cast<int32_t>(rank);
        request.sink->on_token(std::move(event));
      }
      choice.end.choice = static_cast<int32_t>(rank);
      request.sink->on_choice_end(std::move(choice.end));
    }
  });
}

Status deliver_end(Request& request, const RequestEnd& end) {
  return guarded([&] { request.sink->on_end(end); });
}

void deliver_error(Request& request, const Error& error) {
  (void)guarded([&] { request.sink->on_error(error); });
}

}  // namespace kvern::engine
