// A trie over bytes: which of a set of strings begin at a place in a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kvern::text {

/// Strings with a value >= 0 each. Filled by one thread, then immutable and thread-safe. Lookups take time
/// linear in the longest string.
class Trie {
 public:
  struct Match {
    size_t length = 0;
    int32_t value = 0;
  };

  Trie();
  /// The first value of an equal string is kept. Empty strings are not stored.
  void insert(std::string_view text, int32_t value);
  bool empty() const { return nodes_ == 1; }

  /// Calls `found(Match)` for each stored string that begins at text[at], shorter ones first.
  template <typename Found>
  void for_each_prefix(std::string_view text, size_t at, Found found) const {
    uint32_t node = 0;
    for (size_t i = at; i < text.size(); ++i) {
      node = child(node, static_cast<uint8_t>(text[i]));
      if (node == 0) return;
      if (values_[node] >= 0) found(Match{.length = i + 1 - at, .value = values_[node]});
    }
  }

  /// The longest stored string that begins at text[at].
  std::optional<Match> longest(std::string_view text, size_t at) const;

 private:
  struct Edge {
    uint64_t key = 0;  ///< Node and byte, plus one; 0 is a free slot.
    uint32_t child = 0;
  };

  /// 0 (the root, nobody's child) when there is none.
  uint32_t child(uint32_t node, uint8_t byte) const {
    if (node == 0) return first_[byte];
    const uint64_t key = ((uint64_t{node} << 8) | byte) + 1;
    for (size_t slot = slot_of(key);; slot = (slot + 1) & (edges_.size() - 1)) {
      if (edges_[slot].key == key) return edges_[slot].child;
      if (edges_[slot].key == 0) return 0;
    }
  }
  size_t slot_of(uint64_t key) const { return (key * 0x9E3779B97F4A7C15u >> 20) & (edges_.size() - 1); }
  void add_edge(uint32_t node, uint8_t byte, uint32_t child);

  uint32_t first_[256] = {};     ///< Children of the root.
  std::vector<Edge> edges_;      ///< The other edges: open addressing, power of two.
  std::vector<int32_t> values_;  ///< By node; -1 where no string ends.
  uint32_t nodes_ = 1;
};

}  // namespace kvern::text
