#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "text/grammar/automaton_parts.h"

namespace kvern::text::grammar {
namespace {

/// From so many edges on a state gets a row, as long as there are not too many rows.
constexpr uint32_t kManyEdges = 4;
constexpr size_t kMaxRows = 4096;

/// The bytes that can come next at a state, without what comes behind the end of its rule.
ByteSet next_bytes(const Automaton& automaton, StateId state) {
  ByteSet bytes;
  for (const auto& edge : automaton.bytes_of(state))
    for (uint32_t byte = edge.first; byte <= edge.last; ++byte) bytes.set(byte);
  for (const auto& call : automaton.calls_of(state)) bytes |= automaton.rules[call.rule].first;
  return bytes;
}

}  // namespace

void fill_byte_sets(Automaton& automaton, const std::vector<uint32_t>& order) {
  for (const uint32_t rule : order)
    automaton.rules[rule].first = next_bytes(automaton, automaton.rules[rule].start);
  // Which calls are the last of a rule: what follows the rule follows them too.
  std::vector<std::vector<uint32_t>> last_calls(automaton.rules.size());
  std::vector<uint32_t> work;
  for (StateId id = 0; id < automaton.states.size(); ++id) {
    Automaton::State& state = automaton.states[id];
    state.only_returns = state.accepts && state.bytes_count == 0 && state.calls_count == 0;
  }
  for (StateId id = 0; id < automaton.states.size(); ++id) {
    for (const auto& call : automaton.calls_of(id)) {
      automaton.rules[call.rule].follow |= next_bytes(automaton, call.target);
      if (automaton.states[call.target].accepts) last_calls[automaton.states[id].rule].push_back(call.rule);
    }
  }
  work.resize(automaton.rules.size());
  std::iota(work.begin(), work.end(), 0U);
  while (!work.empty()) {
    const uint32_t rule = work.back();
    work.pop_back();
    for (const uint32_t callee : last_calls[rule]) {
      const ByteSet grown = automaton.rules[callee].follow | automaton.rules[rule].follow;
      if (grown == automaton.rules[callee].follow) continue;
      automaton.rules[callee].follow = grown;
      work.push_back(callee);
    }
  }
}

void fill_rows(Automaton& automaton) {
  for (StateId id = 0; id < automaton.states.size() && automaton.rows.size() < kMaxRows; ++id) {
    Automaton::State& state = automaton.states[id];
    if (state.bytes_count < kManyEdges) continue;
    Automaton::Row row;
    row.fill(kNoState);
    for (const auto& edge : automaton.bytes_of(id))
      std::fill(row.begin() + edge.first, row.begin() + edge.last + 1, edge.target);
    state.row = static_cast<uint32_t>(automaton.rows.size());
    automaton.rows.push_back(row);
  }
}

size_t Automaton::memory_bytes() const {
  size_t bytes = states.size() * (sizeof(State) + sizeof(Signature)) + byte_edges.size() * sizeof(ByteEdge) +
                 call_edges.size() * sizeof(CallEdge) + rows.size() * sizeof(Row);
  for (const Rule& rule : rules) bytes += sizeof(Rule) + rule.name.size();
  return bytes;
}

Result<Automaton> compile(const Rules& rules, RuleId root, const Spellable& spellable) {
  KVERN_TRY(const Nfa nfa, make_nfa(rules, root));
  KVERN_TRY(Automaton automaton, determinize(nfa, nullable_rules(nfa)));
  KVERN_TRY(const std::vector<uint32_t> order, rules_by_first_calls(automaton));
  const LivenessResult alive = remove_dead_ends(automaton, spellable);
  const std::string where = fmt::format("rule {}", automaton.rules.front().name);
  if (!alive.matches_something)
    return fail(ErrorCode::kInvalidArgument, "no text matches the grammar: its rules never come to an end",
                where);
  if (!alive.can_be_spelled)
    return fail(ErrorCode::kInvalidArgument,
                "no text that matches the grammar can be spelled with the model's tokens: its vocabulary "
                "lacks characters that the grammar needs",
                where);
  fill_byte_sets(automaton, order);
  fill_rows(automaton);
  fill_signatures(automaton, order);
  return automaton;
}

}  // namespace kvern::text::grammar
