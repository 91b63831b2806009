// The byte alphabet: bytes_to_unicode of GPT-2's encoder.py (openai/gpt-2): printable Latin-1 stands for
// itself, the 68 others for the code points from 256 on.
#include "model/synth/vocabulary.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace kvern::model {
namespace {

constexpr int32_t kNormal = 1;
constexpr int32_t kControl = 3;

bool stands_for_itself(unsigned byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
}

// Code points below 2048 only.
std::string utf8(unsigned code_point) {
  if (code_point < 128) return std::string(1, static_cast<char>(code_point));
  return {static_cast<char>(0xc0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 63))};
}

std::vector<std::string> byte_alphabet() {
  std::vector<std::string> alphabet;
  alphabet.reserve(256);
  unsigned next = 256;
  for (unsigned byte = 0; byte < 256; ++byte)
    alphabet.push_back(utf8(stands_for_itself(byte) ? byte : next++));
  return alphabet;
}

void add_merges(const std::string& space, SynthVocabulary& out) {
  const auto add = [&out](const std::string& left, const std::string& right) {
    out.merges.push_back(left + ' ' + right);
    out.tokens.push_back(left + right);
  };
  for (char letter = 'a'; letter <= 'z'; ++letter) add(space, std::string(1, letter));
  constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
      {"t", "h"}, {"h", "e"}, {"i", "n"}, {"e", "r"}, {"a", "n"}, {"o", "n"}, {"a", "t"}, {"o", "r"}};
  for (const auto& [left, right] : kPairs) add(std::string(left), std::string(right));
  add(space + "t", "he");
}

}  // namespace

SynthVocabulary make_synth_vocabulary(int64_t size) {
  KVERN_CHECK(size >= 512);
  SynthVocabulary out;
  out.tokens = byte_alphabet();
  const std::string space = out.tokens[' '];  // a copy: the tokens move when more are added
  add_merges(space, out);
  while (static_cast<int64_t>(out.tokens.size()) < size - 2)
    out.tokens.push_back(fmt::format("w{:06}", out.tokens.size()));
  out.types.assign(out.tokens.size(), kNormal);
  out.begin_token = static_cast<uint32_t>(out.tokens.size());
  out.end_token = out.begin_token + 1;
  for (const char* text : {"<|begin|>", "<|endoftext|>"}) {
    out.tokens.emplace_back(text);
    out.types.push_back(kControl);
  }
  return out;
}

void add_vocabulary(const SynthVocabulary& vocabulary, std::string_view pretokenizer, GgufWriter& writer) {
  writer.add_string("tokenizer.ggml.model", "gpt2");
  writer.add_string("tokenizer.ggml.pre", pretokenizer);
  writer.add_strings("tokenizer.ggml.tokens", vocabulary.tokens);
  writer.add_i32s("tokenizer.ggml.token_type", vocabulary.types);
  writer.add_strings("tokenizer.ggml.merges", vocabulary.merges);
  writer.add_u32("tokenizer.ggml.bos_token_id", vocabulary.begin_token);
  writer.add_u32("tokenizer.ggml.eos_token_id", vocabulary.end_token);
  writer.add_bool("tokenizer.ggml.add_bos_token", false);
}

}  // namespace kvern::model
