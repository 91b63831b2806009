// The merges that SentencePiece's BPE leaves unsaid: its file has a score for each token, and any two
// neighbours that spell a token may merge, the best score first (Kudo and Richardson, 2018, arXiv:1808.06226;
// sentencepiece, bpe_model.cc).
#pragma once

#include <vector>

#include "text/merge_table.h"
#include "text/vocabulary.h"

namespace kvern::text {

struct ScoreMerges {
  MergeTable table;
  /// Characters that tokens are spelled with but that are no token; ids from vocabulary.size() on.
  Vocabulary partial;
};

/// All ways to cut each token in two symbols, ranked by the token's score; equal scores have equal ranks.
/// `scores` are finite, one for each id. Tokens marked in `excluded` are not made and not merged.
ScoreMerges merges_from_scores(const Vocabulary& vocabulary, const std::vector<float>& scores,
                               const std::vector<bool>& excluded);

}  // namespace kvern::text
