// Masks against trying every token: random grammars, random vocabularies, random texts, and a reader of the
// grammars that shares nothing with the engine.
#include <bit>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/result_matchers.h"
#include "text/grammar/compiled_grammar.h"
#include "text/grammar/grammar_support.h"

namespace kvern::text {
namespace {

/// A grammar as a tree, with the text that GBNF has for it.
struct Node {
  enum class Kind : uint8_t { kLiteral, kChars, kSequence, kChoice, kRepeat, kRule };
  Kind kind = Kind::kLiteral;
  std::string literal;
  std::vector<std::string> chars;
  std::vector<Node> children;
  int min = 0;
  int max = -1;
  size_t rule = 0;
};

const std::vector<std::string> kAlphabet{"a", "b", "c", "\u00e9", "\u00e8", "\u65e5", "\U0001F600"};

std::string gbnf(const Node& node) {
  std::string text;
  switch (node.kind) {
    case Node::Kind::kLiteral:
      return "\"" + node.literal + "\"";
    case Node::Kind::kChars:
      for (const std::string& c : node.chars) text += c;
      return "[" + text + "]";
    case Node::Kind::kRule:
      return "r" + std::to_string(node.rule);
    case Node::Kind::kRepeat:
      text = "(" + gbnf(node.children[0]) + "){" + std::to_string(node.min) + ",";
      return text + (node.max < 0 ? "" : std::to_string(node.max)) + "}";
    case Node::Kind::kSequence:
      for (const Node& child : node.children) text += gbnf(child) + " ";
      return "(" + text + ")";
    case Node::Kind::kChoice:
      for (const Node& child : node.children) text += (text.empty() ? "" : " | ") + gbnf(child);
      return "(" + text + ")";
  }
  return text;
}

/// Reads a text by trying everything. Ends of matches, and whether some match needs more than the text has.
class Reader {
 public:
  Reader(const std::vector<Node>& rules, std::string_view text) : rules_(rules), text_(text) {}

  const std::set<size_t>& rule(size_t index, size_t at) {
    const auto [known, is_new] = known_.try_emplace({index, at});
    if (is_new) known->second = ends(rules_[index], at);
    return known->second;
  }
  bool needs_more() const { return needs_more_; }

 private:
  std::set<size_t> ends(const Node& node, size_t at) {
    std::set<size_t> found;
    switch (node.kind) {
      case Node::Kind::kLiteral:
        literal(node.literal, at, found);
        break;
      case Node::Kind::kChars:
        for (const std::string& c : node.chars) literal(c, at, found);
        break;
      case Node::Kind::kRule:
        return rule(node.rule, at);
      case Node::Kind::kChoice:
        for (const Node& child : node.children) found.merge(ends(child, at));
        break;
      case Node::Kind::kSequence:
        found = {at};
        for (const Node& child : node.children) found = behind(child, found);
        break;
      case Node::Kind::kRepeat:
        return repeated(node, at);
    }
    return found;
  }
  std::set<size_t> behind(const Node& node, const std::set<size_t>& starts) {
    std::set<size_t> found;
    for (const size_t start : starts) found.merge(ends(node, start));
    return found;
  }
  std::set<size_t> repeated(const Node& node, size_t at) {
    std::set<size_t> now{at};
    for (int i = 0; i < node.min; ++i) now = behind(node.children[0], now);
    std::set<size_t> all = now;
    for (int i = node.min; (node.max < 0 || i < node.max) && !now.empty(); ++i) {
      std::set<size_t> fresh;
      for (const size_t end : behind(node.children[0], now))
        if (all.insert(end).second) fresh.insert(end);
      now = fresh;
    }
    return all;
  }
  void literal(std::string_view literal, size_t at, std::set<size_t>& found) {
    const std::string_view rest = text_.substr(at);
    if (rest.starts_with(literal))
      found.insert(at + literal.size());
    else if (literal.starts_with(rest))
      needs_more_ = true;
  }

  const std::vector<Node>& rules_;
  std::string_view text_;
  std::map<std::pair<size_t, size_t>, std::set<size_t>> known_;
  bool needs_more_ = false;
};

struct Verdict {
  bool can_go_on = false;
  bool may_end = false;
  bool viable() const { return can_go_on || may_end; }
};
Verdict read(const std::vector<Node>& rules, std::string_view text) {
  Reader reader(rules, text);
  const bool whole = reader.rule(0, 0).contains(text.size());
  return {.can_go_on = reader.needs_more(), .may_end = whole};
}

class Maker {
 public:
  explicit Maker(std::mt19937& random) : random_(random) {}

  std::vector<Node> grammar() {
    const size_t count = 1 + below(4);
    std::vector<Node> rules;
    for (size_t i = 0; i < count; ++i) {
      rule_ = i;
      count_ = count;
      // A way out for the recursive ones, so that every rule comes to an end.
      Node choice{.kind = Node::Kind::kChoice};
      choice.children = {node(3, false), literal()};
      rules.push_back(choice);
    }
    return rules;
  }

 private:
  size_t below(size_t count) { return random_() % count; }
  Node literal() {
    Node node{.kind = Node::Kind::kLiteral};
    for (size_t i = 1 + below(2); i > 0; --i) node.literal += kAlphabet[below(kAlphabet.size())];
    return node;
  }
  /// `guarded`: something has been taken before it, so any rule may be called.
  Node node(int depth, bool guarded) {
    const size_t kind = depth == 0 ? below(2) : below(6);
    Node made;
    switch (kind) {
      case 0:
        return literal();
      case 1: {
        made.kind = Node::Kind::kChars;
        for (size_t i = 1 + below(3); i > 0; --i) made.chars.push_back(kAlphabet[below(kAlphabet.size())]);
        return made;
      }
      case 2: {
        made.kind = Node::Kind::kSequence;
        made.children.push_back(guarded ? node(depth - 1, true) : literal());
        for (size_t i = 1 + below(2); i > 0; --i) made.children.push_back(node(depth - 1, true));
        return made;
      }
      case 3:
        made.kind = Node::Kind::kChoice;
        for (size_t i = 2 + below(2); i > 0; --i) made.children.push_back(node(depth - 1, guarded));
        return made;
      case 4:
        made.kind = Node::Kind::kRepeat;
        made.min = static_cast<int>(below(3));
        made.max = below(2) == 0 ? -1 : made.min + static_cast<int>(below(3));
        if (made.max == 0) made.max = 1;
        made.children.push_back(node(depth - 1, guarded));
        return made;
      default: {
        const size_t first = guarded ? 0 : rule_ + 1;
        if (first >= count_) return literal();
        made.kind = Node::Kind::kRule;
        made.rule = first + below(count_ - first);
        return made;
      }
    }
  }

  std::mt19937& random_;
  size_t rule_ = 0;
  size_t count_ = 0;
};

std::vector<std::string> random_pieces(std::mt19937& random) {
  std::vector<std::string> pieces;
  for (int i = 0; i < 40; ++i) {
    std::string piece;
    for (size_t length = 1 + random() % 4; length > 0; --length)
      piece += kAlphabet[random() % kAlphabet.size()];
    // Some begin or end inside a character.
    const size_t cut = random() % 3;
    if (cut == 1 && piece.size() > 1) piece.pop_back();
    if (cut == 2 && piece.size() > 1) piece.erase(0, 1);
    pieces.push_back(piece);
  }
  pieces.emplace_back("aaaaaaaaaaaaaaaaaaaaaaaa");  // longer than a signature looks
  pieces.emplace_back("abababababababababababab");
  return pieces;
}

std::string rules_text(const std::vector<Node>& rules) {
  std::string text = "root ::= r0\n";
  for (size_t i = 0; i < rules.size(); ++i) text += "r" + std::to_string(i) + " ::= " + gbnf(rules[i]) + "\n";
  return text;
}

/// The text can be read in more ways than are followed: then some of what it may go on with is lost.
bool is_beyond_use(const Grammar& grammar, std::string_view text) {
  const grammar::Automaton& automaton = grammar::compiled(grammar).automaton();
  grammar::Stacks stacks;
  grammar::Stepper stepper(automaton, stacks);
  std::vector<grammar::Position> now{stepper.at(automaton.entry, grammar::kBottom)};
  std::vector<grammar::Position> next;
  for (const char c : text) {
    static_cast<void>(stepper.step(now, static_cast<uint8_t>(c), next));
    std::swap(now, next);
  }
  return stepper.dropped();
}

/// Walks along random allowed tokens and compares the whole mask at each step.
void check_walk(const std::vector<Node>& rules, const std::vector<std::string>& pieces,
                std::mt19937& random) {
  const auto vocabulary = test::byte_vocabulary(pieces);
  const auto grammar = Grammar::from_gbnf(rules_text(rules), vocabulary);
  RC_ASSERT(grammar.has_value());
  std::vector<std::string> tokens{""};
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  tokens.insert(tokens.end(), pieces.begin(), pieces.end());
  GrammarState state(*grammar);
  TokenMask mask;
  std::string text;
  for (int step = 0; step < 6; ++step) {
    state.fill_mask(mask);
    const Verdict here = read(rules, text);
    RC_ASSERT(test::has(mask, test::kEnd) == here.may_end);
    RC_ASSERT(!state.finished() || !here.can_go_on);
    std::vector<TokenId> allowed;
    for (size_t id = 1; id < tokens.size(); ++id) {
      const bool viable = here.can_go_on && read(rules, text + tokens[id]).viable();
      const bool is_allowed = test::has(mask, static_cast<TokenId>(id));
      if (is_allowed != viable && (is_allowed || !is_beyond_use(**grammar, text + tokens[id])))
        RC_FAIL("token " + std::to_string(id) + " after '" + text + "' in\n" + rules_text(rules));
      if (is_allowed) allowed.push_back(static_cast<TokenId>(id));
    }
    if (allowed.empty()) return;
    const TokenId token = allowed[random() % allowed.size()];
    if (is_beyond_use(**grammar, text + tokens[static_cast<size_t>(token)])) return;
    GrammarState copy = state;
    RC_ASSERT(copy.accept(token));
    RC_ASSERT(state.accept(token));
    text += tokens[static_cast<size_t>(token)];
  }
}

RC_GTEST_PROP(Masks, AreWhatTryingEveryTokenGives, (uint32_t seed)) {
  std::mt19937 random(seed);
  for (int i = 0; i < 10; ++i) {
    const std::vector<Node> rules = Maker(random).grammar();
    check_walk(rules, random_pieces(random), random);
  }
}

}  // namespace
}  // namespace kvern::text
