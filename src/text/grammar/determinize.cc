// Subset construction (Rabin, Scott: "Finite automata and their decision problems", 1959) for each rule, with
// calls as further symbols.
#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "text/grammar/automaton_parts.h"

namespace kvern::text::grammar {
namespace {

constexpr size_t kMaxStates = 200'000;
/// Vertices in all subsets together.
constexpr size_t kMaxMembers = 8'000'000;

using Subset = std::vector<uint32_t>;

struct SubsetHash {
  size_t operator()(const Subset& subset) const {
    size_t hash = subset.size();
    for (const uint32_t vertex : subset) hash = (hash ^ vertex) * 0x9E3779B97F4A7C15U;
    return hash ^ (hash >> 32);
  }
};

class Determinizer {
 public:
  Determinizer(const Nfa& nfa, const std::vector<bool>& nullable)
      : nfa_(nfa), nullable_(nullable), marks_(nfa.heads.size(), 0) {}

  Result<Automaton> build() {
    automaton_.entry = add_state(0, closure({nfa_.rules[0].start}));
    automaton_.states[automaton_.entry].accepts = nullable_[0];
    for (uint32_t rule = 0; rule < nfa_.rules.size(); ++rule) {
      known_.clear();
      // The start is a state of its own, so that a text that has not begun is told from one that may end.
      const StateId start = add_state(rule, closure({nfa_.rules[rule].start}));
      automaton_.states[start].accepts = false;
      automaton_.rules.push_back({.name = nfa_.rules[rule].name, .start = start, .first = {}, .follow = {}});
      for (; done_ < automaton_.states.size(); ++done_) {
        add_edges(static_cast<StateId>(done_));
        if (automaton_.states.size() > kMaxStates || members_ > kMaxMembers)
          return fail(
              ErrorCode::kInvalidArgument,
              fmt::format("the grammar is too complex: its rules have more than {} states, or alternatives "
                          "that cannot be told apart for too long",
                          kMaxStates),
              fmt::format("rule {}", nfa_.rules[rule].name));
      }
    }
    return std::move(automaton_);
  }

 private:
  StateId add_state(uint32_t rule, Subset subset) {
    const uint32_t accept = nfa_.rules[rule].accept;
    Automaton::State state{.rule = rule};
    state.accepts = std::ranges::binary_search(subset, accept);
    members_ += subset.size();
    subsets_.push_back(std::move(subset));
    automaton_.states.push_back(state);
    return static_cast<StateId>(automaton_.states.size() - 1);
  }

  StateId state_of(uint32_t rule, Subset subset) {
    const auto found = known_.find(subset);
    if (found != known_.end()) return found->second;
    const StateId state = add_state(rule, subset);
    known_.emplace(std::move(subset), state);
    return state;
  }

  /// What can be reached without taking a byte: only vertices that have other edges or accept matter.
  Subset closure(Subset from) {
    ++mark_;
    Subset reached;
    const auto reach = [&](uint32_t vertex) {
      if (marks_[vertex] == mark_) return;
      marks_[vertex] = mark_;
      from.push_back(vertex);
    };
    Subset seeds = std::move(from);
    from.clear();
    for (const uint32_t seed : seeds) reach(seed);
    for (size_t i = 0; i < from.size(); ++i) {
      const uint32_t vertex = from[i];
      bool matters = nfa_.heads[vertex] == Nfa::kNone;
      nfa_.for_each_edge(vertex, [&](const Nfa::Edge& edge) {
        if (edge.kind == Nfa::EdgeKind::kEmpty) return reach(edge.target);
        matters = true;
        if (edge.kind == Nfa::EdgeKind::kCall && nullable_[edge.rule]) reach(edge.target);
      });
      if (matters) reached.push_back(vertex);
    }
    std::ranges::sort(reached);
    return reached;
  }

  void add_edges(StateId state) {
    const uint32_t rule = automaton_.states[state].rule;
    byte_edges_.clear();
    std::map<uint32_t, Subset> calls;
    // A copy is not needed: subsets_ grows below, but its elements' buffers stay. It is moved out.
    const Subset subset = std::move(subsets_[state]);
    for (const uint32_t vertex : subset) {
      nfa_.for_each_edge(vertex, [&](const Nfa::Edge& edge) {
        if (edge.kind == Nfa::EdgeKind::kBytes) byte_edges_.push_back(edge);
        if (edge.kind == Nfa::EdgeKind::kCall) calls[edge.rule].push_back(edge.target);
      });
    }
    add_byte_edges(state, rule);
    automaton_.states[state].calls_begin = static_cast<uint32_t>(automaton_.call_edges.size());
    for (auto& [callee, targets] : calls) {
      const StateId target = state_of(rule, closure(std::move(targets)));
      automaton_.call_edges.push_back({.rule = callee, .target = target});
    }
    automaton_.states[state].calls_count = static_cast<uint32_t>(calls.size());
  }

  /// Sweeps over the bytes; where an edge begins or ends, the set of targets changes.
  void add_byte_edges(StateId state, uint32_t rule) {
    const auto begin = static_cast<uint32_t>(automaton_.byte_edges.size());
    std::ranges::sort(byte_edges_, {}, &Nfa::Edge::first);
    std::vector<Nfa::Edge> open;
    size_t next = 0;
    uint32_t byte = 0;
    while (next < byte_edges_.size() || !open.empty()) {
      if (open.empty()) byte = byte_edges_[next].first;
      while (next < byte_edges_.size() && byte_edges_[next].first == byte)
        open.push_back(byte_edges_[next++]);
      uint32_t last = next < byte_edges_.size() ? byte_edges_[next].first - 1U : 255U;
      Subset targets;
      for (const Nfa::Edge& edge : open) {
        last = std::min<uint32_t>(last, edge.last);
        targets.push_back(edge.target);
      }
      const StateId target = state_of(rule, closure(std::move(targets)));
      auto& edges = automaton_.byte_edges;
      if (edges.size() > begin && edges.back().target == target && edges.back().last + 1U == byte)
        edges.back().last = static_cast<uint8_t>(last);
      else
        edges.push_back({static_cast<uint8_t>(byte), static_cast<uint8_t>(last), target});
      std::erase_if(open, [last](const Nfa::Edge& edge) { return edge.last <= last; });
      byte = last + 1;
    }
    automaton_.states[state].bytes_begin = begin;
    automaton_.states[state].bytes_count = static_cast<uint32_t>(automaton_.byte_edges.size()) - begin;
  }

  const Nfa& nfa_;
  const std::vector<bool>& nullable_;
  Automaton automaton_;
  std::vector<Subset> subsets_;
  std::unordered_map<Subset, StateId, SubsetHash> known_;  ///< Of the present rule.
  size_t done_ = 0;
  size_t members_ = 0;
  std::vector<uint32_t> marks_;
  uint32_t mark_ = 0;
  std::vector<Nfa::Edge> byte_edges_;
};

}  // namespace

std::vector<bool> nullable_rules(const Nfa& nfa) {
  std::vector<bool> nullable(nfa.rules.size(), false);
  std::vector<bool> reached(nfa.heads.size(), false);
  std::vector<uint32_t> rule_accepting(nfa.heads.size(), Nfa::kNone);
  // Behind calls of rules of which it is not known yet.
  std::vector<std::vector<uint32_t>> waiting(nfa.rules.size());
  std::vector<uint32_t> work;
  const auto reach = [&](uint32_t vertex) {
    if (reached[vertex]) return;
    reached[vertex] = true;
    work.push_back(vertex);
  };
  for (uint32_t rule = 0; rule < nfa.rules.size(); ++rule) {
    rule_accepting[nfa.rules[rule].accept] = rule;
    reach(nfa.rules[rule].start);
  }
  while (!work.empty()) {
    const uint32_t vertex = work.back();
    work.pop_back();
    if (const uint32_t rule = rule_accepting[vertex]; rule != Nfa::kNone) {
      nullable[rule] = true;
      for (const uint32_t target : waiting[rule]) reach(target);
    }
    nfa.for_each_edge(vertex, [&](const Nfa::Edge& edge) {
      if (edge.kind == Nfa::EdgeKind::kEmpty) reach(edge.target);
      if (edge.kind != Nfa::EdgeKind::kCall) return;
      if (nullable[edge.rule])
        reach(edge.target);
      else
        waiting[edge.rule].push_back(edge.target);
    });
  }
  return nullable;
}

Result<Automaton> determinize(const Nfa& nfa, const std::vector<bool>& nullable) {
  return Determinizer(nfa, nullable).build();
}

}  // namespace kvern::text::grammar
