// Grammars that generated text must follow, compiled once for a vocabulary and shared by any number of rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/grammar/structure.h"
#include "text/grammar/token_mask.h"
#include "text/token.h"
#include "text/tokenizer.h"

namespace kvern::text {

/// The bytes of all tokens of a model in an order that makes masks cheap. Made once for a model; immutable,
/// thread-safe.
class GrammarVocabulary {
 public:
  /// `size`: the length of a logit row, at least the tokenizer's vocab_size(). `end_tokens` end a generation.
  static std::shared_ptr<const GrammarVocabulary> create(const Tokenizer& tokenizer, size_t size,
                                                         std::span<const TokenId> end_tokens);
  virtual ~GrammarVocabulary() = default;
  virtual size_t size() const = 0;
};

/// A compiled grammar. Immutable, thread-safe; one for each schema or text is made and kept (GrammarCache).
class Grammar {
 public:
  /// GBNF as llama.cpp's grammars/README.md describes it, start rule "root". Errors (kInvalidArgument): line,
  /// column, rule and what was expected; limits on size and depth. The text may call each of `schemas` by its
  /// name like a rule; errors in one of them name it.
  static Result<std::shared_ptr<const Grammar>> from_gbnf(std::string_view text,
                                                          std::shared_ptr<const GrammarVocabulary> vocabulary,
                                                          std::span<const NamedSchema> schemas = {});
  /// JSON values that are valid under a JSON Schema (the keywords that docs/structured-output.md lists); an
  /// unsupported or contradictory keyword is an error that names its place as a JSON pointer.
  static Result<std::shared_ptr<const Grammar>> from_json_schema(
      const json::value& schema, std::shared_ptr<const GrammarVocabulary> vocabulary);
  /// Any JSON object: OpenAI's response_format {"type": "json_object"}.
  static Result<std::shared_ptr<const Grammar>> any_json_object(
      std::shared_ptr<const GrammarVocabulary> vocabulary);
  /// Free text with parts of a fixed form in it, as tool calls are written. Errors as from_json_schema(), and
  /// for a structure that says nothing.
  static Result<std::shared_ptr<const Grammar>> from_structure(
      const Structure& structure, std::shared_ptr<const GrammarVocabulary> vocabulary);
  virtual ~Grammar() = default;
  virtual const GrammarVocabulary& vocabulary() const = 0;
  /// What it takes now; masks that were computed once are kept, up to a limit of 64 MiB for each grammar.
  virtual size_t memory_bytes() const = 0;
};

/// Where one row is in its grammar. A value: copies are independent. One thread.
class GrammarState {
 public:
  explicit GrammarState(std::shared_ptr<const Grammar> grammar);
  GrammarState(const GrammarState& other);
  GrammarState& operator=(const GrammarState& other);
  GrammarState(GrammarState&&) noexcept;
  GrammarState& operator=(GrammarState&&) noexcept;
  ~GrammarState();

  /// The tokens whose bytes may follow; end tokens exactly when the text may end here. Never all zero.
  void fill_mask(TokenMask& mask) const;
  /// Takes the sampled token. False, and no change, when the mask did not have it.
  bool accept(TokenId token);
  /// The text is complete and nothing but an end token may follow.
  bool finished() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvern::text
