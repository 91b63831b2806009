// Reads the tokens of a vocabulary from one state of an automaton on.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "text/grammar/automaton.h"
#include "text/grammar/simple_steps.h"
#include "text/grammar/stacks.h"
#include "text/grammar/stepper.h"
#include "text/grammar/token_masks.h"
#include "text/grammar/token_trie.h"

namespace kvern::text::grammar {

/// Collects which tokens may come at a state, and which are open. The time is bounded: in a hopelessly
/// ambiguous grammar, tokens that were not looked at are left out, but never those of one byte. One thread.
class TokenWalk {
 public:
  /// `vocabulary` is the length of a mask.
  TokenWalk(const Automaton& automaton, StateId from, size_t vocabulary);
  TokenWalk(const TokenWalk&) = delete;
  TokenWalk& operator=(const TokenWalk&) = delete;

  /// All tokens. The trie outlives the mask.
  void read(const TokenTrie& trie);
  /// Those of a subtree, whose first byte to be read is that of its node.
  void read(const OpenSubtree& subtree);
  /// Tokens that have only this left to be read.
  void read(std::string_view suffix, std::span<const TokenId> tokens);

  StateMask take();

 private:
  using Known = const SimpleSteps::Known*;

  void begin(const TokenTrie& trie, uint32_t depth);
  size_t visit(size_t index);
  void visit_single_bytes(size_t from);
  bool step(const TokenTrie::Node& node);
  bool may_end_behind(const TokenTrie::Node& node) const;
  void allow(TokenId token) {
    bits_[static_cast<size_t>(token) / 64] |= uint64_t{1} << (static_cast<size_t>(token) % 64);
  }
  void allow(const TokenTrie::Node& node, uint32_t end) {
    for (uint32_t t = node.first_token; t < end; ++t) allow(trie_->tokens()[t].id);
  }
  void leave_open(const TokenTrie::Node& node) {
    if (!follow_[node.byte]) return;
    open_.push_back({.trie = trie_, .node = static_cast<uint32_t>(&node - trie_->nodes().data())});
  }
  bool is_allowed(TokenId token) const {
    return (bits_[static_cast<size_t>(token) / 64] >> (static_cast<size_t>(token) % 64) & 1U) != 0;
  }
  void take_allowed(StateMask& mask);
  void take_open(StateMask& mask);

  const StateId from_;
  /// Open are only tokens whose next byte can follow the rule at all.
  const ByteSet& follow_;
  Stacks stacks_;
  Stepper stepper_;
  SimpleSteps simple_;
  const TokenTrie* trie_ = nullptr;
  /// Behind the bytes of the nodes on the path to the present one: a state, or not_simple() and positions.
  std::vector<Known> known_;
  std::vector<std::vector<Position>> positions_;
  std::vector<uint64_t> bits_;
  /// Before these nodes' bytes the rule may have ended.
  std::vector<OpenSubtree> open_;
  /// What is left of tokens, beside the subtrees.
  std::vector<std::pair<std::string_view, TokenId>> open_suffixes_;
};

}  // namespace kvern::text::grammar
