#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/regex.h"

#include <fmt/format.h>
#include <pcre2.h>

#include "text/characters.h"

namespace kvern::text {
namespace {

// Unicode White_Space. PCRE2's own \s with PCRE2_UCP has U+180E too, which left that property in Unicode 6.3.
constexpr std::string_view kSpaces =
    R"(\x{09}-\x{0D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
// The complement of kSpaces, for use inside a set.
constexpr std::string_view kNoSpaces =
    R"(\x{00}-\x{08}\x{0E}-\x{1F}\x{21}-\x{84}\x{86}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027})"
    R"(\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{D7FF}\x{E000}-\x{10FFFF})";
constexpr std::string_view kWord = R"(\p{L}\p{M}\p{Nd}\p{Pc})";

// Steps of the matcher for one start position; a sane pattern needs a few per byte.
constexpr uint32_t kMatchLimit = 20'000'000;

std::unexpected<Error> bad_pattern(ErrorCode code, std::string_view pattern, std::string_view reason,
                                   const std::string& where) {
  return fail(code, fmt::format("regular expression \"{}\": {}", pattern, reason), where);
}

/// Walks a pattern and knows whether it is inside a set.
class Translator {
 public:
  Translator(std::string_view pattern, const std::string& where) : pattern_(pattern), where_(where) {}

  Result<std::string> run() {
    while (at_ < pattern_.size()) {
      if (pattern_[at_] == '\\') {
        KVERN_TRY_STATUS(escape());
      } else if (in_set_) {
        KVERN_TRY_STATUS(set_character());
      } else {
        if (pattern_[at_] == '[')
          open_set();
        else
          out_ += pattern_[at_++];
      }
    }
    return std::move(out_);
  }

 private:
  void open_set() {
    in_set_ = true;
    out_ += pattern_[at_++];
    if (at_ < pattern_.size() && pattern_[at_] == '^') out_ += pattern_[at_++];
    if (at_ < pattern_.size() && pattern_[at_] == ']') {
      out_ += "\\]";
      ++at_;
    }
  }

  Status set_character() {
    const std::string_view rest = pattern_.substr(at_);
    if (rest.starts_with("&&"))
      return bad_pattern(ErrorCode::kUnsupported, pattern_, "intersection of sets (&&) is not supported",
                         where_);
    if (rest.starts_with("[:")) {
      const size_t end = rest.find(":]");
      if (end == std::string_view::npos)
        return bad_pattern(ErrorCode::kCorrupt, pattern_, "[: without :]", where_);
      out_ += rest.substr(0, end + 2);
      at_ += end + 2;
      return Ok{};
    }
    if (rest[0] == '[')
      return bad_pattern(ErrorCode::kUnsupported, pattern_, "a set inside a set is not supported", where_);
    in_set_ = rest[0] != ']';
    out_ += pattern_[at_++];
    return Ok{};
  }

  Status escape() {
    if (at_ + 1 == pattern_.size())
      return bad_pattern(ErrorCode::kCorrupt, pattern_, "ends with a backslash", where_);
    const char c = pattern_[at_ + 1];
    at_ += 2;
    switch (c) {
      case 's':
        out_ += in_set_ ? std::string(kSpaces) : fmt::format("[{}]", kSpaces);
        return Ok{};
      case 'S':
        out_ += in_set_ ? std::string(kNoSpaces) : fmt::format("[^{}]", kSpaces);
        return Ok{};
      case 'w':
        out_ += in_set_ ? std::string(kWord) : fmt::format("[{}]", kWord);
        return Ok{};
      case 'W':
        if (in_set_)
          return bad_pattern(ErrorCode::kUnsupported, pattern_, "\\W in a set is not supported", where_);
        out_ += fmt::format("[^{}]", kWord);
        return Ok{};
      case 'h':
      case 'H':
        return bad_pattern(ErrorCode::kUnsupported, pattern_, "\\h is not supported", where_);
      default:
        out_ += '\\';
        out_ += c;
        return Ok{};
    }
  }

  std::string_view pattern_;
  const std::string& where_;
  std::string out_;
  size_t at_ = 0;
  bool in_set_ = false;
};

struct MatchDataFree {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct MatchContextFree {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

}  // namespace

struct Regex::Code {
  pcre2_code* code = nullptr;
  std::unique_ptr<pcre2_match_context, MatchContextFree> context;

  Code() = default;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(code); }

  int match(std::string_view text, size_t start, pcre2_match_data* data) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    const int found = pcre2_match(code, subject, text.size(), start, PCRE2_NO_UTF_CHECK, data, context.get());
    if (found != PCRE2_ERROR_JIT_STACKLIMIT) return found;
    return pcre2_match(code, subject, text.size(), start, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data,
                       context.get());
  }
};

Result<std::string> translate_pattern(std::string_view pattern, const std::string& where) {
  return Translator(pattern, where).run();
}

Result<Regex> Regex::compile(std::string_view pattern, const std::string& where) {
  KVERN_TRY(const std::string translated, translate_pattern(pattern, where));
  auto code = std::make_shared<Code>();
  int error = 0;
  PCRE2_SIZE offset = 0;
  // In Ruby's syntax, which the reference uses, ^ and $ stand at every line.
  code->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                             PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                             &offset, nullptr);
  if (code->code == nullptr) {
    char message[160] = "";
    pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(message), sizeof(message));
    return bad_pattern(ErrorCode::kUnsupported, pattern, message, where);
  }
  // Without JIT (refused by some systems) matching is slower and otherwise the same.
  pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE);
  code->context.reset(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(code->context.get(), kMatchLimit);
  return Regex(std::move(code));
}

std::vector<Range> Regex::find_all(std::string_view text) const {
  std::vector<Range> matches;
  if (text.empty()) return matches;
  const std::unique_ptr<pcre2_match_data, MatchDataFree> data(
      pcre2_match_data_create_from_pattern(code_->code, nullptr));
  size_t start = 0;
  while (start <= text.size()) {
    if (code_->match(text, start, data.get()) < 0) break;
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
    const Range match{ends[0], ends[1]};
    if (match.begin > match.end) break;  // \K inside a lookahead can do this.
    if (match.begin == match.end && !matches.empty() && matches.back().end == match.end) {
      if (match.end >= text.size()) break;
      start = match.end + character_length(text, match.end);
      continue;
    }
    matches.push_back(match);
    start = match.end;
  }
  return matches;
}

}  // namespace kvern::text
