#include "text/grammar/token_trie.h"

#include <algorithm>

namespace kvern::text::grammar {

TokenTrie::TokenTrie(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
  std::ranges::sort(tokens_, [](const Token& a, const Token& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.id < b.id;
  });
  std::vector<uint32_t> path;  // the open nodes
  std::string_view previous;
  for (uint32_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view bytes = tokens_[i].bytes;
    const size_t shared = static_cast<size_t>(std::ranges::mismatch(previous, bytes).in1 - previous.begin());
    for (; path.size() > shared; path.pop_back())
      nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
    for (size_t depth = shared; depth < bytes.size(); ++depth) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({.first_token = i,
                        .depth = static_cast<uint16_t>(depth),
                        .byte = static_cast<uint8_t>(bytes[depth])});
    }
    ++nodes_[path.back()].own;
    max_depth_ = std::max(max_depth_, static_cast<uint32_t>(bytes.size()));
    previous = bytes;
  }
  for (const uint32_t node : path) nodes_[node].end = static_cast<uint32_t>(nodes_.size());
}

}  // namespace kvern::text::grammar
