#include "text/unigram_model.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "text/characters.h"

namespace kvern::text {
namespace {

// An unknown character is this much less probable than the rarest token (sentencepiece, unigram_model.cc).
constexpr double kUnknownPenalty = 10.0;

}  // namespace

UnigramModel::UnigramModel(const Vocabulary& vocabulary, std::vector<double> scores, UnigramOptions options)
    : scores_(std::move(scores)), options_(std::move(options)), bytes_(vocabulary) {
  KVERN_CHECK(scores_.size() == vocabulary.size());
  double minimum = 0;
  bool any = false;
  for (size_t i = 0; i < scores_.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (!vocabulary.has(id)) continue;
    minimum = any ? std::min(minimum, scores_[i]) : scores_[i];
    any = true;
    if (i >= options_.never_from_text.size() || !options_.never_from_text[i])
      trie_.insert(vocabulary.text_of(id), id);
  }
  unknown_score_ = minimum - kUnknownPenalty;
}

std::vector<UnigramModel::Node> UnigramModel::best_paths(std::string_view piece) const {
  std::vector<Node> best(piece.size() + 1);
  const auto offer = [&](size_t end, const Node& candidate) {
    if (best[end].token == kNone || candidate.score > best[end].score) best[end] = candidate;
  };
  for (size_t at = 0; at < piece.size();) {
    const size_t character = character_length(piece, at);
    const double score = best[at].score;
    bool character_is_token = false;
    trie_.for_each_prefix(piece, at, [&](Trie::Match match) {
      character_is_token |= match.length == character;
      offer(at + match.length,
            {.score = score + scores_[static_cast<size_t>(match.value)], .start = at, .token = match.value});
    });
    if (!character_is_token)
      offer(at + character, {.score = score + unknown_score_, .start = at, .token = kUnknown});
    at += character;
  }
  return best;
}

void UnigramModel::append_unknown(std::string_view characters, std::vector<TokenId>& out) const {
  if (options_.byte_fallback && bytes_.complete()) {
    for (size_t at = 0; at < characters.size();) {
      const std::string_view character = characters.substr(at, character_length(characters, at));
      const auto byte = escaped_byte(character);
      const char raw = static_cast<char>(byte.value_or(0));
      bytes_.append(byte ? std::string_view(&raw, 1) : character, out);
      at += character.size();
    }
    return;
  }
  if (options_.unk) out.push_back(*options_.unk);
}

void UnigramModel::encode(std::string_view piece, std::vector<TokenId>& out) const {
  const std::vector<Node> best = best_paths(piece);
  std::vector<Node> path;
  std::vector<size_t> ends;
  for (size_t end = piece.size(); end > 0; end = best[end].start) {
    KVERN_CHECK(best[end].token != kNone);
    path.push_back(best[end]);
    ends.push_back(end);
  }
  for (size_t i = path.size(); i-- > 0;) {
    if (path[i].token != kUnknown) {
      out.push_back(path[i].token);
      continue;
    }
    // A run of unknown characters is one token.
    const size_t begin = path[i].start;
    while (i > 0 && path[i - 1].token == kUnknown) --i;
    append_unknown(piece.substr(begin, ends[i] - begin), out);
  }
}

}  // namespace kvern::text
