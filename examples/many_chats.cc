// Several conversations at once: all questions are handed over, then the answers are read as they come. The
// model works on all of them together, and what a prompt has in common with an earlier one is not computed
// again.
//
//   many_chats MODEL QUESTION...
#include <iostream>
#include <string>
#include <vector>

#include <kvern/engine.h>

namespace {

/// Prints an answer while it is generated. False on an error, which is printed.
bool print(const std::string& question, kvern::Reply& reply) {
  std::cout << "> " << question << '\n';
  for (;;) {
    const auto event = reply.next();  // Waits. What other replies get meanwhile is kept for them.
    if (!event) {
      std::cerr << event.error().to_string() << '\n';
      return false;
    }
    if (!*event) return true;
    std::cout << (*event)->text << std::flush;
    if ((*event)->kind == kvern::EventKind::kEnd) {
      const kvern::Usage& usage = (*event)->usage;
      std::cout << "\n[" << usage.cached_tokens << " of " << usage.prompt_tokens
                << " tokens of prompt were known]\n";
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: many_chats MODEL QUESTION...\n";
    return 2;
  }
  auto engine = kvern::Engine::load({.model = {.path = argv[1]}, .max_rows = 16});
  if (!engine) {
    std::cerr << engine.error().to_string() << '\n';
    return 1;
  }

  std::vector<kvern::Reply> replies;
  for (int i = 2; i < argc; ++i) {
    auto reply = engine->submit({.messages = {{.role = "user", .content = argv[i]}},
                                 .options = {.max_new_tokens = 48, .temperature = 0}});
    if (!reply) {
      std::cerr << argv[i] << ": " << reply.error().to_string() << '\n';
      return 1;
    }
    replies.push_back(*std::move(reply));
  }
  for (size_t i = 0; i < replies.size(); ++i) {
    if (!print(argv[i + 2], replies[i])) return 1;
  }
  return 0;
}
