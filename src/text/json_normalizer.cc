// read_normalizer and what it shares with the other components.
#include <fmt/format.h>

#include "text/base64.h"
#include "text/json_components.h"

namespace kvern::text {
namespace {

Status read_one(std::string_view type, const JsonField& field, Normalizer& normalizer) {
  if (type == "NFC")
    normalizer.add(UnicodeForm::kNfc);
  else if (type == "NFD")
    normalizer.add(UnicodeForm::kNfd);
  else if (type == "NFKC")
    normalizer.add(UnicodeForm::kNfkc);
  else if (type == "NFKD")
    normalizer.add(UnicodeForm::kNfkd);
  else if (type == "Lowercase")
    normalizer.add(Lowercase{});
  else if (type == "StripAccents")
    normalizer.add(StripAccents{});
  else if (type == "Nmt")
    normalizer.add(Nmt{});
  else if (type == "ByteLevel")
    normalizer.add(BytesToCharacters{});
  else
    return field.unsupported(fmt::format("normalizer \"{}\" is not supported", type));
  return Ok{};
}

Status read_precompiled(const JsonField& field, Normalizer& normalizer) {
  const JsonField blob = field.member("precompiled_charsmap");
  if (!blob.present()) return Ok{};
  KVERN_TRY(const std::string_view text, blob.as_string());
  const auto bytes = decode_base64(text);
  if (!bytes) return blob.corrupt("not base64");
  if (bytes->empty()) return Ok{};
  KVERN_TRY(CharacterMap map, CharacterMap::parse(*bytes, CharacterMap::Matching::kGraphemes, field.where()));
  normalizer.add(std::move(map));
  return Ok{};
}

Status read_replace(const JsonField& field, Normalizer& normalizer) {
  KVERN_TRY(Pattern pattern, read_pattern(field.member("pattern")));
  KVERN_TRY(const std::string_view content, field.member("content").as_string());
  normalizer.add(Replacement{.pattern = std::move(pattern), .content = std::string(content)});
  return Ok{};
}

Status read_strip(const JsonField& field, Normalizer& normalizer) {
  StripSpace step;
  KVERN_TRY(step.left, field.member("strip_left").bool_or(true));
  KVERN_TRY(step.right, field.member("strip_right").bool_or(true));
  normalizer.add(step);
  return Ok{};
}

}  // namespace

Status read_normalizer(const JsonField& field, Normalizer& normalizer) {
  if (!field.present()) return Ok{};
  KVERN_TRY(const std::string_view type, field.member("type").as_string());
  if (type == "Sequence") {
    const JsonField parts = field.member("normalizers");
    KVERN_TRY(const json::array* array, parts.as_array());
    for (size_t i = 0; i < array->size(); ++i)
      KVERN_TRY_STATUS(read_normalizer(parts.element(i), normalizer));
    return Ok{};
  }
  if (type == "Prepend") {
    KVERN_TRY(const std::string_view text, field.member("prepend").as_string());
    normalizer.add(Prepend{std::string(text)});
    return Ok{};
  }
  if (type == "Replace") return read_replace(field, normalizer);
  if (type == "Strip") return read_strip(field, normalizer);
  if (type == "Precompiled") return read_precompiled(field, normalizer);
  return read_one(type, field, normalizer);
}

Result<Pattern> read_pattern(const JsonField& field) {
  if (const JsonField literal = field.member("String"); literal.present()) {
    KVERN_TRY(const std::string_view text, literal.as_string());
    return Pattern{.literal = std::string(text), .regex = {}};
  }
  const JsonField expression = field.member("Regex");
  if (!expression.present()) return field.corrupt("expected {\"String\": ...} or {\"Regex\": ...}");
  KVERN_TRY(const std::string_view text, expression.as_string());
  auto regex = Regex::compile(text, field.where());
  if (!regex) {
    regex.error().message = fmt::format("{}: {}", expression.path(), regex.error().message);
    return std::unexpected<Error>(std::move(regex).error());
  }
  return Pattern{.literal = {}, .regex = *std::move(regex)};
}

Result<std::string_view> read_metaspace_mark(const JsonField& field) {
  KVERN_TRY(const std::string_view mark, field.member("replacement").string_or("\u2581"));
  if (mark.empty()) return field.member("replacement").corrupt("empty");
  return mark;
}

Result<PrependScheme> read_prepend_scheme(const JsonField& field) {
  const JsonField scheme = field.member("prepend_scheme");
  if (!scheme.present()) {
    KVERN_TRY(const bool prefix, field.member("add_prefix_space").bool_or(true));
    return prefix ? PrependScheme::kAlways : PrependScheme::kNever;
  }
  KVERN_TRY(const std::string_view name, scheme.as_string());
  if (name == "always") return PrependScheme::kAlways;
  if (name == "first") return PrependScheme::kFirst;
  if (name == "never") return PrependScheme::kNever;
  return scheme.unsupported(fmt::format("\"{}\" is none of always, first, never", name));
}

}  // namespace kvern::text
