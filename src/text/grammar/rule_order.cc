// The order of rules by their first calls, which also finds left recursion.
#include <algorithm>

#include <fmt/format.h>

#include "text/grammar/automaton_parts.h"

namespace kvern::text::grammar {
namespace {

/// What a Stepper follows for one byte is bounded; a grammar with longer chains would lose texts.
constexpr uint32_t kMaxFirstCalls = 200;

enum class Visit : uint8_t { kNew, kOpen, kDone };

struct Frame {
  uint32_t rule = 0;
  uint32_t next_call = 0;
};

std::unexpected<Error> left_recursion(const Automaton& automaton, const std::vector<Frame>& path,
                                      uint32_t rule) {
  std::string names;
  const auto from = std::ranges::find(path, rule, &Frame::rule);
  std::string_view previous;
  for (auto frame = from; frame != path.end(); ++frame) {
    const std::string& name = automaton.rules[frame->rule].name;
    if (name == previous) continue;  // a fragment of it
    names += fmt::format("{} -> ", name);
    previous = name;
  }
  const std::string& name = automaton.rules[rule].name;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("left recursion: {}{}; a rule must take a character before it comes to itself "
                          "(write repetitions with * or +)",
                          names, name),
              fmt::format("rule {}", name));
}

Status check_depth(const Automaton& automaton, const std::vector<uint32_t>& order) {
  std::vector<uint32_t> depths(automaton.rules.size(), 0);
  for (const uint32_t rule : order) {
    for (const auto& call : automaton.calls_of(automaton.rules[rule].start))
      depths[rule] = std::max(depths[rule], depths[call.rule] + 1);
    if (depths[rule] > kMaxFirstCalls)
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("more than {} rules call each other before a character is taken", kMaxFirstCalls),
          fmt::format("rule {}", automaton.rules[rule].name));
  }
  return Ok{};
}

}  // namespace

Result<std::vector<uint32_t>> rules_by_first_calls(const Automaton& automaton) {
  std::vector<uint32_t> order;
  std::vector<Visit> visits(automaton.rules.size(), Visit::kNew);
  std::vector<Frame> path;
  for (uint32_t root = 0; root < automaton.rules.size(); ++root) {
    if (visits[root] != Visit::kNew) continue;
    visits[root] = Visit::kOpen;
    path.push_back({.rule = root});
    while (!path.empty()) {
      Frame& frame = path.back();
      const auto calls = automaton.calls_of(automaton.rules[frame.rule].start);
      if (frame.next_call == calls.size()) {
        visits[frame.rule] = Visit::kDone;
        order.push_back(frame.rule);
        path.pop_back();
        continue;
      }
      const uint32_t callee = calls[frame.next_call++].rule;
      if (visits[callee] == Visit::kOpen) return left_recursion(automaton, path, callee);
      if (visits[callee] == Visit::kDone) continue;
      visits[callee] = Visit::kOpen;
      path.push_back({.rule = callee});
    }
  }
  KVERN_TRY_STATUS(check_depth(automaton, order));
  return order;
}

}  // namespace kvern::text::grammar
