#include "text/grammar/token_table.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "text/grammar/char_set.h"
#include "text/grammar/nfa.h"

namespace kvern::text::grammar {
namespace {

constexpr size_t kMaxKeptBytes = size_t{64} << 20;
constexpr size_t kMaxTokenBytes = std::numeric_limits<uint16_t>::max();

/// The bytes that UTF-8 has.
bool is_utf8_byte(uint32_t byte) { return byte < 0xC0 || (byte >= 0xC2 && byte <= 0xF4); }

/// A token that no text can contain: its bytes are kept for tokens named by id.
bool is_spelled_like_an_id(std::string_view bytes) {
  return std::ranges::any_of(bytes, [](char c) { return static_cast<uint8_t>(c) >= kTokenDigit; });
}

}  // namespace

TokenTable::TokenTable(std::vector<std::string> bytes, Vocabulary names, std::vector<TokenId> end_tokens)
    : bytes_(std::move(bytes)), names_(std::move(names)), end_tokens_(std::move(end_tokens)) {
  std::ranges::sort(end_tokens_);
  const auto rest = std::ranges::unique(end_tokens_);
  end_tokens_.erase(rest.begin(), rest.end());
  std::vector<TokenTrie::Token> short_tokens;
  std::vector<TokenTrie::Token> long_tokens;
  for (size_t id = 0; id < bytes_.size(); ++id) {
    const auto token = static_cast<TokenId>(id);
    if (is_end(token) || is_spelled_like_an_id(bytes_[id]) || bytes_[id].size() > kMaxTokenBytes)
      bytes_[id].clear();
    if (bytes_[id].empty()) continue;
    auto& list = bytes_[id].size() <= kSignatureBytes ? short_tokens : long_tokens;
    list.push_back({.bytes = bytes_[id], .id = token});
  }
  short_tokens_ = TokenTrie(std::move(short_tokens));
  long_tokens_ = TokenTrie(std::move(long_tokens));
  find_spellable();
}

bool TokenTable::is_end(TokenId id) const { return std::ranges::binary_search(end_tokens_, id); }

size_t TokenTable::longest_token() const {
  return std::max<size_t>({short_tokens_.max_depth(), long_tokens_.max_depth(), kTokenDigits});
}

void TokenTable::find_spellable() {
  for (const TokenTrie::Token& token : short_tokens_.tokens())
    if (token.bytes.size() == 1) spellable_.bytes.set(static_cast<uint8_t>(token.bytes.front()));
  bool all = true;
  for (uint32_t byte = 0; byte < 256; ++byte) all = all && (!is_utf8_byte(byte) || spellable_.bytes[byte]);
  if (all) return;
  for (const TokenTrie::Token& token : short_tokens_.tokens()) {
    if (token.bytes.size() > 1 && decode_utf8(token.bytes).length == token.bytes.size())
      spellable_.characters.emplace_back(token.bytes);
  }
}

std::shared_ptr<const StateMask> TokenTable::short_mask(const Automaton& automaton, StateId state) const {
  const Signature& signature = automaton.signatures[state];
  {
    const MutexLock lock(mutex_);
    const auto found = kept_.find(signature);
    if (found != kept_.end()) {
      kept_order_.splice(kept_order_.begin(), kept_order_, found->second.place);
      return found->second.mask;
    }
  }
  auto mask = std::make_shared<const StateMask>(mask_of_state(automaton, state, short_tokens_, size()));
  const MutexLock lock(mutex_);
  const auto [entry, is_new] = kept_.try_emplace(signature);
  if (!is_new) return entry->second.mask;
  kept_order_.push_front(signature);
  entry->second = {.mask = mask, .place = kept_order_.begin()};
  kept_bytes_ += mask->memory_bytes();
  while (kept_bytes_ > kMaxKeptBytes && kept_.size() > 1) {
    const auto oldest = kept_.find(kept_order_.back());
    kept_bytes_ -= oldest->second.mask->memory_bytes();
    kept_.erase(oldest);
    kept_order_.pop_back();
  }
  return mask;
}

}  // namespace kvern::text::grammar
