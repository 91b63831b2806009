#include "text/grammar/mask_cache.h"

#include <algorithm>

#include "text/grammar/nfa.h"
#include "text/grammar/state_classes.h"
#include "text/grammar/token_table.h"

namespace kvern::text::grammar {
namespace {

void add(const StateMask& from, TokenMask& to) {
  for (size_t i = 0; i < from.dense.size(); ++i) to[i] |= from.dense[i];
  for (const TokenId token : from.sparse) {
    const auto id = static_cast<size_t>(token);
    to[id / 64] |= uint64_t{1} << (id % 64);
  }
}

/// Adds the open tokens of `more`, which are others.
void add_open(const StateMask& more, StateMask& mask) {
  for (OpenTokens group : more.open) {
    const auto tokens = std::span(more.open_tokens).subspan(group.begin, group.count);
    group.begin = static_cast<uint32_t>(mask.open_tokens.size());
    mask.open_tokens.insert(mask.open_tokens.end(), tokens.begin(), tokens.end());
    mask.open.push_back(group);
  }
  mask.open_subtrees.insert(mask.open_subtrees.end(), more.open_subtrees.begin(), more.open_subtrees.end());
}

/// All tokens that a state takes by their ids, by trying digit after digit.
class IdWalk {
 public:
  IdWalk(const Automaton& automaton, const TokenTable& vocabulary)
      : stepper_(automaton, stacks_), vocabulary_(vocabulary) {}

  void run(StateId state, MaskNode& node) {
    levels_[0].push_back(stepper_.at(state, kBottom));
    descend(0, 0, node);
  }

 private:
  void descend(uint32_t depth, uint32_t id, MaskNode& node) {
    for (uint32_t digit = 0; digit < 8; ++digit) {
      const uint32_t longer = id << 3 | digit;
      // The smallest id with these digits.
      if (uint64_t{longer} << (3 * (kTokenDigits - 1 - depth)) >= vocabulary_.size()) return;
      const auto byte = static_cast<uint8_t>(kTokenDigit + digit);
      if (stepper_.step(levels_[depth], byte, levels_[depth + 1]) && depth == 0) node.ids_open = true;
      if (levels_[depth + 1].empty()) continue;
      if (depth + 1 < kTokenDigits)
        descend(depth + 1, longer, node);
      else if (!vocabulary_.is_end(static_cast<TokenId>(longer)) && is_live())
        node.own.sparse.push_back(static_cast<TokenId>(longer));
    }
  }
  bool is_live() const {
    return std::ranges::any_of(levels_[kTokenDigits], [&](const Position& p) { return stepper_.is_live(p); });
  }

  Stacks stacks_;
  Stepper stepper_;
  const TokenTable& vocabulary_;
  std::array<std::vector<Position>, kTokenDigits + 1> levels_;
};

bool has_digits(const ByteSet& bytes) {
  for (uint32_t byte = kTokenDigit; byte < 256; ++byte)
    if (bytes[byte]) return true;
  return false;
}

}  // namespace

MaskNode::~MaskNode() {
  Child* child = children.load(std::memory_order_relaxed);
  while (child != nullptr) {
    Child* next = child->next;
    delete child;
    child = next;
  }
}

size_t MaskNode::memory_bytes() const {
  return sizeof(*this) + sizeof(Child) + own.memory_bytes() + (pays_for_common ? common->memory_bytes() : 0);
}

MaskCache::MaskCache(const Automaton& automaton, const TokenTable& vocabulary, size_t max_bytes)
    : automaton_(automaton),
      vocabulary_(vocabulary),
      max_bytes_(max_bytes),
      classes_(state_classes(automaton, vocabulary.longest_token())),
      roots_(automaton.states.size()) {}

MaskCache::~MaskCache() {
  for (auto& root : roots_) delete root.load(std::memory_order_relaxed);
}

void MaskCache::add_tokens(Position position, const Stacks& stacks, TokenMask& mask) const {
  if (position.state == kReturned) return;
  std::unique_ptr<MaskNode> holder;
  const MaskNode* node = &root(position.state, holder);
  if (node->common) add(*node->common, mask);
  add(node->own, mask);
  while (node->is_open() && position.stack != kBottom) {
    const Stacks::Entry& entry = stacks.at(position.stack);
    std::unique_ptr<MaskNode> made;
    // What hangs on a node that is not kept is not kept either.
    if (holder) made = make_child(*node, entry.state);
    node = made ? made.get() : &child(*node, entry.state, made);
    add(node->own, mask);
    if (made) holder = std::move(made);
    position.stack = entry.below;
  }
}

bool MaskCache::reserve(const MaskNode& node) const {
  const size_t size = node.memory_bytes();
  if (bytes_.fetch_add(size, std::memory_order_relaxed) + size <= max_bytes_) return true;
  bytes_.fetch_sub(size, std::memory_order_relaxed);
  return false;
}

const MaskNode& MaskCache::root(StateId state, std::unique_ptr<MaskNode>& holder) const {
  state = classes_[state];
  std::atomic<MaskNode*>& slot = roots_[state];
  if (const MaskNode* known = slot.load(std::memory_order_acquire)) return *known;
  holder = make_root(state);
  if (!reserve(*holder)) return *holder;
  MaskNode* expected = nullptr;
  if (slot.compare_exchange_strong(expected, holder.get(), std::memory_order_acq_rel))
    return *holder.release();
  bytes_.fetch_sub(holder->memory_bytes(), std::memory_order_relaxed);
  holder.reset();
  return *expected;
}

const MaskNode& MaskCache::child(const MaskNode& parent, StateId return_to,
                                 std::unique_ptr<MaskNode>& holder) const {
  MaskNode::Child* first = parent.children.load(std::memory_order_acquire);
  for (const MaskNode::Child* known = first; known != nullptr; known = known->next)
    if (known->return_to == return_to) return *known->node;
  holder = make_child(parent, return_to);
  if (!reserve(*holder)) return *holder;
  // A node may be there twice when two threads made it; the list is only searched from its front.
  auto* entry = new MaskNode::Child{.return_to = return_to, .node = std::move(holder), .next = first};
  while (!parent.children.compare_exchange_weak(entry->next, entry, std::memory_order_acq_rel)) {
  }
  return *entry->node;
}

std::unique_ptr<MaskNode> MaskCache::make_root(StateId state) const {
  auto node = std::make_unique<MaskNode>();
  node->common = vocabulary_.short_mask(automaton_, state);
  node->pays_for_common = node->common.use_count() <= 2;
  node->own = mask_of_state(automaton_, state, vocabulary_.long_tokens(), vocabulary_.size());
  add_open(*node->common, node->own);
  add_ids(state, *node);
  return node;
}

std::unique_ptr<MaskNode> MaskCache::make_child(const MaskNode& parent, StateId return_to) const {
  auto node = std::make_unique<MaskNode>();
  node->own = mask_of_open(automaton_, return_to, parent.own, vocabulary_.size());
  if (parent.ids_open) add_ids(return_to, *node);
  return node;
}

void MaskCache::add_ids(StateId state, MaskNode& node) const {
  IdWalk(automaton_, vocabulary_).run(state, node);
  node.ids_open = node.ids_open && has_digits(automaton_.rules[automaton_.states[state].rule].follow);
}

}  // namespace kvern::text::grammar
