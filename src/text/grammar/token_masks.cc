#include "text/grammar/token_masks.h"

#include <algorithm>

namespace kvern::text::grammar {
namespace {

/// States looked at for one mask; about a second.
constexpr uint64_t kMaxWork = 50'000'000;
/// Where fewer than one of so many tokens may come, ids take less memory than bits.
constexpr size_t kSparseness = 32;

struct Open {
  std::string_view suffix;
  TokenId token = 0;
};

/// Groups by suffix.
void set_open(std::vector<Open> open, StateMask& mask) {
  std::ranges::sort(open, [](const Open& a, const Open& b) {
    return a.suffix != b.suffix ? a.suffix < b.suffix : a.token < b.token;
  });
  for (size_t i = 0; i < open.size(); ++i) {
    const bool is_new = mask.open.empty() || mask.open.back().suffix != open[i].suffix;
    if (is_new)
      mask.open.push_back(
          {.suffix = open[i].suffix, .begin = static_cast<uint32_t>(mask.open_tokens.size())});
    else if (mask.open_tokens.back() == open[i].token)
      continue;
    mask.open_tokens.push_back(open[i].token);
    ++mask.open.back().count;
  }
}

class Walk {
 public:
  Walk(const Automaton& automaton, StateId state, const TokenTrie& trie, size_t vocabulary)
      : trie_(trie),
        follow_(automaton.rules[automaton.states[state].rule].follow),
        stepper_(automaton, stacks_),
        levels_(trie.max_depth() + 1),
        bits_((vocabulary + 63) / 64, 0) {
    levels_[0].push_back(stepper_.at(state, kBottom));
  }

  StateMask run() {
    const auto nodes = trie_.nodes();
    size_t i = 0;
    while (i < nodes.size() && stepper_.work() < kMaxWork) i = visit(i);
    if (i < nodes.size()) finish_single_bytes(i);
    return result();
  }

 private:
  /// The next node to visit: the first child, or what comes behind the subtree.
  size_t visit(size_t index) {
    const TokenTrie::Node& node = trie_.nodes()[index];
    std::vector<Position>& behind = levels_[node.depth + 1U];
    if (stepper_.step(levels_[node.depth], node.byte, behind) && follow_[node.byte])
      open_ranges_.push_back(index);
    if (behind.empty()) return node.end;
    if (node.own > 0 && std::ranges::any_of(behind, [&](const Position& p) { return stepper_.is_live(p); }))
      for (uint32_t t = 0; t < node.own; ++t) allow(trie_.tokens()[node.first_token + t].id);
    return index + 1;
  }

  void finish_single_bytes(size_t from) {
    for (size_t i = from; i < trie_.nodes().size(); i = trie_.nodes()[i].end)
      if (trie_.nodes()[i].depth == 0) visit(i);
  }

  void allow(TokenId token) {
    bits_[static_cast<size_t>(token) / 64] |= uint64_t{1} << (static_cast<size_t>(token) % 64);
    allowed_.push_back(token);
  }
  bool is_allowed(TokenId token) const {
    return (bits_[static_cast<size_t>(token) / 64] >> (static_cast<size_t>(token) % 64) & 1U) != 0;
  }

  StateMask result() {
    StateMask mask;
    std::vector<Open> open;
    for (const size_t index : open_ranges_) {
      const TokenTrie::Node& node = trie_.nodes()[index];
      for (uint32_t t = node.first_token; t < trie_.tokens_end(node); ++t) {
        const TokenTrie::Token& token = trie_.tokens()[t];
        if (!is_allowed(token.id)) open.push_back({token.bytes.substr(node.depth), token.id});
      }
    }
    set_open(std::move(open), mask);
    if (allowed_.size() * kSparseness > bits_.size() * 64)
      mask.dense = std::move(bits_);
    else
      mask.sparse = std::move(allowed_);
    return mask;
  }

  const TokenTrie& trie_;
  const ByteSet& follow_;
  Stacks stacks_;
  Stepper stepper_;
  /// The positions behind the bytes of the nodes on the path to the present one.
  std::vector<std::vector<Position>> levels_;
  std::vector<uint64_t> bits_;
  std::vector<TokenId> allowed_;
  /// Nodes before whose byte the rule may have ended.
  std::vector<size_t> open_ranges_;
};

}  // namespace

size_t StateMask::memory_bytes() const {
  return sizeof(*this) + dense.capacity() * sizeof(uint64_t) + sparse.capacity() * sizeof(TokenId) +
         open.capacity() * sizeof(OpenTokens) + open_tokens.capacity() * sizeof(TokenId);
}

StateMask mask_of_state(const Automaton& automaton, StateId state, const TokenTrie& trie, size_t vocabulary) {
  return Walk(automaton, state, trie, vocabulary).run();
}

StateMask mask_of_suffixes(const Automaton& automaton, StateId state, const StateMask& open) {
  const ByteSet& follow = automaton.rules[automaton.states[state].rule].follow;
  Stacks stacks;
  Stepper stepper(automaton, stacks);
  StateMask mask;
  std::vector<Open> still_open;
  std::vector<Position> positions;
  std::vector<Position> behind;
  for (const OpenTokens& group : open.open) {
    const auto tokens = std::span(open.open_tokens).subspan(group.begin, group.count);
    positions.assign(1, stepper.at(state, kBottom));
    std::vector<size_t> open_at;
    for (size_t i = 0; i < group.suffix.size() && !positions.empty(); ++i) {
      const auto byte = static_cast<uint8_t>(group.suffix[i]);
      if (stepper.step(positions, byte, behind) && follow[byte]) open_at.push_back(i);
      std::swap(positions, behind);
    }
    if (std::ranges::any_of(positions, [&](const Position& p) { return stepper.is_live(p); })) {
      mask.sparse.insert(mask.sparse.end(), tokens.begin(), tokens.end());
      continue;
    }
    for (const size_t i : open_at)
      for (const TokenId token : tokens) still_open.push_back({group.suffix.substr(i), token});
  }
  set_open(std::move(still_open), mask);
  return mask;
}

}  // namespace kvern::text::grammar
