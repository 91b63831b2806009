// The masks of a grammar, made when they are first needed and kept: by state, and by as much of the stack as
// they depend on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "text/grammar/automaton.h"
#include "text/grammar/grammar.h"
#include "text/grammar/stacks.h"
#include "text/grammar/stepper.h"
#include "text/grammar/token_masks.h"

namespace kvern::text::grammar {

class TokenTable;

/// What is known of the tokens at a state when so much of the stack is known as the path to the node says.
/// The tokens that may come are those of all nodes on the path.
struct MaskNode {
  /// Shared with other grammars; null but at a state without a stack.
  std::shared_ptr<const StateMask> common;
  /// No other grammar had it before.
  bool pays_for_common = false;
  StateMask own;
  /// A token that the grammar names by its id may come behind the end of the rule.
  bool ids_open = false;

  struct Child {
    StateId return_to = 0;
    std::unique_ptr<MaskNode> node;
    Child* next = nullptr;
  };
  mutable std::atomic<Child*> children{nullptr};

  MaskNode() = default;
  MaskNode(const MaskNode&) = delete;
  MaskNode& operator=(const MaskNode&) = delete;
  ~MaskNode();
  /// The stack decides more.
  bool is_open() const { return ids_open || own.is_open(); }
  size_t memory_bytes() const;
};

/// Borrows automaton and vocabulary. Thread-safe without locks: two threads may make the same node, and one
/// of the two is kept.
class MaskCache {
 public:
  /// `max_bytes`: nodes beyond are made anew each time.
  MaskCache(const Automaton& automaton, const TokenTable& vocabulary, size_t max_bytes);
  ~MaskCache();
  MaskCache(const MaskCache&) = delete;
  MaskCache& operator=(const MaskCache&) = delete;

  /// Adds the tokens that may come at `position`.
  void add_tokens(Position position, const Stacks& stacks, TokenMask& mask) const;
  size_t memory_bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  /// A node of the cache, or one that lives in `holder` only.
  const MaskNode& root(StateId state, std::unique_ptr<MaskNode>& holder) const;
  const MaskNode& child(const MaskNode& parent, StateId return_to, std::unique_ptr<MaskNode>& holder) const;
  std::unique_ptr<MaskNode> make_root(StateId state) const;
  std::unique_ptr<MaskNode> make_child(const MaskNode& parent, StateId return_to) const;
  void add_ids(StateId state, MaskNode& node) const;
  bool reserve(const MaskNode& node) const;

  const Automaton& automaton_;
  const TokenTable& vocabulary_;
  const size_t max_bytes_;
  const std::vector<StateId> classes_;  ///< For each state the one whose masks are its own, too.
  mutable std::vector<std::atomic<MaskNode*>> roots_;
  mutable std::atomic<size_t> bytes_{0};
};

}  // namespace kvern::text::grammar
