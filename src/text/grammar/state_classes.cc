#include "text/grammar/state_classes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "text/grammar/description.h"

namespace kvern::text::grammar {
namespace {

using ClassId = uint32_t;

/// Descriptions made, for each state of the automaton.
constexpr size_t kMostWorkPerState = 24;

/// Which states have an edge to each.
class Predecessors {
 public:
  explicit Predecessors(const Automaton& automaton) : begins_(automaton.states.size() + 1, 0) {
    for_each_edge(automaton, [&](StateId, StateId to) { ++begins_[to + 1]; });
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    from_.resize(begins_.back());
    std::vector<uint32_t> next(begins_.begin(), begins_.end() - 1);
    for_each_edge(automaton, [&](StateId from, StateId to) { from_[next[to]++] = from; });
  }
  std::span<const StateId> of(StateId state) const {
    return std::span(from_).subspan(begins_[state], begins_[state + 1] - begins_[state]);
  }

 private:
  template <typename Each>
  static void for_each_edge(const Automaton& automaton, const Each& each) {
    for (StateId state = 0; state < automaton.states.size(); ++state) {
      for (const auto& edge : automaton.bytes_of(state)) each(state, edge.target);
      for (const auto& edge : automaton.calls_of(state)) each(state, edge.target);
    }
  }

  std::vector<uint32_t> begins_;
  std::vector<StateId> from_;
};

/// Divides classes round by round: after round n no text of n bytes tells the states of a class apart. Only
/// states before those that have changed their class are looked at again, and the greater part of a class
/// keeps its name, so that what has become settled costs nothing.
class Refinement {
 public:
  explicit Refinement(const Automaton& automaton)
      : automaton_(automaton),
        predecessors_(automaton),
        class_of_(automaton.states.size(), 0),
        seen_(automaton.states.size(), 0) {
    std::vector<StateId> all(automaton.states.size());
    std::iota(all.begin(), all.end(), StateId{0});
    sizes_ = {all.size()};
    divide(all, [this](StateId state) { describe_end(state); });
    changed_ = std::move(all);
  }

  /// False when it has become too much work.
  bool run(size_t rounds) {
    const size_t most_work = kMostWorkPerState * automaton_.states.size();
    size_t work = 0;
    for (size_t round = 1; round <= rounds && !changed_.empty(); ++round) {
      std::vector<StateId> affected = affected_states(round);
      work += affected.size();
      if (work > most_work) return false;
      changed_ = divide(affected, [this](StateId state) { describe_edges(state); });
    }
    return true;
  }

  std::vector<StateId> representatives() const {
    std::vector<StateId> first(sizes_.size(), kNoState);
    std::vector<StateId> result(class_of_.size());
    for (StateId state = 0; state < class_of_.size(); ++state) {
      StateId& mine = first[class_of_[state]];
      if (mine == kNoState) mine = state;
      result[state] = mine;
    }
    return result;
  }

 private:
  void describe_end(StateId id) {
    const Automaton::State& state = automaton_.states[id];
    description_.add((state.accepts ? 1U : 0U) | (state.live ? 2U : 0U));
    description_.add(automaton_.rules[state.rule].follow);
  }
  // A rule that is called takes a byte at least before the state behind it counts.
  void describe_edges(StateId id) {
    for (const auto& edge : automaton_.bytes_of(id)) {
      description_.add(edge);
      description_.add(class_of_[edge.target]);
    }
    for (const auto& edge : automaton_.calls_of(id)) {
      description_.add(uint64_t{2} << 16);
      description_.add(uint64_t{edge.rule} << 32 | class_of_[edge.target]);
    }
  }

  std::vector<StateId> affected_states(size_t round) {
    std::vector<StateId> affected;
    const auto add = [&](StateId state) {
      if (std::exchange(seen_[state], round) != round) affected.push_back(state);
    };
    for (const StateId state : changed_) {
      // In the first round nobody's edges have been looked at yet.
      if (round == 1) add(state);
      for (const StateId before : predecessors_.of(state)) add(before);
    }
    return affected;
  }

  /// Gives states that are described differently different classes; which ones have another than before.
  template <typename Describe>
  std::vector<StateId> divide(std::span<const StateId> states, const Describe& describe) {
    std::map<std::pair<ClassId, Signature>, std::vector<StateId>> parts;
    for (const StateId state : states) {
      description_.clear();
      describe(state);
      parts[{class_of_[state], description_.hash()}].push_back(state);
    }
    std::vector<StateId> changed;
    for (auto part = parts.begin(); part != parts.end();) {
      const ClassId old = part->first.first;
      const auto end =
          std::find_if(part, parts.end(), [&](const auto& other) { return other.first.first != old; });
      size_t looked_at = 0;
      for (auto each = part; each != end; ++each) looked_at += each->second.size();
      // States that were not looked at are as they were: they keep the name.
      const bool whole = looked_at == sizes_[old];
      const auto keeps =
          whole
              ? std::max_element(
                    part, end, [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); })
              : end;
      for (; part != end; ++part)
        if (part != keeps) rename(part->second, changed);
    }
    return changed;
  }

  void rename(const std::vector<StateId>& states, std::vector<StateId>& changed) {
    const auto name = static_cast<ClassId>(sizes_.size());
    sizes_[class_of_[states.front()]] -= states.size();
    sizes_.push_back(states.size());
    for (const StateId state : states) class_of_[state] = name;
    changed.insert(changed.end(), states.begin(), states.end());
  }

  const Automaton& automaton_;
  const Predecessors predecessors_;
  std::vector<ClassId> class_of_;
  std::vector<size_t> sizes_;  ///< Of classes.
  std::vector<StateId> changed_;
  std::vector<size_t> seen_;  ///< The last round in which each state was looked at.
  Description description_;
};

}  // namespace

std::vector<StateId> state_classes(const Automaton& automaton, size_t bytes) {
  Refinement refinement(automaton);
  if (refinement.run(bytes)) return refinement.representatives();
  std::vector<StateId> themselves(automaton.states.size());
  std::iota(themselves.begin(), themselves.end(), StateId{0});
  return themselves;
}

}  // namespace kvern::text::grammar
