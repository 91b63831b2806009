#include "text/grammar/token_trie.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace kvern::text::grammar {
namespace {

constexpr uint8_t kAscii = 0x80;

constexpr std::array<uint8_t, kAscii> make_kinds() {
  std::array<uint8_t, kAscii> kinds{};
  uint8_t next = 0;
  const auto one_kind = [&](int first, int last) {
    for (int byte = first; byte <= last; ++byte) kinds[static_cast<size_t>(byte)] = next;
    ++next;
  };
  one_kind('0', '9');
  one_kind('A', 'F');
  one_kind('G', 'Z');
  one_kind('a', 'f');
  one_kind('g', 'z');
  // Control characters are one kind, but those that texts have.
  one_kind(0, 0x1F);
  for (const int byte : std::initializer_list<int>{'\t', '\n', '\r', 0x7F}) one_kind(byte, byte);
  for (int byte = ' '; byte < 0x7F; ++byte) {
    const bool is_sign = byte < '0' || (byte > '9' && byte < 'A') || (byte > 'Z' && byte < 'a') || byte > 'z';
    if (is_sign) one_kind(byte, byte);
  }
  return kinds;
}

constexpr std::array<uint8_t, kAscii> kKinds = make_kinds();
constexpr size_t kKindsOfAscii = std::ranges::max(kKinds) + 1;
static_assert(TextKinds{1} << (kKindsOfAscii - 1) < kCharacters);

TextKinds kind_of(uint8_t byte) { return TextKinds{1} << kKinds[byte]; }

// The Unicode Standard, table 3-7.
constexpr std::array<Utf8Beginning, 8> kBeginnings{{
    {.lead = {0xC2, 0xDF}, .second = {0x80, 0xBF}, .more = 0},
    {.lead = {0xE0, 0xE0}, .second = {0xA0, 0xBF}, .more = 1},
    {.lead = {0xE1, 0xEC}, .second = {0x80, 0xBF}, .more = 1},
    {.lead = {0xED, 0xED}, .second = {0x80, 0x9F}, .more = 1},
    {.lead = {0xEE, 0xEF}, .second = {0x80, 0xBF}, .more = 1},
    {.lead = {0xF0, 0xF0}, .second = {0x90, 0xBF}, .more = 2},
    {.lead = {0xF1, 0xF3}, .second = {0x80, 0xBF}, .more = 2},
    {.lead = {0xF4, 0xF4}, .second = {0x80, 0x8F}, .more = 2},
}};

/// The bytes of each kind of ASCII.
std::array<ByteSet, kKindsOfAscii> make_bytes_of_kinds() {
  std::array<ByteSet, kKindsOfAscii> bytes;
  for (size_t byte = 0; byte < kAscii; ++byte) bytes[kKinds[byte]].set(byte);
  return bytes;
}

}  // namespace

TextKinds kinds_without(const ByteSet& bytes) {
  static const std::array<ByteSet, kKindsOfAscii> bytes_of_kinds = make_bytes_of_kinds();
  TextKinds kinds = 0;
  for (size_t kind = 0; kind < kKindsOfAscii; ++kind)
    if ((bytes_of_kinds[kind] & bytes).none()) kinds |= TextKinds{1} << kind;
  return kinds;
}

std::span<const Utf8Beginning> utf8_beginnings() { return kBeginnings; }

TokenTrie::TokenTrie(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
  std::ranges::sort(tokens_, [](const Token& a, const Token& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.id < b.id;
  });
  std::vector<uint32_t> path;  // the open nodes
  std::string_view previous;
  for (uint32_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view bytes = tokens_[i].bytes;
    const size_t shared = static_cast<size_t>(std::ranges::mismatch(previous, bytes).in1 - previous.begin());
    for (; path.size() > shared; path.pop_back())
      nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
    for (size_t depth = shared; depth < bytes.size(); ++depth) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({.first_token = i,
                        .depth = static_cast<uint16_t>(depth),
                        .byte = static_cast<uint8_t>(bytes[depth])});
    }
    ++nodes_[path.back()].own;
    max_depth_ = std::max(max_depth_, static_cast<uint32_t>(bytes.size()));
    previous = bytes;
  }
  for (const uint32_t node : path) nodes_[node].end = static_cast<uint32_t>(nodes_.size());
  fill_below();
}

template <typename Each>
void TokenTrie::for_each_child(size_t node, const Each& each) const {
  for (size_t child = node + 1; child < nodes_[node].end; child = nodes_[child].end) each(child);
}

void TokenTrie::fill_below() {
  below_.resize(nodes_.size());
  // Children come behind their parents.
  for (size_t i = nodes_.size(); i-- > 0;) {
    Below& below = below_[i];
    for_each_child(i, [&](size_t child) {
      const uint8_t byte = nodes_[child].byte;
      below.height = std::max(below.height, below_[child].height + 1);
      if (byte < kAscii) {
        below.kinds |= kind_of(byte) | below_[child].kinds;
        return;
      }
      const auto beginning = std::ranges::find_if(kBeginnings, [&](const Utf8Beginning& one) {
        return byte >= one.lead.first && byte <= one.lead.second;
      });
      below.kinds |= beginning == kBeginnings.end()
                         ? kIllFormed
                         : kCharacters | kinds_of_rest(child, beginning->second, beginning->more);
    });
  }
}

/// Below a node that is not the last byte of its character.
TextKinds TokenTrie::kinds_of_rest(size_t node, std::pair<uint8_t, uint8_t> bytes, int more) const {
  TextKinds kinds = 0;
  for_each_child(node, [&](size_t child) {
    const uint8_t byte = nodes_[child].byte;
    if (byte < bytes.first || byte > bytes.second)
      kinds |= kIllFormed;
    else
      kinds |= more == 0 ? below_[child].kinds : kinds_of_rest(child, kContinuation, more - 1);
  });
  return kinds;
}

}  // namespace kvern::text::grammar
