// What must hold with any vocabulary of a model.
#pragma once

#include "text/tokenizer.h"

namespace kvern::test {

/// For each of kSchemaCases: texts of random allowed tokens are JSON that is valid under the schema, and the
/// tokens of documents that are valid are allowed one after the other.
void check_with_vocabulary(const text::Tokenizer& tokenizer);

}  // namespace kvern::test
