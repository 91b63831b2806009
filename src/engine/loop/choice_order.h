// The order in which the choices of one request are told of.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <variant>
#include <vector>

#include "engine/request/generation_service.h"

namespace kvern::engine {

/// What comes behind a token of a choice.
enum class Follows : uint8_t { kToken, kEnd };

/// Puts the events of several choices into the order that GenerationSink promises, whichever choice was
/// computed first: rows that were moved out, or are computed again after a restart, lag behind the others,
/// and a client that counts events must not notice. One thread.
class ChoiceOrder {
 public:
  using Event = std::variant<TokenEvent, ChoiceEnd>;

  explicit ChoiceOrder(int32_t choices) : choices_(static_cast<size_t>(choices)) {}
  void push(TokenEvent event, Follows follows);
  void push(ChoiceEnd end);
  /// The next event, if it is there.
  std::optional<Event> pop();

 private:
  struct Item {
    Event event;
    Follows follows = Follows::kToken;
  };
  struct Choice {
    std::deque<Item> waiting;
    bool over = false;  // its end was popped
  };
  void turn() { turn_ = (turn_ + 1) % choices_.size(); }

  std::vector<Choice> choices_;
  size_t turn_ = 0;
  size_t over_ = 0;
};

}  // namespace kvern::engine
