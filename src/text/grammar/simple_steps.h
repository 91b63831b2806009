// The simple part of an automaton: where reading a byte is a look into a table.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "text/grammar/automaton.h"
#include "text/grammar/stepper.h"
#include "text/grammar/token_trie.h"

namespace kvern::text::grammar {

/// The states of an automaton as far as one byte leads from a single one to a single one and does nothing
/// else, found out when first asked. One thread.
class SimpleSteps {
 public:
  /// A state that has been met; lives as long as this.
  struct Known {
    StateId id = 0;
    /// A token may end here.
    bool live = false;
    /// Kinds of text that lead, each character of them, to `plain_target`; tokens may end on the way. Empty
    /// where no token may end.
    TextKinds plain = 0;
    StateId plain_target = kNoState;
    /// So many characters of these kinds, at least, can be read one after the other; further ones if asked.
    mutable uint32_t plain_run = 0;
    mutable bool plain_run_ends = false;
    /// Targets by byte, null where nobody has asked yet. Many states are met that nothing is read from.
    mutable std::unique_ptr<std::array<const Known*, 256>> next;
  };

  SimpleSteps(const Automaton& automaton, const Stepper& stepper)
      : automaton_(automaton), stepper_(stepper) {}
  /// not_simple() for kReturned.
  const Known* know(StateId state);
  const Known* step(const Known* from, uint8_t byte) {
    const Known* next = from->next ? (*from->next)[byte] : nullptr;
    return next == nullptr ? find_step(*from, byte) : next;
  }
  /// Whether so many characters of these kinds can be read from here, and a token may end behind each.
  bool reads(const Known* from, TextKinds kinds, uint32_t characters) {
    if ((kinds & ~from->plain) != 0) return false;
    return from->plain_run >= characters || find_run(*from, characters) >= characters;
  }
  /// No text goes on here.
  const Known* nowhere() const { return &nowhere_; }
  /// Rules are called, or end, or the state is none: to be read with a Stepper.
  const Known* not_simple() const { return &not_simple_; }

 private:
  const Known* find_step(const Known& from, uint8_t byte);
  uint32_t find_run(const Known& from, uint32_t wanted);
  bool begins_call(StateId state, uint8_t byte) const;
  void find_plain(Known& known) const;
  StateId usual_target(StateId state) const;
  bool takes_characters(StateId from, StateId to) const;
  bool takes_rest(StateId from, std::pair<uint8_t, uint8_t> bytes, int more, StateId to) const;

  const Automaton& automaton_;
  const Stepper& stepper_;
  std::unordered_map<StateId, std::unique_ptr<Known>> known_;
  Known nowhere_;
  Known not_simple_;
};

}  // namespace kvern::text::grammar
