#include "text/grammar/token_walk.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace kvern::text::grammar {
namespace {

/// States looked at for one mask: some twenty times what a vocabulary of 150,000 takes where a text can be
/// read in one way, and less than a tenth of a second, for which all requests wait.
constexpr uint64_t kMaxWork = 4'000'000;
/// Where fewer than one of so many tokens may come, ids take less memory than bits.
constexpr size_t kSparseness = 32;
/// Of a subtree with more tokens the tokens are not listed.
constexpr size_t kManyTokens = 64;

}  // namespace

TokenWalk::TokenWalk(const Automaton& automaton, StateId from, size_t vocabulary)
    : from_(from),
      follow_(automaton.rules[automaton.states[from].rule].follow),
      stepper_(automaton, stacks_),
      simple_(automaton, stepper_),
      bits_((vocabulary + 63) / 64, 0) {}

void TokenWalk::begin(const TokenTrie& trie, uint32_t depth) {
  trie_ = &trie;
  const size_t levels = size_t{trie.max_depth()} + 1;
  if (known_.size() < levels) {
    known_.resize(levels, simple_.not_simple());
    positions_.resize(levels);
  }
  const Position first = stepper_.at(from_, kBottom);
  known_[depth] = simple_.know(first.state);
  positions_[depth].assign(1, first);
}

void TokenWalk::read(const TokenTrie& trie) {
  begin(trie, 0);
  const size_t end = trie.nodes().size();
  size_t i = 0;
  while (i < end && stepper_.work() < kMaxWork) i = visit(i);
  if (i < end) visit_single_bytes(i);
}

void TokenWalk::read(const OpenSubtree& subtree) {
  const TokenTrie::Node& top = subtree.trie->nodes()[subtree.node];
  begin(*subtree.trie, top.depth);
  size_t i = subtree.node;
  while (i < top.end && stepper_.work() < kMaxWork) i = visit(i);
}

void TokenWalk::visit_single_bytes(size_t from) {
  for (size_t i = from; i < trie_->nodes().size(); i = trie_->nodes()[i].end)
    if (trie_->nodes()[i].depth == 0) visit(i);
}

/// The next node to visit: the first child, or what comes behind the subtree.
size_t TokenWalk::visit(size_t index) {
  const TokenTrie::Node& node = trie_->nodes()[index];
  if (!step(node)) return node.end;
  const Known known = known_[node.depth + 1U];
  if (known->plain != 0) {
    // In a text that may be nearly anything, whole subtrees are allowed.
    const TokenTrie::Below& below = trie_->below(index);
    if (simple_.reads(known, below.kinds, below.height)) {
      allow(node, trie_->tokens_end(node));
      return node.end;
    }
  }
  if (node.own > 0 && may_end_behind(node)) allow(node, node.first_token + node.own);
  return index + 1;
}

/// False when nothing takes the byte of the node.
bool TokenWalk::step(const TokenTrie::Node& node) {
  const size_t depth = node.depth;
  const Known from = known_[depth];
  if (from != simple_.not_simple()) {
    const Known next = simple_.step(from, node.byte);
    known_[depth + 1] = next;
    if (next != simple_.not_simple()) return next != simple_.nowhere();
    positions_[depth].assign(1, {.state = from->id, .stack = kBottom});
  }
  std::vector<Position>& behind = positions_[depth + 1];
  if (stepper_.step(positions_[depth], node.byte, behind)) leave_open(node);
  const bool is_single = behind.size() == 1 && behind.front().stack == kBottom;
  known_[depth + 1] = is_single ? simple_.know(behind.front().state) : simple_.not_simple();
  return !behind.empty();
}

bool TokenWalk::may_end_behind(const TokenTrie::Node& node) const {
  const Known known = known_[node.depth + 1U];
  if (known != simple_.not_simple()) return known->live;
  return std::ranges::any_of(positions_[node.depth + 1U],
                             [&](const Position& p) { return stepper_.is_live(p); });
}

void TokenWalk::read(std::string_view suffix, std::span<const TokenId> tokens) {
  std::vector<Position> positions{stepper_.at(from_, kBottom)};
  std::vector<Position> behind;
  std::vector<size_t> open_at;
  for (size_t i = 0; i < suffix.size() && !positions.empty(); ++i) {
    const auto byte = static_cast<uint8_t>(suffix[i]);
    if (stepper_.step(positions, byte, behind) && follow_[byte]) open_at.push_back(i);
    std::swap(positions, behind);
  }
  if (std::ranges::any_of(positions, [&](const Position& p) { return stepper_.is_live(p); })) {
    for (const TokenId token : tokens) allow(token);
    return;
  }
  for (const size_t i : open_at)
    for (const TokenId token : tokens) open_suffixes_.emplace_back(suffix.substr(i), token);
}

StateMask TokenWalk::take() {
  StateMask mask;
  take_open(mask);
  take_allowed(mask);
  return mask;
}

void TokenWalk::take_allowed(StateMask& mask) {
  size_t count = 0;
  for (const uint64_t word : bits_) count += static_cast<size_t>(std::popcount(word));
  if (count * kSparseness > bits_.size() * 64) {
    mask.dense = std::move(bits_);
    return;
  }
  mask.sparse.reserve(count);
  for (size_t word = 0; word < bits_.size(); ++word)
    for (uint64_t bits = bits_[word]; bits != 0; bits &= bits - 1)
      mask.sparse.push_back(static_cast<TokenId>(word * 64 + static_cast<size_t>(std::countr_zero(bits))));
}

/// Large subtrees stay as they are; of small ones the tokens are grouped by what is left of them.
void TokenWalk::take_open(StateMask& mask) {
  for (const OpenSubtree& subtree : open_) {
    const TokenTrie& trie = *subtree.trie;
    const TokenTrie::Node& node = trie.nodes()[subtree.node];
    const uint32_t end = trie.tokens_end(node);
    if (end - node.first_token > kManyTokens) {
      const auto tokens = trie.tokens().subspan(node.first_token, end - node.first_token);
      if (!std::ranges::all_of(tokens, [&](const auto& token) { return is_allowed(token.id); }))
        mask.open_subtrees.push_back(subtree);
      continue;
    }
    for (uint32_t t = node.first_token; t < end; ++t) {
      const TokenTrie::Token& token = trie.tokens()[t];
      open_suffixes_.emplace_back(token.bytes.substr(node.depth), token.id);
    }
  }
  std::erase_if(open_suffixes_, [&](const auto& open) { return is_allowed(open.second); });
  std::unordered_map<std::string_view, uint32_t> group_of;
  for (const auto& [suffix, token] : open_suffixes_) {
    const auto [entry, is_new] = group_of.try_emplace(suffix, static_cast<uint32_t>(mask.open.size()));
    if (is_new) mask.open.push_back({.suffix = suffix});
    ++mask.open[entry->second].count;
  }
  uint32_t begin = 0;
  for (OpenTokens& group : mask.open) {
    group.begin = begin;
    begin += std::exchange(group.count, 0);
  }
  mask.open_tokens.resize(begin);
  for (const auto& [suffix, token] : open_suffixes_) {
    OpenTokens& group = mask.open[group_of.at(suffix)];
    mask.open_tokens[group.begin + group.count++] = token;
  }
}

}  // namespace kvern::text::grammar
