// The tree of token sequences against a list of them that is searched from end to end.
#include "engine/prefix/prefix_tree.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace kvern::engine {
namespace {

using Tokens = std::vector<int32_t>;

struct Sequence {
  Tokens tokens;
  int64_t minimum = 0;
};

int64_t common(const Tokens& a, const Tokens& b) { return std::ranges::mismatch(a, b).in1 - a.begin(); }

// The same answers, from looking at all sequences.
class List {
 public:
  std::map<uint64_t, Sequence> all;

  int64_t usable(const Sequence& sequence, const Tokens& prompt, int64_t limit) const {
    const int64_t n = std::min(common(sequence.tokens, prompt), limit);
    return n >= sequence.minimum || n == std::ssize(sequence.tokens) ? n : 0;
  }
  int64_t longest_usable(const Tokens& prompt, int64_t limit) const {
    int64_t best = 0;
    for (const auto& [id, sequence] : all) best = std::max(best, usable(sequence, prompt, limit));
    return best;
  }
  int64_t longest_common(const Tokens& prompt) const {
    int64_t best = 0;
    for (const auto& [id, sequence] : all) best = std::max(best, common(sequence.tokens, prompt));
    return best;
  }
  // Every nearest sequence goes on behind what is common, and so does the prompt.
  int64_t parting(const Tokens& prompt) const {
    const int64_t longest = longest_common(prompt);
    const auto goes_on = [&](const auto& item) {
      return common(item.second.tokens, prompt) == longest && std::ssize(item.second.tokens) > longest;
    };
    return longest < std::ssize(prompt) && std::ranges::any_of(all, goes_on) ? longest : 0;
  }
  std::vector<uint64_t> beginnings(uint64_t of) const {
    std::vector<uint64_t> found;
    const Tokens& tokens = all.at(of).tokens;
    for (const auto& [id, sequence] : all) {
      const int64_t length = std::ssize(sequence.tokens);
      if (length < std::ssize(tokens) && common(sequence.tokens, tokens) == length) found.push_back(id);
    }
    return found;
  }
};

class Script {
 public:
  explicit Script(uint32_t seed) : random_(seed), letters_(draw(1, 4)) {}

  int64_t draw(int64_t from, int64_t to) { return std::uniform_int_distribution<int64_t>(from, to)(random_); }
  Tokens draw_tokens() {
    Tokens tokens(static_cast<size_t>(draw(0, 12)));
    for (int32_t& token : tokens) token = static_cast<int32_t>(draw(0, letters_ - 1));
    return tokens;
  }

  void change(PrefixTree& tree, List& list) {
    const int64_t kind = draw(0, 9);
    if (kind < 6 || list.all.empty()) {
      Sequence sequence{.tokens = draw_tokens()};
      sequence.minimum = draw(0, std::ssize(sequence.tokens));
      tree.insert(next_, sequence.tokens, sequence.minimum);
      list.all[next_++] = sequence;
      return;
    }
    const auto it = std::next(list.all.begin(), draw(0, std::ssize(list.all) - 1));
    if (kind < 8) {
      const Tokens more = draw_tokens();
      Sequence& sequence = it->second;
      sequence.tokens.insert(sequence.tokens.end(), more.begin(), more.end());
      sequence.minimum = draw(sequence.minimum, std::ssize(sequence.tokens));
      tree.extend(it->first, more, sequence.minimum);
    } else {
      tree.erase(it->first);
      list.all.erase(it);
    }
  }

 private:
  std::mt19937 random_;
  int64_t letters_;
  uint64_t next_ = 1;
};

void compare(Script& script, const PrefixTree& tree, const List& list) {
  const Tokens prompt = script.draw_tokens();
  const int64_t limit = script.draw(0, 1) == 0 ? 100 : std::max<int64_t>(0, std::ssize(prompt) - 1);
  const PrefixTree::Match match = tree.find(prompt, limit);
  ASSERT_EQ(match.tokens, list.longest_usable(prompt, limit));
  ASSERT_EQ(match.common, list.longest_common(prompt));
  ASSERT_EQ(match.parting, list.parting(prompt));
  if (match.tokens > 0) {
    ASSERT_EQ(list.usable(list.all.at(match.id), prompt, limit), match.tokens);
  }
  ASSERT_EQ(tree.size(), list.all.size());
  for (const auto& [id, sequence] : list.all) {
    ASSERT_EQ(tree.length(id), std::ssize(sequence.tokens));
    ASSERT_EQ(tree.minimum(id), sequence.minimum);
  }
  if (list.all.empty()) return;
  const uint64_t any = std::next(list.all.begin(), script.draw(0, std::ssize(list.all) - 1))->first;
  std::vector<uint64_t> found = tree.beginnings(any);
  ASSERT_TRUE(
      std::ranges::is_sorted(found, std::ranges::greater{}, [&](uint64_t id) { return tree.length(id); }));
  std::ranges::sort(found);
  ASSERT_EQ(found, list.beginnings(any));
}

// Case B23.
TEST(PrefixTree, FindsWhatASearchOfAllSequencesFindsInTenThousandRandomSets) {
  for (uint32_t seed = 0; seed < 10'000; ++seed) {
    SCOPED_TRACE(seed);
    Script script(seed);
    PrefixTree tree;
    List list;
    for (int64_t changes = script.draw(1, 24); changes > 0; --changes) {
      script.change(tree, list);
      if (changes % 4 == 0) {
        ASSERT_NO_FATAL_FAILURE(compare(script, tree, list));
      }
    }
    for (int i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(compare(script, tree, list));
  }
}

// Case B23.
TEST(PrefixTree, FindsABeginningOfOneToken) {
  PrefixTree tree;
  tree.insert(5, Tokens{7}, 0);
  const PrefixTree::Match match = tree.find(Tokens{7, 8, 9}, 2);
  EXPECT_EQ(match.tokens, 1);
  EXPECT_EQ(match.id, 5U);
  EXPECT_EQ(match.parting, 0) << "the prompt continues it";
}

TEST(PrefixTree, TakesAShorterSequenceWhereALongerOneCannotBeCut) {
  PrefixTree tree;
  tree.insert(1, Tokens{1, 2, 3}, 3);
  tree.insert(2, Tokens{1, 2, 3, 4, 5, 6}, 5);
  const auto found = [&](const Tokens& prompt) { return tree.find(prompt, std::ssize(prompt) - 1); };
  EXPECT_EQ(found({1, 2, 3, 4, 5, 9}).id, 2U);
  EXPECT_EQ(found({1, 2, 3, 4, 9}).id, 1U);
  EXPECT_EQ(found({1, 2, 3, 4, 9}).tokens, 3);
  EXPECT_EQ(found({1, 2, 3, 4, 9}).parting, 4);
  EXPECT_EQ(found({1, 2, 9}).tokens, 0);
  EXPECT_EQ(found({1, 2, 9}).common, 2);
}

TEST(PrefixTree, PrefersTheSequenceThatEndsWhereTheMatchDoes) {
  PrefixTree tree;
  tree.insert(1, Tokens{1, 2, 3, 4}, 0);
  tree.insert(2, Tokens{1, 2}, 0);
  EXPECT_EQ(tree.find(Tokens{1, 2, 9}).id, 2U);
}

TEST(PrefixTree, EndsAChainOfManySequencesWithoutADeepStack) {
  PrefixTree tree;
  Tokens tokens;
  for (int32_t i = 0; i < 3000; ++i) {
    tokens.push_back(i % 3);
    tree.insert(static_cast<uint64_t>(i), tokens, 0);
  }
  EXPECT_EQ(tree.beginnings(2999).size(), 2999U);
  EXPECT_EQ(tree.find(tokens).tokens, 3000);
}

}  // namespace
}  // namespace kvern::engine
