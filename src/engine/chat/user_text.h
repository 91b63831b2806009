// Keeps what users write apart from what a chat template writes, so that a message cannot forge a turn
// marker.
//
// Before rendering, every literal of a special token inside a message is replaced by a marker that no
// tokenizer knows; after rendering, the literals are put back and their places are known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"
#include "text/trie.h"

namespace kvern::engine {

/// A rendered conversation and the stretches of it in which literals of special tokens are ordinary text.
struct MarkedText {
  std::string text;
  std::vector<text::Range> plain;
};

/// Immutable after construction.
class UserText {
 public:
  explicit UserText(const text::Tokenizer& tokenizer);
  /// `content` with its special literals (and the marker's own characters) replaced; always UTF-8.
  std::string protect(std::string_view content) const;
  /// The inverse on a rendered text that contains protected ones.
  MarkedText restore(std::string_view rendered) const;
  /// A character that no protected text contains.
  static std::string_view end_mark();

 private:
  std::vector<std::string> literals_;
  text::Trie places_;  // literal -> its place in literals_
};

}  // namespace kvern::engine
