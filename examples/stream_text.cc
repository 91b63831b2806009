// Loads a model and continues a text, printing it as it comes.
//
//   stream_text MODEL PROMPT TOKENS
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include <kvern/language_model.h>

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: stream_text MODEL PROMPT TOKENS\n";
    return 2;
  }
  auto model = kvern::LanguageModel::load({.path = argv[1]});
  if (!model) {
    std::cerr << model.error().to_string() << '\n';
    return 1;
  }

  std::cout << argv[2];
  // Temperature 0 takes the most likely token at each place.
  const kvern::GenerateOptions options{.max_new_tokens = std::atoll(argv[3]), .temperature = 0};
  const auto story = model->generate(argv[2], options, [](std::string_view text) {
    std::cout << text << std::flush;
    return true;  // Go on; false would stop here.
  });
  std::cout << '\n';
  if (!story) {
    std::cerr << story.error().to_string() << '\n';
    return 1;
  }
  std::cout << "[" << story->prompt_tokens << " tokens of prompt, " << story->ids.size()
            << " new ones, ended by " << story->finish_reason << "]\n";
  return 0;
}
