#include "text/bpe_model.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "text/characters.h"

namespace kvern::text {

/// Merges the symbols of one piece, lowest rank first and the leftmost of equals, until none is left to
/// merge.
class BpeModel::Merger {
 public:
  Merger(const MergeTable& merges, std::vector<Symbol>& symbols) : merges_(merges), symbols_(symbols) {
    queue_.reserve(symbols.size());
    for (size_t i = 0; i + 1 < symbols.size(); ++i)
      consider(static_cast<int32_t>(i), static_cast<int32_t>(i) + 1);
    std::ranges::make_heap(queue_, std::greater<>());
  }

  void run() {
    heap_is_made_ = true;
    while (!queue_.empty()) {
      std::ranges::pop_heap(queue_, std::greater<>());
      const Candidate best = queue_.back();
      queue_.pop_back();
      if (is_current(best)) merge(best);
    }
  }

 private:
  struct Candidate {
    uint64_t order = 0;  ///< Rank, then position: one comparison.
    TokenId result = 0;
    int32_t left() const { return static_cast<int32_t>(order & 0xFFFFFFFF); }
    bool operator>(const Candidate& other) const { return order > other.order; }
    bool operator<(const Candidate& other) const { return order < other.order; }
    bool operator<=(const Candidate& other) const { return order <= other.order; }
    bool operator>=(const Candidate& other) const { return order >= other.order; }
    bool operator==(const Candidate& other) const { return order == other.order; }
  };

  Symbol& at(int32_t i) { return symbols_[static_cast<size_t>(i)]; }

  void consider(int32_t left, int32_t right) {
    const MergeTable::Merge* merge = merges_.find(at(left).id, at(right).id);
    if (merge == nullptr) return;
    queue_.push_back(
        {.order = (uint64_t{merge->rank} << 32) | static_cast<uint32_t>(left), .result = merge->result});
    if (heap_is_made_) std::ranges::push_heap(queue_, std::greater<>());
  }

  /// Its symbols may have been merged since. Like the reference, a candidate still counts when other symbols
  /// at its place merge to the same token.
  bool is_current(const Candidate& candidate) {
    const Symbol& left = at(candidate.left());
    if (left.merged_away || left.next < 0) return false;
    const MergeTable::Merge* merge = merges_.find(left.id, at(left.next).id);
    return merge != nullptr && merge->result == candidate.result;
  }

  void merge(const Candidate& candidate) {
    Symbol& left = at(candidate.left());
    Symbol& right = at(left.next);
    left.id = candidate.result;
    left.next = right.next;
    right.merged_away = true;
    if (right.next >= 0) at(right.next).previous = candidate.left();
    if (left.previous >= 0) consider(left.previous, candidate.left());
    if (left.next >= 0) consider(candidate.left(), left.next);
  }

  const MergeTable& merges_;
  std::vector<Symbol>& symbols_;
  std::vector<Candidate> queue_;
  bool heap_is_made_ = false;
};

BpeModel::BpeModel(const Vocabulary& vocabulary, MergeTable merges, BpeOptions options, Vocabulary partial)
    : vocabulary_(vocabulary),
      merges_(std::move(merges)),
      options_(std::move(options)),
      partial_(std::move(partial)),
      bytes_(vocabulary),
      ascii_(128, -1) {
  for (size_t c = 0; c < ascii_.size(); ++c) {
    const char character = static_cast<char>(c);
    ascii_[c] = symbol_of(std::string_view(&character, 1)).value_or(-1);
  }
}

bool BpeModel::may_come_from_text(TokenId id) const {
  const auto index = static_cast<size_t>(id);
  return index >= options_.never_from_text.size() || !options_.never_from_text[index];
}

std::optional<TokenId> BpeModel::symbol_of(std::string_view character) const {
  if (const auto id = vocabulary_.find(character); id && may_come_from_text(*id)) return id;
  return partial_.find(character);
}

void BpeModel::append_initial_symbols(std::string_view piece, std::vector<Symbol>& symbols) const {
  const auto add = [&](TokenId id) { symbols.push_back({.id = id}); };
  const bool plain = options_.subword_prefix.empty() && options_.end_of_word_suffix.empty();
  bool unk_waits = false;  // The reference adds an unk only once it knows that no other follows.
  std::string spelled;
  std::vector<TokenId> bytes;
  for (size_t at = 0; at < piece.size();) {
    std::string_view character = piece.substr(at, character_length(piece, at));
    const bool first = at == 0;
    at += character.size();
    if (!plain) {
      spelled = first ? std::string() : options_.subword_prefix;
      spelled += character;
      if (at == piece.size()) spelled += options_.end_of_word_suffix;
      character = spelled;
    }
    std::optional<TokenId> id;
    if (const auto c = static_cast<unsigned char>(character[0]); character.size() == 1 && c < ascii_.size()) {
      if (ascii_[c] >= 0) id = ascii_[c];
    } else {
      id = symbol_of(character);
    }
    if (id) {
      if (unk_waits) add(*options_.unk);
      unk_waits = false;
      add(*id);
      continue;
    }
    if (options_.byte_fallback) {
      const auto byte = escaped_byte(character);
      const char raw = static_cast<char>(byte.value_or(0));
      bytes.clear();
      if (bytes_.append(byte ? std::string_view(&raw, 1) : character, bytes)) {
        for (const TokenId token : bytes) add(token);
        continue;
      }
    }
    if (!options_.unk) continue;
    if (unk_waits && !options_.fuse_unk) add(*options_.unk);
    unk_waits = true;
  }
  if (unk_waits) add(*options_.unk);
}

void BpeModel::append_token(TokenId id, bool& after_unk, std::vector<TokenId>& out) const {
  const bool partial = static_cast<size_t>(id) >= vocabulary_.size();
  if (!partial) {
    after_unk = options_.unk == id;
    out.push_back(id);
    return;
  }
  if (options_.byte_fallback && bytes_.append(partial_.text_of(id), out)) {
    after_unk = false;
    return;
  }
  if (!options_.unk) return;
  if (!after_unk || !options_.fuse_unk) out.push_back(*options_.unk);
  after_unk = true;
}

void BpeModel::encode(std::string_view piece, std::vector<TokenId>& out) const {
  if (options_.ignore_merges) {
    if (const auto id = vocabulary_.find(piece); id && may_come_from_text(*id)) {
      out.push_back(*id);
      return;
    }
  }
  KVERN_CHECK(piece.size() < INT32_MAX);
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  append_initial_symbols(piece, symbols);
  if (symbols.empty()) return;
  for (size_t i = 0; i < symbols.size(); ++i) {
    symbols[i].previous = static_cast<int32_t>(i) - 1;
    symbols[i].next = i + 1 < symbols.size() ? static_cast<int32_t>(i) + 1 : -1;
  }
  Merger(merges_, symbols).run();
  bool after_unk = false;
  for (int32_t i = 0; i >= 0; i = symbols[static_cast<size_t>(i)].next)
    append_token(symbols[static_cast<size_t>(i)].id, after_unk, out);
}

}  // namespace kvern::text
