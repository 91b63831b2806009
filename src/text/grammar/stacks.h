// Stacks of states to return to, as a tree that shares their lower parts.
#pragma once

#include <cstdint>
#include <vector>

#include "text/grammar/automaton.h"

namespace kvern::text::grammar {

enum class StackId : uint32_t {};
/// Nothing below: the end of the text, or the unknown where a part of a text is looked at.
inline constexpr StackId kBottom{0};

/// Equal stacks have equal ids. A value; one thread.
class Stacks {
 public:
  Stacks();

  struct Entry {
    StateId state = 0;
    StackId below = kBottom;
    /// All states from here down are ends of their rules.
    bool may_end = true;
  };
  /// `ends`: the rule of `state` may end there.
  StackId push(StateId state, StackId below, bool ends);
  /// Not of kBottom, but for its `may_end`.
  const Entry& at(StackId id) const { return entries_[static_cast<size_t>(id)]; }
  size_t size() const { return entries_.size(); }
  /// Forgets all stacks but the bottom.
  void clear();
  size_t memory_bytes() const;

 private:
  size_t slot_of(StateId state, StackId below) const;
  void grow();

  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  ///< Open addressing, a power of two: indices of entries_, 0 is free.
};

}  // namespace kvern::text::grammar
