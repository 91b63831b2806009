// read_decoder.
#include <fmt/format.h>

#include "text/characters.h"
#include "text/json_components.h"

namespace kvern::text {
namespace {

// More than this of a character at the ends is never stripped in practice; a stream holds so many back.
constexpr int64_t kMaxStrip = 1024;

/// Adds steps and knows whether what comes next sees one text.
class DecoderReader {
 public:
  explicit DecoderReader(Decoder& decoder) : decoder_(decoder) {}

  Status read(const JsonField& field) {
    KVERN_TRY(const std::string_view type, field.member("type").as_string());
    if (type == "Sequence") {
      const JsonField parts = field.member("decoders");
      KVERN_TRY(const json::array* array, parts.as_array());
      for (size_t i = 0; i < array->size(); ++i) KVERN_TRY_STATUS(read(parts.element(i)));
      return Ok{};
    }
    if (type == "ByteLevel") return add_before_fusing(field, type, DecodeByteLevel{});
    if (type == "ByteFallback") return add_before_fusing(field, type, DecodeByteFallback{});
    if (type == "Replace") return read_replace(field);
    if (type == "Strip") return read_strip(field);
    if (type == "Metaspace") return read_metaspace(field);
    if (type == "Fuse") {
      decoder_.add(DecodeFuse{});
      fused_ = true;
      return Ok{};
    }
    return field.unsupported(fmt::format("decoder \"{}\" is not supported", type));
  }

 private:
  /// Both look at whole tokens.
  Status add_before_fusing(const JsonField& field, std::string_view type, DecoderStep step) {
    if (fused_)
      return field.unsupported(fmt::format("decoder \"{}\" after a fusing one is not supported", type));
    fused_ = std::holds_alternative<DecodeByteLevel>(step);
    decoder_.add(std::move(step));
    return Ok{};
  }

  Status read_replace(const JsonField& field) {
    KVERN_TRY(Pattern pattern, read_pattern(field.member("pattern")));
    const bool single = !pattern.regex && !pattern.literal.empty() &&
                        character_length(pattern.literal, 0) == pattern.literal.size();
    if (fused_ && !single)
      return field.unsupported(
          "decoder \"Replace\" of more than one character after a fusing one is not supported");
    KVERN_TRY(const std::string_view content, field.member("content").as_string());
    decoder_.add(DecodeReplace{Replacement{.pattern = std::move(pattern), .content = std::string(content)}});
    return Ok{};
  }

  Status read_strip(const JsonField& field) {
    DecodeStrip step;
    KVERN_TRY(step.character, field.member("content").as_string());
    if (step.character.empty() || character_length(step.character, 0) != step.character.size())
      return field.member("content").corrupt("expected one character");
    KVERN_TRY(const int64_t start, field.member("start").as_integer());
    KVERN_TRY(const int64_t stop, field.member("stop").as_integer());
    if (start < 0 || start > kMaxStrip || stop < 0 || stop > kMaxStrip)
      return field.corrupt(fmt::format("start and stop must be 0 to {}", kMaxStrip));
    step.start = static_cast<size_t>(start);
    step.stop = static_cast<size_t>(stop);
    decoder_.add(std::move(step));
    return Ok{};
  }

  Status read_metaspace(const JsonField& field) {
    DecodeMetaspace step;
    KVERN_TRY(step.replacement, read_metaspace_mark(field));
    KVERN_TRY(const PrependScheme scheme, read_prepend_scheme(field));
    step.keep_first = scheme == PrependScheme::kNever;
    decoder_.add(std::move(step));
    return Ok{};
  }

  Decoder& decoder_;
  bool fused_ = false;
};

}  // namespace

Status read_decoder(const JsonField& field, Decoder& decoder) {
  if (field.present()) return DecoderReader(decoder).read(field);
  decoder.add(DecodeJoinWithSpaces{});
  return Ok{};
}

}  // namespace kvern::text
