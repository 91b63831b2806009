// Token sequences by their beginnings: a radix tree. Pure data; of rows it knows how far each can be cut.
//
// Each node is a stretch of tokens that all sequences below it have in common; a sequence ends where its node
// ends. A node without sequences of its own has at least two children, so there are fewer than twice as many
// nodes as sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace kvern::engine {

/// One thread.
class PrefixTree {
 public:
  using Id = uint64_t;

  PrefixTree();
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  /// Adds a sequence under a new id. It can be cut to its own length, and to any from `minimum` on. Several
  /// may have the same tokens.
  void insert(Id id, std::span<const int32_t> tokens, int64_t minimum);
  /// Tokens that follow those of a sequence, and its new minimum. Takes time for `more` only.
  void extend(Id id, std::span<const int32_t> more, int64_t minimum);
  void erase(Id id);

  struct Match {
    Id id = 0;           ///< of a sequence that gives `tokens`; means nothing when there are none
    int64_t tokens = 0;  ///< the longest beginning, at most the limit, that a sequence can be cut to
    int64_t common = 0;  ///< the longest beginning that any sequence has; at most the prompt's length
    /// Where the prompt and the sequences nearest to it go on differently; 0 when it is equal to one, or
    /// begins or continues one.
    int64_t parting = 0;
  };
  /// Of sequences that give the same number of tokens, one that ends there is preferred.
  Match find(std::span<const int32_t> prompt, int64_t limit = std::numeric_limits<int64_t>::max()) const;

  /// The sequences that are beginnings of this one and shorter, the longest first.
  std::vector<Id> beginnings(Id id) const;
  int64_t length(Id id) const;
  int64_t minimum(Id id) const;
  std::vector<int32_t> tokens(Id id) const;
  size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }

 private:
  // As it is made, none: it can be cut to nothing.
  struct Sequence {
    int64_t minimum = std::numeric_limits<int64_t>::max();
    Id id = 0;
    auto operator<=>(const Sequence&) const = default;
  };

  struct Node {
    std::vector<int32_t> tokens;  // of this stretch; only the root has none
    int64_t end = 0;              // tokens from the root to the end of this node
    Node* parent = nullptr;
    std::map<int32_t, std::unique_ptr<Node>> children;  // by their first token
    std::vector<Sequence> own;                          // that end here
    Sequence lowest;                                    // of the least minimum in this subtree
  };

  void add(Node* node, std::span<const int32_t> tokens, const Sequence& sequence);
  Node* add_child(Node* node, std::span<const int32_t> tokens);
  Node* split(Node* node, size_t at);
  void take_out(Node* node, Id id);
  void tidy(Node* node);
  void join_only_child(Node* node);
  static Sequence lowest_of(const Node& node);
  static void update_lowest(Node* node);

  std::unique_ptr<Node> root_;
  std::unordered_map<Id, Node*> places_;
};

}  // namespace kvern::engine
