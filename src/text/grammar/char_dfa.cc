#include "text/grammar/char_dfa.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace kvern::text::grammar {
namespace {

constexpr size_t kMaxStates = 20'000;
constexpr size_t kMaxVertices = 50'000;

std::unexpected<Error> too_large() {
  return fail(ErrorCode::kInvalidArgument, fmt::format("the pattern needs more than {} states", kMaxStates));
}

struct Nfa {
  struct Edge {
    CharSet set;
    uint32_t target = 0;
  };
  struct Vertex {
    std::vector<Edge> edges;
    std::vector<uint32_t> empty;
  };
  std::vector<Vertex> vertices;

  bool too_large() const { return vertices.size() > kMaxVertices; }
  uint32_t add() {
    vertices.emplace_back();
    return static_cast<uint32_t>(vertices.size() - 1);
  }
  void connect(uint32_t from, uint32_t to) { vertices[from].empty.push_back(to); }
};

void append(Nfa& nfa, const Rules& rules, ExprId expr, std::pair<uint32_t, uint32_t> ends);

void append_repeat(Nfa& nfa, const Rules& rules, const RepeatExpr& repeat,
                   std::pair<uint32_t, uint32_t> ends) {
  auto [from, to] = ends;
  for (uint32_t i = 0; i < repeat.times.min && !nfa.too_large(); ++i) {
    const uint32_t next = nfa.add();
    append(nfa, rules, repeat.child, {from, next});
    from = next;
  }
  if (repeat.times.max == kUnlimited) {
    const uint32_t loop = nfa.add();
    nfa.connect(from, loop);
    append(nfa, rules, repeat.child, {loop, loop});
    from = loop;
  }
  for (uint32_t i = repeat.times.min;
       repeat.times.max != kUnlimited && i < repeat.times.max && !nfa.too_large(); ++i) {
    nfa.connect(from, to);
    const uint32_t next = nfa.add();
    append(nfa, rules, repeat.child, {from, next});
    from = next;
  }
  nfa.connect(from, to);
}

void append(Nfa& nfa, const Rules& rules, ExprId expr, std::pair<uint32_t, uint32_t> ends) {
  const Expr& node = rules.at(expr);
  if (const auto* chars = std::get_if<CharsExpr>(&node)) {
    nfa.vertices[ends.first].edges.push_back({chars->set, ends.second});
  } else if (const auto* sequence = std::get_if<SequenceExpr>(&node)) {
    uint32_t from = ends.first;
    for (const ExprId part : sequence->parts) {
      const uint32_t next = nfa.add();
      append(nfa, rules, part, {from, next});
      from = next;
    }
    nfa.connect(from, ends.second);
  } else if (const auto* choice = std::get_if<ChoiceExpr>(&node)) {
    for (const ExprId alternative : choice->alternatives) append(nfa, rules, alternative, ends);
  } else if (const auto* repeat = std::get_if<RepeatExpr>(&node)) {
    append_repeat(nfa, rules, *repeat, ends);
  } else {
    const auto* bytes = std::get_if<BytesExpr>(&node);
    KVERN_CHECK(bytes != nullptr && bytes->bytes.empty());
    nfa.connect(ends.first, ends.second);
  }
}

using Subset = std::vector<uint32_t>;

Subset closure(const Nfa& nfa, Subset subset) {
  std::vector<bool> seen(nfa.vertices.size(), false);
  Subset reached;
  const auto reach = [&](uint32_t vertex) {
    if (!seen[vertex]) reached.push_back(vertex);
    seen[vertex] = true;
  };
  for (const uint32_t vertex : subset) reach(vertex);
  for (size_t i = 0; i < reached.size(); ++i)
    for (const uint32_t next : nfa.vertices[reached[i]].empty) reach(next);
  std::ranges::sort(reached);
  return reached;
}

/// The characters at which some edge begins, or the one behind its last.
std::vector<char32_t> borders(const Nfa& nfa, const Subset& subset) {
  std::vector<char32_t> borders;
  for (const uint32_t vertex : subset) {
    for (const Nfa::Edge& edge : nfa.vertices[vertex].edges) {
      for (const CharRange& range : edge.set.ranges()) {
        borders.push_back(range.first);
        borders.push_back(range.last + 1);
      }
    }
  }
  std::ranges::sort(borders);
  const auto rest = std::ranges::unique(borders);
  borders.erase(rest.begin(), rest.end());
  return borders;
}

class Determinizer {
 public:
  Determinizer(const Nfa& nfa, uint32_t end) : nfa_(nfa), end_(end) {}

  Result<CharDfa> build(uint32_t start) {
    state_of(closure(nfa_, {start}));
    for (size_t i = 0; i < dfa_.states.size(); ++i) {
      if (dfa_.states.size() > kMaxStates) return too_large();
      add_edges(i);
    }
    return std::move(dfa_);
  }

 private:
  uint32_t state_of(Subset subset) {
    const auto [known, is_new] =
        known_.try_emplace(std::move(subset), static_cast<uint32_t>(dfa_.states.size()));
    if (is_new) {
      dfa_.states.push_back({.edges = {}, .accepts = std::ranges::binary_search(known->first, end_)});
      subsets_.push_back(&known->first);
    }
    return known->second;
  }

  void add_edges(size_t state) {
    const Subset& subset = *subsets_[state];
    const std::vector<char32_t> cuts = borders(nfa_, subset);
    std::map<uint32_t, std::vector<CharRange>> edges;
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      Subset targets;
      for (const uint32_t vertex : subset)
        for (const Nfa::Edge& edge : nfa_.vertices[vertex].edges)
          if (edge.set.contains(cuts[i])) targets.push_back(edge.target);
      if (!targets.empty())
        edges[state_of(closure(nfa_, std::move(targets)))].push_back({cuts[i], cuts[i + 1] - 1});
    }
    for (auto& [target, ranges] : edges)
      dfa_.states[state].edges.push_back({.set = CharSet(std::move(ranges)), .target = target});
  }

  const Nfa& nfa_;
  uint32_t end_;
  CharDfa dfa_;
  std::map<Subset, uint32_t> known_;
  std::vector<const Subset*> subsets_;
};

}  // namespace

Result<CharDfa> char_dfa(const Rules& rules, ExprId expr) {
  Nfa nfa;
  const uint32_t start = nfa.add();
  const uint32_t end = nfa.add();
  append(nfa, rules, expr, {start, end});
  if (nfa.too_large()) return too_large();
  return Determinizer(nfa, end).build(start);
}

Result<CharDfa> length_dfa(Times length) {
  const bool bounded = length.max != kUnlimited;
  const uint32_t last = bounded ? length.max : length.min;
  if (last >= kMaxStates) return too_large();
  CharDfa dfa;
  dfa.states.resize(last + 1);
  for (uint32_t i = 0; i <= last; ++i) {
    dfa.states[i].accepts = i >= length.min;
    if (i < last)
      dfa.states[i].edges.push_back({.set = CharSet::all(), .target = i + 1});
    else if (!bounded)
      dfa.states[i].edges.push_back({.set = CharSet::all(), .target = i});
  }
  return dfa;
}

Result<CharDfa> both(const CharDfa& a, const CharDfa& b) {
  CharDfa dfa;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> known;
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  const auto state_of = [&](uint32_t x, uint32_t y) {
    const auto [entry, is_new] = known.try_emplace({x, y}, static_cast<uint32_t>(pairs.size()));
    if (is_new) {
      pairs.emplace_back(x, y);
      dfa.states.push_back({.edges = {}, .accepts = a.states[x].accepts && b.states[y].accepts});
    }
    return entry->second;
  };
  state_of(0, 0);
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (pairs.size() > kMaxStates) return too_large();
    const auto [x, y] = pairs[i];
    for (const CharDfa::Edge& first : a.states[x].edges) {
      for (const CharDfa::Edge& second : b.states[y].edges) {
        CharSet set = first.set.intersected(second.set);
        if (set.empty()) continue;
        const uint32_t target = state_of(first.target, second.target);
        dfa.states[i].edges.push_back({.set = std::move(set), .target = target});
      }
    }
  }
  return dfa;
}

bool is_empty(const CharDfa& dfa) {
  // Every state was reached from the start when it was made.
  return std::ranges::none_of(dfa.states, &CharDfa::State::accepts);
}

ExprId json_content(const CharDfa& dfa, JsonRules& json, Rules& rules) {
  GraphExpr graph{.vertices = static_cast<uint32_t>(dfa.states.size()), .edges = {}, .accepting = {}};
  for (uint32_t i = 0; i < dfa.states.size(); ++i) {
    if (dfa.states[i].accepts) graph.accepting.push_back(i);
    for (const CharDfa::Edge& edge : dfa.states[i].edges)
      graph.edges.push_back(
          {i, edge.target, edge.set == CharSet::all() ? json.any_char() : json.char_of(edge.set)});
  }
  return rules.graph(std::move(graph));
}

}  // namespace kvern::text::grammar
