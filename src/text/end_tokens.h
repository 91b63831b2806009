// Which tokens end a generation.
#pragma once

#include <vector>

#include "text/token.h"
#include "text/vocabulary.h"

namespace kvern::text {

/// The tokens that a file names (`named`), joined with those that are known by their spelling to end a turn
/// or a document: files often name only one of them, and a model that ends its turn with another would speak
/// on. Sorted, without duplicates.
std::vector<TokenId> find_end_tokens(const Vocabulary& vocabulary, const std::vector<TokenId>& named);

}  // namespace kvern::text
