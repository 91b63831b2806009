// Reads bytes with an automaton: all ways at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/grammar/automaton.h"
#include "text/grammar/stacks.h"

namespace kvern::text::grammar {

/// In place of a state: the rule at the bottom has ended, and nothing can follow in it. Its stack is kBottom.
inline constexpr StateId kReturned = UINT32_MAX - 1;

/// One way in which a text can be read so far.
struct Position {
  StateId state = 0;
  StackId stack = kBottom;
  bool operator==(const Position&) const = default;
};

/// More ways than these are not followed at once: what is dropped makes some texts impossible, never a wrong
/// one possible. Grammars that need so many are ambiguous beyond use.
inline constexpr size_t kMaxPositions = 256;

/// Positions by their values, for lists that are too long to be searched. A value; one thread.
class PositionSet {
 public:
  /// Forgets all, without a look at them.
  void clear() {
    size_ = 0;
    ++round_;
  }
  bool empty() const { return size_ == 0; }
  /// False when it is there. Takes fewer than kCapacity.
  bool add(const Position& position);

  static constexpr size_t kCapacity = 2048;

 private:
  struct Slot {
    Position position;
    uint64_t round = 0;
  };
  std::vector<Slot> slots_;  // open addressing; made when it is used first
  uint64_t round_ = 1;
  size_t size_ = 0;
};

/// Borrows both for its lifetime. One thread.
class Stepper {
 public:
  Stepper(const Automaton& automaton, Stacks& stacks) : automaton_(automaton), stacks_(stacks) {}

  /// Fills `to` with the ways behind `byte`, each once; `to` must be another vector than that of `from`. True
  /// if `byte` may also come behind the end of the rule at the bottom.
  bool step(std::span<const Position> from, uint8_t byte, std::vector<Position>& to);

  /// Where a rule begins, or `state` itself, as a position.
  Position at(StateId state, StackId stack) const;
  /// A token may end here.
  bool is_live(const Position& position) const {
    return position.state == kReturned || automaton_.states[position.state].live;
  }
  /// The text may end here.
  bool may_end(const Position& position) const {
    return position.state == kReturned ||
           (automaton_.states[position.state].accepts && stacks_.at(position.stack).may_end);
  }
  /// How many states were looked at so far: a measure of time.
  uint64_t work() const { return work_done_; }
  /// Ways were dropped (kMaxPositions): texts that the grammar has may have been lost.
  bool dropped() const { return dropped_; }

 private:
  bool step_all(std::span<const Position> from, uint8_t byte, std::vector<Position>& to);
  void look_later(Position position);
  void add_once(std::vector<Position>& positions, const Position& position, size_t limit, PositionSet& known);
  /// Some rule that the state calls can begin with the byte.
  bool begins_call(const Automaton::State& state, uint8_t byte) const;

  const Automaton& automaton_;
  Stacks& stacks_;
  std::vector<Position> pending_;
  PositionSet known_pending_;
  PositionSet known_next_;
  uint64_t work_done_ = 0;
  bool dropped_ = false;
};

}  // namespace kvern::text::grammar
