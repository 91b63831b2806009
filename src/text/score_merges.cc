#include "text/score_merges.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "text/characters.h"

namespace kvern::text {
namespace {

// A token of n bytes has n - 1 cuts to look up; the longest of real vocabularies is 93. Beyond this a hostile
// file would make loading quadratic.
constexpr size_t kMaxTokenBytes = 1024;

/// Symbols by their text: tokens that may be made, and single characters that are none.
class Symbols {
 public:
  Symbols(const Vocabulary& vocabulary, const std::vector<bool>& excluded, Vocabulary& partial)
      : vocabulary_(vocabulary), excluded_(excluded), partial_(partial) {}

  std::optional<TokenId> find(std::string_view text) {
    if (const auto id = vocabulary_.find(text); id && !excluded_[static_cast<size_t>(*id)]) return id;
    if (character_length(text, 0) != text.size()) return std::nullopt;
    if (const auto id = partial_.find(text)) return id;
    const auto id = static_cast<TokenId>(vocabulary_.size() + partial_.count());
    partial_.add(text, id);
    return id;
  }

 private:
  const Vocabulary& vocabulary_;
  const std::vector<bool>& excluded_;
  Vocabulary& partial_;
};

/// Ranks by id: 0 for the best score, the same number for equal scores.
std::vector<uint32_t> rank_scores(const std::vector<float>& scores) {
  std::vector<uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
  std::vector<uint32_t> ranks(scores.size());
  uint32_t rank = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && scores[order[i]] != scores[order[i - 1]]) ++rank;
    ranks[order[i]] = rank;
  }
  return ranks;
}

}  // namespace

ScoreMerges merges_from_scores(const Vocabulary& vocabulary, const std::vector<float>& scores,
                               const std::vector<bool>& excluded) {
  ScoreMerges merges;
  merges.table.reserve(vocabulary.size() * 2);
  Symbols symbols(vocabulary, excluded, merges.partial);
  const std::vector<uint32_t> ranks = rank_scores(scores);
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const std::string_view text = vocabulary.text_of(id);
    if (excluded[i] || text.size() > kMaxTokenBytes || vocabulary.find(text) != id) continue;
    for (size_t cut = character_length(text, 0); cut < text.size(); cut += character_length(text, cut)) {
      const auto left = symbols.find(text.substr(0, cut));
      const auto right = symbols.find(text.substr(cut));
      if (left && right) merges.table.set(*left, *right, {.rank = ranks[i], .result = id});
    }
  }
  return merges;
}

}  // namespace kvern::text
