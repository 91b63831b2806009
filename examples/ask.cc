// A conversation of two turns: the second question knows the first answer, and only what is new is computed.
//
//   ask MODEL QUESTION
#include <iostream>
#include <string>
#include <vector>

#include <kvern/language_model.h>

namespace {

/// Asks the last message of a conversation and adds the answer to it. False on an error, which is printed.
bool answer(kvern::LanguageModel& model, std::vector<kvern::ChatMessage>& conversation) {
  const auto reply = model.chat(conversation, {.max_new_tokens = 64, .temperature = 0});
  if (!reply) {
    std::cerr << reply.error().to_string() << '\n';
    return false;
  }
  std::cout << "> " << conversation.back().content << '\n' << reply->text << '\n';
  std::cout << "[" << reply->reused_tokens << " of " << reply->prompt_tokens
            << " tokens of prompt were known]\n";
  conversation.push_back({.role = "assistant", .content = reply->text});
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: ask MODEL QUESTION\n";
    return 2;
  }
  auto model = kvern::LanguageModel::load({.path = argv[1]});
  if (!model) {
    std::cerr << model.error().to_string() << '\n';
    return 1;
  }

  std::vector<kvern::ChatMessage> conversation{{.role = "user", .content = argv[2]}};
  if (!answer(*model, conversation)) return 1;
  conversation.push_back({.role = "user", .content = "Thank you. Tell me a story."});
  return answer(*model, conversation) ? 0 : 1;
}
