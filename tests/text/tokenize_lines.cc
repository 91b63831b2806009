// A small program for comparing tokenizers with others on many texts.
//
//   tokenize_lines tokenizer.json [tokenizer_config.json]  < lines  > lines
//
// Each input line is a JSON string; its output line is {"ids": [...], "text": "..."}: the ids with special
// tokens found but none added, and their decoding with special tokens.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "base/json.h"
#include "text/tokenizer.h"

namespace {

std::string slurp(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int answer_lines(const kvern::text::Tokenizer& tokenizer) {
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto value = kvern::parse_json(line, "line");
    if (!value || !value->is_string()) {
      std::cerr << "not a JSON string: " << line << '\n';
      return 1;
    }
    const std::string_view text = value->get_string();
    const auto ids = tokenizer.encode(text, {.add_special = false, .parse_special = true});
    kvern::json::object out;
    out["ids"] = kvern::json::value_from(ids);
    out["text"] = tokenizer.decode(ids, {.skip_special = false});
    std::cout << kvern::to_json(out) << '\n';
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: tokenize_lines tokenizer.json [tokenizer_config.json] < lines\n";
    return 2;
  }
  const auto tokenizer =
      kvern::text::Tokenizer::from_json(slurp(argv[1]), argc > 2 ? slurp(argv[2]) : std::string(), argv[1]);
  if (!tokenizer) {
    std::cerr << tokenizer.error().to_string() << '\n';
    return 1;
  }
  return answer_lines(**tokenizer);
}
