#include "text/trie.h"

namespace kvern::text {

Trie::Trie() : edges_(16), values_(1, -1) {}

void Trie::insert(std::string_view text, int32_t value) {
  if (text.empty()) return;
  uint32_t node = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    uint32_t next = child(node, byte);
    if (next == 0) {
      next = nodes_++;
      values_.push_back(-1);
      add_edge(node, byte, next);
    }
    node = next;
  }
  if (values_[node] < 0) values_[node] = value;
}

std::optional<Trie::Match> Trie::longest(std::string_view text, size_t at) const {
  std::optional<Match> best;
  for_each_prefix(text, at, [&](Match match) { best = match; });
  return best;
}

void Trie::add_edge(uint32_t node, uint8_t byte, uint32_t child) {
  if (node == 0) {
    first_[byte] = child;
    return;
  }
  const auto place = [this](Edge edge) {
    size_t slot = slot_of(edge.key);
    while (edges_[slot].key != 0) slot = (slot + 1) & (edges_.size() - 1);
    edges_[slot] = edge;
  };
  if (size_t{nodes_} * 2 > edges_.size()) {
    const std::vector<Edge> old = std::move(edges_);
    edges_.assign(old.size() * 2, Edge{});
    for (const Edge& edge : old)
      if (edge.key != 0) place(edge);
  }
  place({.key = ((uint64_t{node} << 8) | byte) + 1, .child = child});
}

}  // namespace kvern::text
