#include "server/protocol/openai/logprobs_json.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.h"

namespace kvern::server::openai {
namespace {

/// What OpenAI's API writes for a token that is as good as impossible; JSON has no infinity.
constexpr double kLowest = -9999.0;

double finite(float logprob) { return std::max(static_cast<double>(logprob), kLowest); }

json::object token_json(engine::TokenId token, float logprob, const text::Tokenizer& tokenizer) {
  const std::string bytes = tokenizer.token_bytes(token);
  json::array numbers;
  numbers.reserve(bytes.size());
  for (const char byte : bytes) numbers.push_back(static_cast<unsigned char>(byte));
  return {
      {"token", replace_invalid_utf8(bytes)}, {"logprob", finite(logprob)}, {"bytes", std::move(numbers)}};
}

/// A part of a character is written "bytes:\xe2\x80", as OpenAI's completions do: names in an object must
/// differ.
std::string token_name(engine::TokenId token, const text::Tokenizer& tokenizer) {
  std::string bytes = tokenizer.token_bytes(token);
  if (is_valid_utf8(bytes)) return bytes;
  std::string name = "bytes:";
  for (const char byte : bytes) name += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return name;
}

}  // namespace

json::object chat_logprob(const engine::TokenLogprobs& logprobs, const text::Tokenizer& tokenizer) {
  json::object object = token_json(logprobs.token, logprobs.logprob, tokenizer);
  json::array top;
  top.reserve(logprobs.top.size());
  for (const auto& [token, logprob] : logprobs.top) top.push_back(token_json(token, logprob, tokenizer));
  object["top_logprobs"] = std::move(top);
  return object;
}

void CompletionLogprobs::add_token(engine::TokenId token) {
  tokens_.push_back(json::value(token_name(token, tokenizer_)));
  text_offset_.push_back(offset_);
  if (tokenizer_.is_special(token)) return;
  // The bytes that begin a character, so that one in several tokens counts once.
  offset_ += std::ranges::count_if(tokenizer_.token_bytes(token), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  });
}

void CompletionLogprobs::add(const engine::TokenLogprobs& logprobs) {
  add_token(logprobs.token);
  token_logprobs_.push_back(finite(logprobs.logprob));
  json::object top;
  for (const auto& [token, logprob] : logprobs.top) top[token_name(token, tokenizer_)] = finite(logprob);
  top[token_name(logprobs.token, tokenizer_)] = finite(logprobs.logprob);
  top_logprobs_.push_back(std::move(top));
}

void CompletionLogprobs::add_first(engine::TokenId token) {
  add_token(token);
  token_logprobs_.push_back(nullptr);
  top_logprobs_.push_back(nullptr);
}

json::value CompletionLogprobs::take() {
  if (tokens_.empty()) return nullptr;
  return json::object{{"tokens", std::exchange(tokens_, {})},
                      {"token_logprobs", std::exchange(token_logprobs_, {})},
                      {"top_logprobs", std::exchange(top_logprobs_, {})},
                      {"text_offset", std::exchange(text_offset_, {})}};
}

int64_t count_characters(std::string_view text) {
  return std::ranges::count_if(text,
                               [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; });
}

}  // namespace kvern::server::openai
