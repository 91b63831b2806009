// read_pre_tokenizer.
#include <fmt/format.h>

#include "text/json_components.h"

namespace kvern::text {
namespace {

constexpr std::string_view kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kWords = R"(\w+|[^\w\s]+)";

Result<SplitBehavior> read_behavior(const JsonField& field) {
  KVERN_TRY(const std::string_view name, field.as_string());
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  return field.unsupported(fmt::format("\"{}\" is not supported", name));
}

Status add_regex_split(std::string_view expression, SplitStep step, const JsonField& field,
                       PreTokenizer& out) {
  KVERN_TRY(Regex regex, Regex::compile(expression, field.where()));
  step.pattern = Pattern{.literal = {}, .regex = std::move(regex)};
  out.add(std::move(step));
  return Ok{};
}

Status read_byte_level(const JsonField& field, PreTokenizer& out) {
  KVERN_TRY(const bool prefix, field.member("add_prefix_space").bool_or(true));
  KVERN_TRY(const bool use_regex, field.member("use_regex").bool_or(true));
  if (prefix) out.add(PrefixSpaceStep{});
  if (use_regex) KVERN_TRY_STATUS(add_regex_split(kGpt2Words, {}, field, out));
  out.add(ByteLevelStep{});
  return Ok{};
}

Status read_split(const JsonField& field, PreTokenizer& out) {
  SplitStep step;
  KVERN_TRY(step.pattern, read_pattern(field.member("pattern")));
  KVERN_TRY(step.behavior, read_behavior(field.member("behavior")));
  KVERN_TRY(step.invert, field.member("invert").bool_or(false));
  out.add(std::move(step));
  return Ok{};
}

Status read_metaspace(const JsonField& field, PreTokenizer& out) {
  MetaspaceStep step;
  KVERN_TRY(step.replacement, read_metaspace_mark(field));
  KVERN_TRY(step.scheme, read_prepend_scheme(field));
  KVERN_TRY(step.split, field.member("split").bool_or(true));
  out.add(std::move(step));
  return Ok{};
}

Status read_digits(const JsonField& field, PreTokenizer& out) {
  KVERN_TRY(const bool individual, field.member("individual_digits").bool_or(false));
  out.add(SplitStep{.pattern = CharacterClass::kNumeric,
                    .behavior = individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous});
  return Ok{};
}

Status read_punctuation(const JsonField& field, PreTokenizer& out) {
  SplitStep step{.pattern = CharacterClass::kPunctuation, .behavior = SplitBehavior::kIsolated};
  if (const JsonField behavior = field.member("behavior"); behavior.present()) {
    KVERN_TRY(step.behavior, read_behavior(behavior));
  }
  out.add(std::move(step));
  return Ok{};
}

Status read_delimiter(const JsonField& field, PreTokenizer& out) {
  KVERN_TRY(const std::string_view delimiter, field.member("delimiter").as_string());
  out.add(SplitStep{.pattern = Pattern{.literal = std::string(delimiter), .regex = {}},
                    .behavior = SplitBehavior::kRemoved});
  return Ok{};
}

void add_white_space_split(PreTokenizer& out) {
  out.add(SplitStep{.pattern = CharacterClass::kWhiteSpace, .behavior = SplitBehavior::kRemoved});
}

}  // namespace

Status read_pre_tokenizer(const JsonField& field, PreTokenizer& out) {
  if (!field.present()) return Ok{};
  KVERN_TRY(const std::string_view type, field.member("type").as_string());
  if (type == "Sequence") {
    const JsonField parts = field.member("pretokenizers");
    KVERN_TRY(const json::array* array, parts.as_array());
    for (size_t i = 0; i < array->size(); ++i) KVERN_TRY_STATUS(read_pre_tokenizer(parts.element(i), out));
    return Ok{};
  }
  if (type == "ByteLevel") return read_byte_level(field, out);
  if (type == "Split") return read_split(field, out);
  if (type == "Metaspace") return read_metaspace(field, out);
  if (type == "Digits") return read_digits(field, out);
  if (type == "Punctuation") return read_punctuation(field, out);
  if (type == "CharDelimiterSplit") return read_delimiter(field, out);
  if (type == "Whitespace")
    return add_regex_split(kWords, {.pattern = {}, .behavior = SplitBehavior::kRemoved, .invert = true},
                           field, out);
  if (type == "WhitespaceSplit") {
    add_white_space_split(out);
    return Ok{};
  }
  if (type == "BertPreTokenizer") {
    add_white_space_split(out);
    out.add(SplitStep{.pattern = CharacterClass::kPunctuation, .behavior = SplitBehavior::kIsolated});
    return Ok{};
  }
  return field.unsupported(fmt::format("pre-tokenizer \"{}\" is not supported", type));
}

}  // namespace kvern::text
