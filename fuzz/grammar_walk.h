// Follows a grammar with bytes as they come: mask and accept must agree, and some token must be allowed.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/grammar.h"
#include "text/grammar/token_table.h"

namespace kvern::fuzz {

/// Token 0 ends a text, 1 to 256 are bytes, then some of several bytes.
inline std::shared_ptr<const text::GrammarVocabulary> small_vocabulary() {
  std::vector<std::string> bytes{""};
  for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
  for (const char* piece :
       {"\"}", "\": ", "\",", "{\"", "]]", "}}", "\\u00", "null", "  ", "ab", "aaaaaaaaaaaaaaaaaaaa"})
    bytes.emplace_back(piece);
  return std::make_shared<const text::grammar::TokenTable>(std::move(bytes), text::Vocabulary{},
                                                           std::vector<text::TokenId>{0});
}

/// Each byte of `choices` takes one of the tokens that are allowed.
inline void follow(const std::shared_ptr<const text::Grammar>& grammar, std::string_view choices) {
  text::GrammarState state(grammar);
  text::TokenMask mask;
  for (const char choice : choices.substr(0, 64)) {
    state.fill_mask(mask);
    std::vector<text::TokenId> allowed;
    for (size_t id = 0; id < grammar->vocabulary().size(); ++id)
      if (text::allows(mask, static_cast<text::TokenId>(id)))
        allowed.push_back(static_cast<text::TokenId>(id));
    if (allowed.empty()) __builtin_trap();
    if (!state.accept(allowed[static_cast<uint8_t>(choice) % allowed.size()])) __builtin_trap();
  }
}

}  // namespace kvern::fuzz
