#include "text/grammar/nfa.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

namespace kvern::text::grammar {
namespace {

constexpr size_t kMaxVertices = 1'000'000;
constexpr size_t kMaxEdges = 4'000'000;
/// Where copies would add more vertices than this, a fragment of some size becomes a rule, so that each copy
/// is one edge.
constexpr size_t kManyVertices = 50'000;
constexpr size_t kSmallFragment = 4;

class Builder {
 public:
  explicit Builder(const Rules& rules) : rules_(rules) {}

  Result<Nfa> build(RuleId root) {
    rule_of(root);
    for (size_t i = 0; i < bodies_.size(); ++i) {
      current_ = i;
      append(bodies_[i], nfa_.rules[i].start, nfa_.rules[i].accept);
      if (too_large_)
        return fail(
            ErrorCode::kInvalidArgument,
            fmt::format("the grammar is too large: its repetitions make more than {} states", kMaxVertices),
            fmt::format("rule {}", nfa_.rules[i].name));
    }
    return std::move(nfa_);
  }

 private:
  uint32_t vertex() {
    if (nfa_.heads.size() >= kMaxVertices || nfa_.edges.size() >= kMaxEdges) too_large_ = true;
    nfa_.heads.push_back(Nfa::kNone);
    return static_cast<uint32_t>(nfa_.heads.size() - 1);
  }

  void edge(uint32_t from, Nfa::Edge edge) {
    edge.next = nfa_.heads[from];
    nfa_.heads[from] = static_cast<uint32_t>(nfa_.edges.size());
    nfa_.edges.push_back(edge);
  }
  void empty(uint32_t from, uint32_t to) { edge(from, {.target = to}); }
  void bytes(uint32_t from, uint32_t to, ByteSequence::Range range) {
    edge(from, {.target = to, .kind = Nfa::EdgeKind::kBytes, .first = range.first, .last = range.last});
  }
  void call(uint32_t from, uint32_t to, uint32_t rule) {
    edge(from, {.target = to, .rule = rule, .kind = Nfa::EdgeKind::kCall});
  }

  uint32_t new_rule(std::string name, ExprId body) {
    const uint32_t start = vertex();
    nfa_.rules.push_back({.name = std::move(name), .start = start, .accept = vertex()});
    bodies_.push_back(body);
    return static_cast<uint32_t>(bodies_.size() - 1);
  }

  uint32_t rule_of(RuleId rule) {
    const auto [known, is_new] = rule_indices_.try_emplace(rule, 0);
    if (is_new) known->second = new_rule(rules_.name(rule), rules_.body(rule));
    return known->second;
  }

  uint32_t rule_of_fragment(ExprId fragment) {
    const auto [known, is_new] = fragment_indices_.try_emplace(fragment, 0);
    if (is_new) known->second = new_rule(nfa_.rules[current_].name, fragment);
    return known->second;
  }

  /// Adds what matches `expr` between two vertices. No edge is added that leaves `to`, except where both are
  /// one vertex.
  void append(ExprId expr, uint32_t from, uint32_t to) {
    if (too_large_) return;
    std::visit([&](const auto& kind) { append(kind, from, to); }, rules_.at(expr));
  }

  void append(const BytesExpr& expr, uint32_t from, uint32_t to) {
    if (expr.bytes.empty()) return empty(from, to);
    for (size_t i = 0; i < expr.bytes.size(); ++i) {
      const uint32_t next = i + 1 == expr.bytes.size() ? to : vertex();
      const auto byte = static_cast<uint8_t>(expr.bytes[i]);
      bytes(from, next, {byte, byte});
      from = next;
    }
  }

  void append(const CharsExpr& expr, uint32_t from, uint32_t to) {
    for (const CharRange& range : expr.set.ranges()) {
      for (const ByteSequence& sequence : byte_sequences(range)) {
        uint32_t at = from;
        for (uint32_t i = 0; i < sequence.length; ++i) {
          const uint32_t next = i + 1 == sequence.length ? to : vertex();
          bytes(at, next, sequence.ranges[i]);
          at = next;
        }
      }
    }
  }

  void append(const SequenceExpr& expr, uint32_t from, uint32_t to) {
    if (expr.parts.empty()) return empty(from, to);
    for (size_t i = 0; i < expr.parts.size(); ++i) {
      const uint32_t next = i + 1 == expr.parts.size() ? to : vertex();
      append(expr.parts[i], from, next);
      from = next;
    }
  }

  void append(const ChoiceExpr& expr, uint32_t from, uint32_t to) {
    for (const ExprId alternative : expr.alternatives) append(alternative, from, to);
  }

  void append(const RuleExpr& expr, uint32_t from, uint32_t to) { call(from, to, rule_of(expr.rule)); }

  void append(const RepeatExpr& expr, uint32_t from, uint32_t to) {
    const uint32_t copies = expr.times.max == kUnlimited ? expr.times.min + 1 : expr.times.max;
    const size_t size = size_of(expr.child);
    const bool outlined = size > kSmallFragment && copies * size > kManyVertices;
    const auto append_copy = [&](uint32_t a, uint32_t b) {
      if (outlined)
        call(a, b, rule_of_fragment(expr.child));
      else
        append(expr.child, a, b);
    };
    for (uint32_t i = 0; i < expr.times.min && !too_large_; ++i) {
      const uint32_t next = vertex();
      append_copy(from, next);
      from = next;
    }
    if (expr.times.max == kUnlimited) {
      const uint32_t loop = vertex();
      empty(from, loop);
      append_copy(loop, loop);
      empty(loop, to);
      return;
    }
    for (uint32_t i = expr.times.min; i < expr.times.max && !too_large_; ++i) {
      empty(from, to);
      const uint32_t next = vertex();
      append_copy(from, next);
      from = next;
    }
    empty(from, to);
  }

  void append(const TokenExpr& expr, uint32_t from, uint32_t to) {
    uint32_t at = from;
    for (uint32_t i = 0; i < kTokenDigits; ++i) {
      const uint32_t shift = 3 * (kTokenDigits - 1 - i);
      const auto digit = static_cast<uint8_t>((static_cast<uint32_t>(expr.token) >> shift) & 7U);
      if (expr.negated) append_other_digits(digit, i + 1, at, to);
      if (expr.negated && i + 1 == kTokenDigits) return;
      const uint32_t next = i + 1 == kTokenDigits ? to : vertex();
      const auto byte = static_cast<uint8_t>(kTokenDigit + digit);
      bytes(at, next, {byte, byte});
      at = next;
    }
  }

  /// All digits but one, then any for the rest.
  void append_other_digits(uint8_t digit, uint32_t taken, uint32_t from, uint32_t to) {
    uint32_t next = to;
    for (uint32_t rest = taken; rest < kTokenDigits; ++rest) {
      const uint32_t before = vertex();
      bytes(before, next, {kTokenDigit, kTokenDigit + 7});
      next = before;
    }
    if (digit > 0) bytes(from, next, {kTokenDigit, static_cast<uint8_t>(kTokenDigit + digit - 1)});
    if (digit < 7) bytes(from, next, {static_cast<uint8_t>(kTokenDigit + digit + 1), kTokenDigit + 7});
  }

  void append(const GraphExpr& expr, uint32_t from, uint32_t to) {
    std::vector<uint32_t> vertices(expr.vertices);
    for (uint32_t& at : vertices) at = vertex();
    empty(from, vertices.front());
    for (const GraphExpr::Edge& part : expr.edges) append(part.expr, vertices[part.from], vertices[part.to]);
    for (const uint32_t at : expr.accepting) empty(vertices[at], to);
  }

  /// About how many vertices an expression adds; saturates.
  size_t size_of(ExprId expr) {
    const auto known = sizes_.find(expr);
    if (known != sizes_.end()) return known->second;
    const size_t size =
        std::min(std::visit([&](const auto& kind) { return measure(kind); }, rules_.at(expr)), kMaxVertices);
    sizes_.emplace(expr, size);
    return size;
  }
  size_t measure(const BytesExpr& expr) { return expr.bytes.size(); }
  size_t measure(const CharsExpr& expr) {
    size_t size = 0;
    for (const CharRange& range : expr.set.ranges()) size += range.last < 0x80 ? 1 : 6;
    return size;
  }
  size_t measure(const SequenceExpr& expr) { return sum(expr.parts); }
  size_t measure(const ChoiceExpr& expr) { return sum(expr.alternatives); }
  size_t measure(const RuleExpr& /*expr*/) { return 1; }
  size_t measure(const TokenExpr& /*expr*/) { return kTokenDigits; }
  size_t measure(const RepeatExpr& expr) {
    const uint32_t copies = expr.times.max == kUnlimited ? expr.times.min + 1 : expr.times.max;
    return copies * size_of(expr.child);
  }
  size_t measure(const GraphExpr& expr) {
    size_t size = expr.vertices;
    for (const GraphExpr::Edge& edge : expr.edges) size += size_of(edge.expr);
    return size;
  }
  size_t sum(const std::vector<ExprId>& parts) {
    size_t size = 0;
    for (const ExprId part : parts) size += size_of(part);
    return size;
  }

  const Rules& rules_;
  Nfa nfa_;
  std::vector<ExprId> bodies_;
  size_t current_ = 0;
  bool too_large_ = false;
  std::map<RuleId, uint32_t> rule_indices_;
  std::map<ExprId, uint32_t> fragment_indices_;
  std::unordered_map<ExprId, size_t> sizes_;
};

}  // namespace

Result<Nfa> make_nfa(const Rules& rules, RuleId root) { return Builder(rules).build(root); }

}  // namespace kvern::text::grammar
