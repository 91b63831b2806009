#include "text/vocabulary.h"

#include <bit>

#include "base/check.h"
#include "base/hash.h"

namespace kvern::text {
namespace {

uint64_t hash_of(std::string_view text) {
  return xxh3_64(std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace

void Vocabulary::reserve(size_t tokens, size_t bytes) {
  bytes_.reserve(bytes);
  entries_.reserve(tokens);
  if (const size_t slots = std::bit_ceil(tokens * 2 + 16); slots > slots_.size()) grow(slots);
}

bool Vocabulary::add(std::string_view text, TokenId id) {
  KVERN_CHECK(id >= 0 && id < kMaxTokenId);
  const auto index = static_cast<size_t>(id);
  if (index < entries_.size() && entries_[index].present) return false;
  KVERN_CHECK(bytes_.size() + text.size() < kEmpty);
  if (index >= entries_.size()) entries_.resize(index + 1);
  entries_[index] = {.offset = static_cast<uint32_t>(bytes_.size()),
                     .length = static_cast<uint32_t>(text.size()),
                     .present = true};
  bytes_ += text;
  ++count_;
  if ((used_slots_ + 1) * 2 > slots_.size()) grow(std::bit_ceil(slots_.size() * 2 + 16));
  if (const size_t slot = slot_of(text); slots_[slot] == kEmpty) {
    slots_[slot] = static_cast<uint32_t>(id);
    ++used_slots_;
  }
  return true;
}

std::optional<TokenId> Vocabulary::find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const uint32_t id = slots_[slot_of(text)];
  if (id == kEmpty) return std::nullopt;
  return static_cast<TokenId>(id);
}

bool Vocabulary::has(TokenId id) const {
  return id >= 0 && static_cast<size_t>(id) < entries_.size() && entries_[static_cast<size_t>(id)].present;
}

std::string_view Vocabulary::text_of(TokenId id) const {
  if (!has(id)) return {};
  const Entry& entry = entries_[static_cast<size_t>(id)];
  return std::string_view(bytes_).substr(entry.offset, entry.length);
}

size_t Vocabulary::slot_of(std::string_view text) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash_of(text) & mask;
  while (slots_[slot] != kEmpty && text_of(static_cast<TokenId>(slots_[slot])) != text)
    slot = (slot + 1) & mask;
  return slot;
}

void Vocabulary::grow(size_t slots) {
  std::vector<uint32_t> old = std::move(slots_);
  slots_.assign(slots, kEmpty);
  for (const uint32_t id : old)
    if (id != kEmpty) slots_[slot_of(text_of(static_cast<TokenId>(id)))] = id;
}

}  // namespace kvern::text
