// For comparisons with other implementations (tools/peers).
//
//   grammar_lines TOKENIZER_JSON             prints {"schema": S, "text": T} for texts that the grammars of
//   the tests'
//                                            schemas give and take
//   grammar_lines --gbnf FILE...             compiles each file; prints {"file": F, "error": E} for one that
//   fails
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "base/json.h"
#include "text/grammar/grammar_support.h"
#include "text/grammar/schema_cases.h"
#include "text/grammar/schema_oracle.h"

namespace kvern {
namespace {

constexpr uint32_t kSeeds = 25;

void print(const json::value& schema, std::string_view text) {
  fmt::print("{}\n", to_json(json::object{{"schema", schema}, {"text", text}}));
}

/// Changes of valid documents that the grammar takes all the same.
void print_taken(const json::value& schema) {
  const auto grammar = text::Grammar::from_json_schema(schema, test::byte_vocabulary());
  std::mt19937 random(11);
  for (uint32_t seed = 0; seed < 20 * kSeeds; ++seed) {
    const json::value document = test::mutated(test::DocumentMaker(schema, seed).make(), random);
    const std::string text = test::to_text(document, test::Layout::kCompact);
    if (grammar && test::matches(*grammar, text)) print(schema, text);
  }
}

int print_texts(const std::string& path) {
  const auto tokenizer = text::Tokenizer::from_json(test::read_file(path), "", path);
  if (!tokenizer) {
    fmt::print(stderr, "{}\n", tokenizer.error().to_string());
    return 1;
  }
  const auto ends = (*tokenizer)->end_of_generation();
  const auto vocabulary = text::GrammarVocabulary::create(**tokenizer, (*tokenizer)->vocab_size(), ends);
  const auto bytes_of = [&](text::TokenId id) { return (*tokenizer)->token_bytes(id); };
  for (const auto& [name, text] : test::kSchemaCases) {
    const json::value schema = json::parse(text);
    const auto grammar = text::Grammar::from_json_schema(schema, vocabulary);
    if (!grammar) {
      fmt::print(stderr, "{}: {}\n", name, grammar.error().to_string());
      return 1;
    }
    for (uint32_t seed = 0; seed < kSeeds; ++seed)
      if (const auto walked = test::random_walk(
              *grammar, {.seed = seed, .max_tokens = 200, .hurry_after = 20}, bytes_of, ends))
        print(schema, *walked);
    print_taken(schema);
  }
  return 0;
}

int compile_files(int count, char** files) {
  const auto vocabulary = test::byte_vocabulary();
  for (int i = 0; i < count; ++i) {
    const auto grammar = text::Grammar::from_gbnf(test::read_file(files[i]), vocabulary);
    if (!grammar)
      fmt::print("{}\n", to_json(json::object{{"file", files[i]}, {"error", grammar.error().to_string()}}));
  }
  return 0;
}

}  // namespace
}  // namespace kvern

int main(int argc, char** argv) {
  if (argc >= 2 && std::string_view(argv[1]) == "--gbnf") return kvern::compile_files(argc - 2, argv + 2);
  if (argc != 2) {
    fmt::print(stderr, "usage: {} TOKENIZER_JSON | --gbnf FILE...\n", argv[0]);
    return 2;
  }
  return kvern::print_texts(argv[1]);
}
