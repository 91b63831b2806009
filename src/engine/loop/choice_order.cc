#include "engine/loop/choice_order.h"

#include <utility>

namespace kvern::engine {

void ChoiceOrder::push(TokenEvent event, Follows follows) {
  Choice& choice = choices_.at(static_cast<size_t>(event.choice));
  choice.waiting.push_back({.event = std::move(event), .follows = follows});
}

void ChoiceOrder::push(ChoiceEnd end) {
  Choice& choice = choices_.at(static_cast<size_t>(end.choice));
  choice.waiting.push_back({.event = std::move(end)});
}

std::optional<ChoiceOrder::Event> ChoiceOrder::pop() {
  if (over_ == choices_.size()) return std::nullopt;
  while (choices_[turn_].over) turn();
  Choice& choice = choices_[turn_];
  if (choice.waiting.empty()) return std::nullopt;
  Item item = std::move(choice.waiting.front());
  choice.waiting.pop_front();
  if (std::holds_alternative<ChoiceEnd>(item.event)) {
    choice.over = true;
    ++over_;
  }
  if (item.follows == Follows::kToken) turn();
  return std::move(item.event);
}

}  // namespace kvern::engine
