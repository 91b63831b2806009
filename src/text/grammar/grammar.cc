#include "text/grammar/grammar.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/check.h"
#include "text/grammar/compiled_grammar.h"
#include "text/grammar/gbnf_parser.h"
#include "text/grammar/schema_rules.h"
#include "text/grammar/structure_rules.h"

namespace kvern::text {
namespace {

using grammar::Rules;

constexpr size_t kMaxMaskBytes = size_t{64} << 20;

Result<std::shared_ptr<const Grammar>> compile(const Rules& rules, grammar::RuleId root,
                                               std::shared_ptr<const GrammarVocabulary> vocabulary) {
  auto table = grammar::token_table(std::move(vocabulary));
  KVERN_TRY(grammar::Automaton automaton, grammar::compile(rules, root, table->spellable()));
  return std::make_shared<const grammar::CompiledGrammar>(std::move(automaton), std::move(table));
}

/// Control tokens stand for no text; byte tokens do, even where a file calls them special.
bool is_text(const Tokenizer& tokenizer, TokenId id) {
  return !tokenizer.is_special(id) && tokenizer.unk() != id && !tokenizer.is_end_of_generation(id);
}

Result<std::map<std::string, grammar::RuleId, std::less<>>> add_schemas(std::span<const NamedSchema> schemas,
                                                                        Rules& rules) {
  std::map<std::string, grammar::RuleId, std::less<>> found;
  for (const NamedSchema& named : schemas) {
    auto rule = grammar::add_schema(named.schema, named.name, rules);
    if (!rule) {
      Error error = std::move(rule).error();
      error.where = fmt::format("{} of schema {}", error.where, named.name);
      return std::unexpected(std::move(error));
    }
    found.emplace(named.name, *rule);
  }
  return found;
}

}  // namespace

namespace grammar {

CompiledGrammar::CompiledGrammar(Automaton automaton, std::shared_ptr<const TokenTable> vocabulary)
    : automaton_(std::move(automaton)),
      vocabulary_(std::move(vocabulary)),
      masks_(automaton_, *vocabulary_, kMaxMaskBytes) {}

}  // namespace grammar

std::shared_ptr<const GrammarVocabulary> GrammarVocabulary::create(const Tokenizer& tokenizer, size_t size,
                                                                   std::span<const TokenId> end_tokens) {
  KVERN_CHECK(size >= tokenizer.vocab_size());
  std::vector<std::string> bytes(size);
  Vocabulary names;
  for (size_t i = 0; i < tokenizer.vocab_size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (is_text(tokenizer, id)) bytes[i] = tokenizer.token_bytes(id);
    names.add(tokenizer.token_text(id), id);
  }
  return std::make_shared<const grammar::TokenTable>(
      std::move(bytes), std::move(names), std::vector<TokenId>(end_tokens.begin(), end_tokens.end()));
}

Result<std::shared_ptr<const Grammar>> Grammar::from_gbnf(std::string_view text,
                                                          std::shared_ptr<const GrammarVocabulary> vocabulary,
                                                          std::span<const NamedSchema> schemas) {
  Rules rules;
  KVERN_TRY(const auto schema_rules, add_schemas(schemas, rules));
  const auto table = grammar::token_table(vocabulary);
  grammar::GbnfNames names;
  names.rule = [&](std::string_view name) -> std::optional<grammar::RuleId> {
    const auto found = schema_rules.find(name);
    if (found == schema_rules.end()) return std::nullopt;
    return found->second;
  };
  names.token = [&](std::string_view spelling) { return table->id_of(spelling); };
  names.ends = [&](TokenId token) { return table->is_end(token); };
  names.tokens = table->size();
  KVERN_TRY(const grammar::RuleId root, grammar::parse_gbnf(text, names, rules));
  return compile(rules, root, std::move(vocabulary));
}

Result<std::shared_ptr<const Grammar>> Grammar::from_json_schema(
    const json::value& schema, std::shared_ptr<const GrammarVocabulary> vocabulary) {
  Rules rules;
  KVERN_TRY(const grammar::RuleId root, grammar::add_schema(schema, "root", rules));
  return compile(rules, root, std::move(vocabulary));
}

Result<std::shared_ptr<const Grammar>> Grammar::any_json_object(
    std::shared_ptr<const GrammarVocabulary> vocabulary) {
  return from_json_schema(json::object{{"type", "object"}}, std::move(vocabulary));
}

Result<std::shared_ptr<const Grammar>> Grammar::from_structure(
    const Structure& structure, std::shared_ptr<const GrammarVocabulary> vocabulary) {
  Rules rules;
  const auto table = grammar::token_table(vocabulary);
  const auto token = [&](std::string_view spelling) -> std::optional<TokenId> {
    const auto id = table->id_of(spelling);
    // A token that is text is spelled by its bytes anyway.
    if (!id || !table->bytes_of(*id).empty() || table->is_end(*id)) return std::nullopt;
    return id;
  };
  KVERN_TRY(const grammar::RuleId root, grammar::add_structure(structure, token, rules));
  return compile(rules, root, std::move(vocabulary));
}

}  // namespace kvern::text
