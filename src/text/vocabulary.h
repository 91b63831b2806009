// Token strings by id and ids by string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/token.h"

namespace kvern::text {

/// A table from strings to ids and back. Ids may have gaps; a string may stand at several ids, and the first
/// that was added is the one that find() gives. Filled by one thread, then immutable and thread-safe.
class Vocabulary {
 public:
  /// Makes room for `tokens` tokens of `bytes` bytes in total.
  void reserve(size_t tokens, size_t bytes);
  /// False (and nothing changes) when the id is taken. `id` is in [0, kMaxTokenId). An id whose text is
  /// already known keeps its text for text_of(), but find() goes on giving the other one.
  bool add(std::string_view text, TokenId id);

  std::optional<TokenId> find(std::string_view text) const;
  bool has(TokenId id) const;
  /// Empty for an id that does not exist. Valid until the next add().
  std::string_view text_of(TokenId id) const;

  /// One more than the largest id.
  size_t size() const { return entries_.size(); }
  /// How many ids have a text.
  size_t count() const { return count_; }

 private:
  struct Entry {
    uint32_t offset = 0;
    uint32_t length = 0;
    bool present = false;
  };
  static constexpr uint32_t kEmpty = 0xFFFFFFFF;

  size_t slot_of(std::string_view text) const;
  void grow(size_t slots);

  std::string bytes_;  ///< All texts, one after the other.
  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  ///< Open addressing, power of two: ids.
  size_t used_slots_ = 0;
  size_t count_ = 0;
};

}  // namespace kvern::text
