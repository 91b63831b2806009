#include <algorithm>

#include "base/check.h"
#include "text/grammar/compiled_grammar.h"
#include "text/grammar/nfa.h"

namespace kvern::text {

using grammar::kBottom;
using grammar::Position;
using grammar::StackId;
using grammar::Stacks;
using grammar::Stepper;

namespace {

/// From so many stacks on, those that are no longer in use are dropped.
constexpr size_t kFirstCleaning = 1024;

/// A token named by its id is spelled in digits that no text has.
std::string digits_of(TokenId token) {
  std::string digits;
  for (uint32_t i = 0; i < grammar::kTokenDigits; ++i) {
    const uint32_t shift = 3 * (grammar::kTokenDigits - 1 - i);
    const uint32_t digit = (static_cast<uint32_t>(token) >> shift) & 7U;
    digits.push_back(static_cast<char>(grammar::kTokenDigit + digit));
  }
  return digits;
}

}  // namespace

struct GrammarState::Impl {
  std::shared_ptr<const Grammar> owner;
  Stacks stacks;
  std::vector<Position> positions;
  size_t next_cleaning = kFirstCleaning;
  /// An end token was taken.
  bool ended = false;

  const grammar::CompiledGrammar& compiled() const { return grammar::compiled(*owner); }

  bool may_end() {
    const Stepper stepper(compiled().automaton(), stacks);
    return ended || std::ranges::any_of(positions, [&](const Position& p) { return stepper.may_end(p); });
  }

  /// Adds the positions behind `bytes` at which a token may end.
  void read(std::string_view bytes, std::vector<Position>& behind) {
    Stepper stepper(compiled().automaton(), stacks);
    std::vector<Position> now = positions;
    std::vector<Position> next;
    for (const char c : bytes) {
      static_cast<void>(stepper.step(now, static_cast<uint8_t>(c), next));
      std::swap(now, next);
      if (now.empty()) return;
    }
    for (const Position& position : now)
      if (stepper.is_live(position) && std::ranges::find(behind, position) == behind.end())
        behind.push_back(position);
  }

  /// Keeps only the stacks of the present positions.
  void clean() {
    if (stacks.size() < next_cleaning) return;
    Stacks kept;
    for (Position& position : positions) {
      std::vector<StackId> path;
      for (StackId id = position.stack; id != kBottom; id = stacks.at(id).below) path.push_back(id);
      StackId copy = kBottom;
      for (auto id = path.rbegin(); id != path.rend(); ++id) {
        const grammar::StateId state = stacks.at(*id).state;
        copy = kept.push(state, copy, compiled().automaton().states[state].accepts);
      }
      position.stack = copy;
    }
    stacks = std::move(kept);
    next_cleaning = std::max(kFirstCleaning, 2 * stacks.size());
  }
};

GrammarState::GrammarState(std::shared_ptr<const Grammar> grammar) : impl_(std::make_unique<Impl>()) {
  KVERN_CHECK(grammar != nullptr);
  impl_->owner = std::move(grammar);
  const grammar::Automaton& automaton = impl_->compiled().automaton();
  impl_->positions.push_back(Stepper(automaton, impl_->stacks).at(automaton.entry, kBottom));
}

GrammarState::GrammarState(const GrammarState& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
GrammarState& GrammarState::operator=(const GrammarState& other) {
  if (this != &other) impl_ = std::make_unique<Impl>(*other.impl_);
  return *this;
}
GrammarState::GrammarState(GrammarState&&) noexcept = default;
GrammarState& GrammarState::operator=(GrammarState&&) noexcept = default;
GrammarState::~GrammarState() = default;

void GrammarState::fill_mask(TokenMask& mask) const {
  const grammar::CompiledGrammar& compiled = impl_->compiled();
  mask.assign((compiled.tokens().size() + 63) / 64, 0);
  if (!impl_->ended)
    for (const Position& position : impl_->positions)
      compiled.masks().add_tokens(position, impl_->stacks, mask);
  if (!impl_->may_end()) return;
  for (const TokenId token : compiled.tokens().end_tokens()) {
    const auto id = static_cast<size_t>(token);
    mask[id / 64] |= uint64_t{1} << (id % 64);
  }
}

bool GrammarState::accept(TokenId token) {
  const grammar::TokenTable& tokens = impl_->compiled().tokens();
  if (!tokens.has(token)) return false;
  if (tokens.is_end(token)) {
    if (!impl_->may_end()) return false;
    impl_->ended = true;
    return true;
  }
  if (impl_->ended) return false;
  std::vector<Position> behind;
  if (!tokens.bytes_of(token).empty()) impl_->read(tokens.bytes_of(token), behind);
  impl_->read(digits_of(token), behind);
  if (behind.empty()) return false;
  impl_->positions = std::move(behind);
  impl_->clean();
  return true;
}

bool GrammarState::finished() const {
  return impl_->ended || std::ranges::all_of(impl_->positions, [](const Position& position) {
           return position.state == grammar::kReturned;
         });
}

}  // namespace kvern::text
