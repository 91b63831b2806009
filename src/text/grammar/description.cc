#include "text/grammar/description.h"

#include <xxhash.h>

namespace kvern::text::grammar {

Signature Description::hash() const {
  const XXH128_hash_t hash = XXH3_128bits(words_.data(), words_.size() * sizeof(uint64_t));
  return {.low = hash.low64, .high = hash.high64};
}

}  // namespace kvern::text::grammar
