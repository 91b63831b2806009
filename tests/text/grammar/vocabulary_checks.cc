#include "text/grammar/vocabulary_checks.h"

#include <gtest/gtest.h>

#include "support/result_matchers.h"
#include "text/grammar/grammar_support.h"
#include "text/grammar/schema_cases.h"
#include "text/grammar/schema_oracle.h"

namespace kvern::test {
namespace {

constexpr uint32_t kSeeds = 6;

void walk(const std::shared_ptr<const Grammar>& grammar, const json::value& schema,
          const text::Tokenizer& tokenizer) {
  const auto bytes_of = [&](TokenId id) { return tokenizer.token_bytes(id); };
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const auto walked = random_walk(grammar, {.seed = seed, .max_tokens = 100, .hurry_after = 20}, bytes_of,
                                    tokenizer.end_of_generation());
    if (!walked) continue;
    boost::system::error_code failure;
    const json::value value = json::parse(*walked, failure);
    ASSERT_FALSE(failure) << *walked << ": " << failure.message();
    EXPECT_TRUE(is_valid(value, schema, schema)) << *walked;
  }
}

/// The tokens of a document in the middle of a text; empty where a token spans its beginning.
std::vector<TokenId> tokens_of(const text::Tokenizer& tokenizer, const std::string& document) {
  std::vector<TokenId> ids = tokenizer.encode("\n" + document, {.add_special = false});
  size_t bytes = 0;
  size_t first = ids.size();
  while (first > 0 && bytes < document.size()) bytes += tokenizer.token_bytes(ids[--first]).size();
  ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(first));
  return bytes == document.size() ? ids : std::vector<TokenId>{};
}

void follow(const std::shared_ptr<const Grammar>& grammar, const std::string& document,
            const std::vector<TokenId>& ids) {
  GrammarState state(grammar);
  TokenMask mask;
  for (const TokenId id : ids) {
    state.fill_mask(mask);
    ASSERT_TRUE(has(mask, id)) << "token " << id << " of " << document;
    ASSERT_TRUE(state.accept(id));
  }
  state.fill_mask(mask);
  const auto ends = static_cast<const text::grammar::TokenTable&>(grammar->vocabulary()).end_tokens();
  EXPECT_TRUE(std::ranges::all_of(ends, [&](TokenId end) { return has(mask, end); })) << document;
}

}  // namespace

void check_with_vocabulary(const text::Tokenizer& tokenizer) {
  const auto vocabulary =
      GrammarVocabulary::create(tokenizer, tokenizer.vocab_size() + 7, tokenizer.end_of_generation());
  size_t followed = 0;
  for (const auto& [name, text] : kSchemaCases) {
    SCOPED_TRACE(std::string(name));
    const json::value schema = json::parse(text);
    ASSERT_OK_AND_ASSIGN(const auto grammar, Grammar::from_json_schema(schema, vocabulary));
    walk(grammar, schema, tokenizer);
    for (uint32_t seed = 0; seed < kSeeds; ++seed) {
      const std::string document = to_text(DocumentMaker(schema, seed).make(), static_cast<Layout>(seed % 3));
      const std::vector<TokenId> ids = tokens_of(tokenizer, document);
      if (ids.empty()) continue;
      ++followed;
      follow(grammar, document, ids);
    }
  }
  EXPECT_GT(followed, kSchemaCases.size() * kSeeds / 2);
}

}  // namespace kvern::test
