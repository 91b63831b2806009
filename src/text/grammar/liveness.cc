// Which states lead to an end, at all and with the tokens that there are.
//
// A state is live if its rule can end there, or an edge that can be taken leads to a live state; a call can
// be taken if its rule can be completed. The least such set is found by propagation from the ends, in time
// linear in the edges (the algorithm for Horn clauses of Dowling and Gallier, 1984).
#include <algorithm>

#include "text/grammar/automaton_parts.h"
#include "text/grammar/nfa.h"

namespace kvern::text::grammar {
namespace {

/// Edges by target.
class Predecessors {
 public:
  struct Edge {
    StateId from = 0;
    /// Of a call: the rule called; else kNoState.
    uint32_t rule = kNoState;
  };
  Predecessors(size_t states, const std::vector<std::pair<StateId, Edge>>& edges) : begins_(states + 1) {
    for (const auto& [target, edge] : edges) ++begins_[target + 1];
    for (size_t i = 0; i < states; ++i) begins_[i + 1] += begins_[i];
    edges_.resize(edges.size());
    std::vector<uint32_t> next = begins_;
    for (const auto& [target, edge] : edges) edges_[next[target]++] = edge;
  }
  std::span<const Edge> of(StateId target) const {
    return std::span(edges_).subspan(begins_[target], begins_[target + 1] - begins_[target]);
  }

 private:
  std::vector<uint32_t> begins_;
  std::vector<Edge> edges_;
};

using EdgeList = std::vector<std::pair<StateId, Predecessors::Edge>>;

/// Live states when exactly these edges can be taken.
std::vector<bool> live_states(const Automaton& automaton, const EdgeList& edges) {
  const Predecessors predecessors(automaton.states.size(), edges);
  std::vector<bool> live(automaton.states.size(), false);
  std::vector<bool> completes(automaton.rules.size(), false);
  std::vector<std::vector<StateId>> waiting(automaton.rules.size());
  std::vector<uint32_t> rule_of_start(automaton.states.size(), kNoState);
  for (uint32_t rule = 0; rule < automaton.rules.size(); ++rule)
    rule_of_start[automaton.rules[rule].start] = rule;
  std::vector<StateId> work;
  const auto mark = [&](StateId state) {
    if (live[state]) return;
    live[state] = true;
    work.push_back(state);
  };
  for (StateId state = 0; state < automaton.states.size(); ++state)
    if (automaton.states[state].accepts) mark(state);
  while (!work.empty()) {
    const StateId state = work.back();
    work.pop_back();
    if (const uint32_t rule = rule_of_start[state]; rule != kNoState) {
      completes[rule] = true;
      for (const StateId from : waiting[rule]) mark(from);
    }
    for (const Predecessors::Edge& edge : predecessors.of(state)) {
      if (edge.rule == kNoState || completes[edge.rule])
        mark(edge.from);
      else
        waiting[edge.rule].push_back(edge.from);
    }
  }
  return live;
}

EdgeList call_edges(const Automaton& automaton) {
  EdgeList edges;
  for (StateId from = 0; from < automaton.states.size(); ++from)
    for (const auto& call : automaton.calls_of(from)) edges.push_back({call.target, {from, call.rule}});
  return edges;
}

EdgeList all_edges(const Automaton& automaton) {
  EdgeList edges = call_edges(automaton);
  for (StateId from = 0; from < automaton.states.size(); ++from)
    for (const auto& edge : automaton.bytes_of(from)) edges.push_back({edge.target, {.from = from}});
  return edges;
}

bool intersects(const ByteSet& set, uint8_t first, uint8_t last) {
  for (uint32_t byte = first; byte <= last; ++byte)
    if (set[byte]) return true;
  return false;
}

/// The edges that single tokens can take: one byte, or a character of several.
EdgeList spellable_edges(const Automaton& automaton, const Spellable& spellable) {
  ByteSet bytes = spellable.bytes;
  for (uint32_t byte = kTokenDigit; byte < 256; ++byte) bytes.set(byte);
  EdgeList edges = call_edges(automaton);
  for (StateId from = 0; from < automaton.states.size(); ++from) {
    for (const auto& edge : automaton.bytes_of(from))
      if (intersects(bytes, edge.first, edge.last)) edges.push_back({edge.target, {.from = from}});
    for (const std::string& character : spellable.characters) {
      StateId at = from;
      for (size_t i = 0; i < character.size() && at != kNoState; ++i)
        at = automaton.next(at, static_cast<uint8_t>(character[i]));
      if (at != kNoState) edges.push_back({at, {.from = from}});
    }
  }
  return edges;
}

/// Keeps the edges to `useful` states and the calls of rules that can be completed.
void keep_edges(Automaton& automaton, const std::vector<bool>& useful, const std::vector<bool>& live) {
  for (auto& state : automaton.states) {
    const auto bytes = automaton.byte_edges.begin() + state.bytes_begin;
    const auto kept_bytes = std::remove_if(bytes, bytes + state.bytes_count,
                                           [&](const auto& edge) { return !useful[edge.target]; });
    state.bytes_count = static_cast<uint32_t>(kept_bytes - bytes);
    const auto calls = automaton.call_edges.begin() + state.calls_begin;
    const auto kept_calls = std::remove_if(calls, calls + state.calls_count, [&](const auto& call) {
      // A token may end anywhere inside the rule called, so what comes behind it must be live, not only
      // useful.
      return !live[call.target] || !live[automaton.rules[call.rule].start];
    });
    state.calls_count = static_cast<uint32_t>(kept_calls - calls);
  }
}

}  // namespace

LivenessResult remove_dead_ends(Automaton& automaton, const Spellable& spellable) {
  const std::vector<bool> useful = live_states(automaton, all_edges(automaton));
  const std::vector<bool> live = live_states(automaton, spellable_edges(automaton, spellable));
  keep_edges(automaton, useful, live);
  for (StateId state = 0; state < automaton.states.size(); ++state)
    automaton.states[state].live = live[state];
  return {.matches_something = useful[automaton.entry], .can_be_spelled = live[automaton.entry]};
}

}  // namespace kvern::text::grammar
