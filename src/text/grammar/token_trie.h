// Tokens by their bytes, so that what a common beginning decides is decided once.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "text/grammar/automaton.h"
#include "text/token.h"

namespace kvern::text::grammar {

/// Sets of characters, coarse enough for a word: each sign of ASCII is a kind of its own, letters and digits
/// are a few kinds, all characters beyond ASCII are one, and so is what is no UTF-8.
using TextKinds = uint64_t;
inline constexpr TextKinds kCharacters = TextKinds{1} << 62;  ///< Beyond ASCII; the last may be cut off.
inline constexpr TextKinds kIllFormed = TextKinds{1} << 63;
/// Kinds of ASCII that have none of these bytes.
TextKinds kinds_without(const ByteSet& bytes);

/// How UTF-8 goes on behind the first bytes of characters beyond ASCII.
struct Utf8Beginning {
  std::pair<uint8_t, uint8_t> lead;
  std::pair<uint8_t, uint8_t> second;
  int more = 0;  ///< Bytes behind the second.
};
inline constexpr std::pair<uint8_t, uint8_t> kContinuation{0x80, 0xBF};
std::span<const Utf8Beginning> utf8_beginnings();

/// A trie in preorder: the subtree of node i is nodes [i, end). Immutable, thread-safe.
class TokenTrie {
 public:
  struct Token {
    std::string_view bytes;
    TokenId id = 0;
  };
  struct Node {
    uint32_t end = 0;
    /// Index into tokens() of the first token of the subtree; the first `own` end at this node itself.
    uint32_t first_token = 0;
    uint32_t own = 0;
    /// Bytes before this node's.
    uint16_t depth = 0;
    uint8_t byte = 0;
  };

  TokenTrie() = default;
  /// Borrows the bytes, none empty and none longer than 65,535, for its lifetime.
  explicit TokenTrie(std::vector<Token> tokens);

  std::span<const Node> nodes() const { return nodes_; }
  /// What stands below a node: read as a text that begins behind the node's byte.
  struct Below {
    TextKinds kinds = 0;
    uint32_t height = 0;  ///< Bytes of the longest.
  };
  const Below& below(size_t node) const { return below_[node]; }
  /// By their bytes, rising.
  std::span<const Token> tokens() const { return tokens_; }
  /// Of the subtree of a node: index of the first token behind it.
  uint32_t tokens_end(const Node& node) const {
    return node.end == nodes_.size() ? static_cast<uint32_t>(tokens_.size()) : nodes_[node.end].first_token;
  }
  uint32_t max_depth() const { return max_depth_; }

 private:
  void fill_below();
  TextKinds kinds_of_rest(size_t node, std::pair<uint8_t, uint8_t> bytes, int more) const;
  template <typename Each>
  void for_each_child(size_t node, const Each& each) const;

  std::vector<Token> tokens_;
  std::vector<Node> nodes_;
  std::vector<Below> below_;
  uint32_t max_depth_ = 0;
};

}  // namespace kvern::text::grammar
