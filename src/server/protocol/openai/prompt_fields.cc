#include "server/protocol/openai/prompt_fields.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "server/protocol/fields.h"
#include "server/protocol/prompt_length.h"

namespace kvern::server::openai {
namespace {

using Tokens = std::vector<engine::TokenId>;

std::unexpected<Error> invalid(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, message), path);
}

Result<Tokens> read_text(std::string_view text, const std::string& path, const ProtocolContext& context) {
  const text::Tokenizer* tokenizer = context.engine.tokenizer();
  if (tokenizer == nullptr) return invalid(path, "this model has no tokenizer; give token ids");
  Tokens tokens = tokenizer->encode(
      text, {.add_special = true, .parse_special = true, .most_tokens = most_counted_tokens(context.engine)});
  if (tokens.empty()) return invalid(path, "it is empty, and this model has no beginning-of-text token");
  return tokens;
}

Result<Tokens> read_ids(const json::array& array, const std::string& path, const ProtocolContext& context) {
  if (array.empty()) return invalid(path, "expected at least one token, got none");
  const int64_t last = context.engine.model().config().vocab - 1;
  Tokens tokens;
  tokens.reserve(array.size());
  for (size_t i = 0; i < array.size(); ++i) {
    KVERN_TRY(const int64_t id, read_integer(array[i], fmt::format("{}[{}]", path, i), {0, last}));
    tokens.push_back(static_cast<engine::TokenId>(id));
  }
  return tokens;
}

}  // namespace

Result<std::vector<engine::TokenId>> read_prompt(const json::value& value, const std::string& path,
                                                 const ProtocolContext& context) {
  if (const json::string* text = value.if_string()) return read_text(*text, path, context);
  if (const json::array* ids = value.if_array()) return read_ids(*ids, path, context);
  return wrong_type(path, "a string or an array of token ids", value);
}

}  // namespace kvern::server::openai
