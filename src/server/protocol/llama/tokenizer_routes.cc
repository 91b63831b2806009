#include "server/protocol/llama/tokenizer_routes.h"

#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/utf8.h"
#include "server/protocol/fields.h"

namespace kvern::server::llama {
namespace {

Result<const text::Tokenizer*> tokenizer_of(const ProtocolContext& context, const std::string& path) {
  if (const text::Tokenizer* tokenizer = context.engine.tokenizer()) return tokenizer;
  return fail(ErrorCode::kUnsupported, path + ": this model has no tokenizer", path);
}

json::value piece_json(const std::string& bytes) {
  if (is_valid_utf8(bytes)) return json::value(bytes);
  json::array array;
  for (const char byte : bytes) array.push_back(static_cast<uint8_t>(byte));
  return array;
}

}  // namespace

Result<std::string> tokenize(const json::value& value, const ProtocolContext& context) {
  KVERN_TRY(ObjectReader body, ObjectReader::of(value, ""));
  KVERN_TRY(const std::string content, body.required_string("content"));
  KVERN_TRY(const auto add_special, body.boolean("add_special"));
  KVERN_TRY(const auto parse_special, body.boolean("parse_special"));
  KVERN_TRY(const auto with_pieces, body.boolean("with_pieces"));
  KVERN_TRY_STATUS(body.finish());
  KVERN_TRY(const text::Tokenizer* tokenizer, tokenizer_of(context, "content"));
  if (content.size() > kMostText) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("content: has {} bytes, more than the {} that are taken at once", content.size(),
                            kMostText),
                "content");
  }
  std::string answer = "{\"tokens\":[";
  for (const text::TokenId token : tokenizer->encode(
           content,
           {.add_special = add_special.value_or(false), .parse_special = parse_special.value_or(true)})) {
    if (answer.back() != '[') answer += ',';
    if (with_pieces.value_or(false)) {
      answer += fmt::format("{{\"id\":{},\"piece\":{}}}", token,
                            to_json(piece_json(tokenizer->token_bytes(token))));
    } else {
      fmt::format_to(std::back_inserter(answer), "{}", token);
    }
  }
  return answer + "]}";
}

Result<std::string> detokenize(const json::value& value, const ProtocolContext& context) {
  KVERN_TRY(ObjectReader body, ObjectReader::of(value, ""));
  KVERN_TRY(const json::array* array, body.array("tokens"));
  if (array == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "tokens: expected an array of token ids, but it is missing",
                "tokens");
  }
  KVERN_TRY_STATUS(body.finish());
  KVERN_TRY(const text::Tokenizer* tokenizer, tokenizer_of(context, "tokens"));
  const auto last = static_cast<int64_t>(tokenizer->vocab_size()) - 1;
  std::vector<text::TokenId> tokens;
  tokens.reserve(array->size());
  for (size_t i = 0; i < array->size(); ++i) {
    KVERN_TRY(const int64_t token, read_integer((*array)[i], fmt::format("tokens[{}]", i), {0, last}));
    tokens.push_back(static_cast<text::TokenId>(token));
  }
  return to_json(json::object{{"content", tokenizer->decode(tokens, {.skip_special = false})}});
}

}  // namespace kvern::server::llama
