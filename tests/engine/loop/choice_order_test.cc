#include "engine/loop/choice_order.h"

#include <string>

#include <gtest/gtest.h>

namespace kvern::engine {
namespace {

void token(ChoiceOrder& order, int32_t choice, TokenId id, Follows follows = Follows::kToken) {
  order.push(TokenEvent{.choice = choice, .token = id, .text = {}, .logprobs = {}}, follows);
}

void end(ChoiceOrder& order, int32_t choice) { order.push(ChoiceEnd{.choice = choice}); }

/// "0:7 1:8 0." is token 7 of choice 0, token 8 of choice 1, the end of choice 0.
std::string popped(ChoiceOrder& order) {
  std::string text;
  while (const auto event = order.pop()) {
    if (const auto* token = std::get_if<TokenEvent>(&*event))
      text += std::to_string(token->choice) + ":" + std::to_string(token->token) + " ";
    else
      text += std::to_string(std::get<ChoiceEnd>(*event).choice) + ". ";
  }
  return text;
}

TEST(ChoiceOrder, passes_on_at_once_what_comes_in_turn) {
  ChoiceOrder order(2);
  token(order, 0, 1);
  EXPECT_EQ(popped(order), "0:1 ");
  token(order, 1, 2);
  EXPECT_EQ(popped(order), "1:2 ");
}

TEST(ChoiceOrder, holds_back_what_is_ahead) {
  ChoiceOrder order(3);
  token(order, 1, 10);
  token(order, 1, 11);
  token(order, 2, 20);
  EXPECT_EQ(popped(order), "");
  token(order, 0, 1);
  EXPECT_EQ(popped(order), "0:1 1:10 2:20 ");
  token(order, 0, 2);
  EXPECT_EQ(popped(order), "0:2 1:11 ");
}

TEST(ChoiceOrder, tells_an_end_right_behind_the_last_token) {
  ChoiceOrder order(2);
  token(order, 1, 10);
  token(order, 0, 1, Follows::kEnd);
  EXPECT_EQ(popped(order), "0:1 ");
  end(order, 0);
  EXPECT_EQ(popped(order), "0. 1:10 ");
  token(order, 1, 11, Follows::kEnd);
  end(order, 1);
  EXPECT_EQ(popped(order), "1:11 1. ");
}

TEST(ChoiceOrder, lets_ends_without_a_token_through_when_all_are_cancelled) {
  ChoiceOrder order(3);
  token(order, 2, 20);
  token(order, 0, 1);
  EXPECT_EQ(popped(order), "0:1 ");
  for (const int32_t choice : {0, 1, 2}) end(order, choice);
  EXPECT_EQ(popped(order), "1. 2:20 0. 2. ");
}

}  // namespace
}  // namespace kvern::engine
