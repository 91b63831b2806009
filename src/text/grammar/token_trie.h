// Tokens by their bytes, so that what a common beginning decides is decided once.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/token.h"

namespace kvern::text::grammar {

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
  /// By their bytes, rising.
  std::span<const Token> tokens() const { return tokens_; }
  /// Of the subtree of a node: index of the first token behind it.
  uint32_t tokens_end(const Node& node) const {
    return node.end == nodes_.size() ? static_cast<uint32_t>(tokens_.size()) : nodes_[node.end].first_token;
  }
  uint32_t max_depth() const { return max_depth_; }

 private:
  std::vector<Token> tokens_;
  std::vector<Node> nodes_;
  uint32_t max_depth_ = 0;
};

}  // namespace kvern::text::grammar
