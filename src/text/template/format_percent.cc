// printf-style formatting of Python ("printf-style String Formatting").
#include <cmath>

#include "text/template/format.h"
#include "text/template/format_number.h"
#include "text/template/operators.h"
#include "text/template/printing.h"
#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

class PercentFormatter {
 public:
  PercentFormatter(Runtime& runtime, std::string_view pattern, const Value& value)
      : runtime_(runtime), pattern_(pattern), value_(value) {}
  Result<Value> run();

 private:
  Status conversion();
  Result<FormatSpec> read_spec();
  Result<Value> next_value();
  Result<std::string> convert(const FormatSpec& spec, const Value& value);

  Runtime& runtime_;
  std::string_view pattern_;
  const Value& value_;
  std::string out_;
  size_t at_ = 0;
  size_t used_ = 0;
  std::optional<Value> named_;  ///< The value that %(name) chose.
  bool any_named_ = false;
};

Result<FormatSpec> PercentFormatter::read_spec() {
  FormatSpec spec;
  named_.reset();
  if (at_ < pattern_.size() && pattern_[at_] == '(') {
    const size_t close = pattern_.find(')', at_);
    if (close == std::string_view::npos) return template_error("incomplete format key");
    if (!value_.is_dict()) return template_error("format requires a mapping");
    const std::string_view name = pattern_.substr(at_ + 1, close - at_ - 1);
    const Value* found = value_.as_dict().find(name);
    if (found == nullptr) return template_error("the format names a missing key '" + std::string(name) + "'");
    named_ = *found;
    any_named_ = true;
    at_ = close + 1;
  }
  for (; at_ < pattern_.size() && std::string_view("-+ #0").contains(pattern_[at_]); ++at_) {
    const char flag = pattern_[at_];
    if (flag == '-') spec.align = '<';
    if (flag == '+' || (flag == ' ' && spec.sign != '+')) spec.sign = flag;
    if (flag == '#') spec.alternate = true;
    if (flag == '0' && spec.align == '\0') {
      spec.align = '=';
      spec.fill = "0";
    }
  }
  if (spec.align == '<') spec.fill = " ";
  KVERN_TRY(spec.width, read_number(pattern_, at_, kMaxFormatWidth));
  if (at_ < pattern_.size() && pattern_[at_] == '.') {
    ++at_;
    KVERN_TRY(spec.precision, read_number(pattern_, at_, kMaxFormatPrecision));
  }
  if (at_ >= pattern_.size()) return template_error("incomplete format");
  spec.type = pattern_[at_++];
  return spec;
}

Result<Value> PercentFormatter::next_value() {
  if (named_) return *named_;
  const bool tuple = value_.is_list() && value_.as_list().is_tuple();
  if (used_ >= (tuple ? value_.as_list().items.size() : 1))
    return template_error("not enough arguments for format string");
  return tuple ? value_.as_list().items[used_++] : (++used_, value_);
}

Result<std::string> PercentFormatter::convert(const FormatSpec& spec, const Value& value) {
  std::string text;
  switch (spec.type) {
    case 's': {
      KVERN_TRY_STATUS(append_str(runtime_, text, value));
      break;
    }
    case 'r':
    case 'a': {
      KVERN_TRY_STATUS(append_repr(runtime_, text, value));
      break;
    }
    case 'c': {
      if (value.is_string() && value.string_data().code_points == 1) {
        text = value.text();
      } else if (value.is_integral() && value.as_int() >= 0 && value.as_int() <= 0x10ffff) {
        append_utf8(text, static_cast<uint32_t>(value.as_int()));
      } else {
        return template_error("%c requires int or char");
      }
      break;
    }
    default: {
      FormatSpec numeric = spec;
      if (spec.type == 'i' || spec.type == 'u') numeric.type = 'd';
      if (!std::string_view("dxXofFeEgG").contains(numeric.type)) {
        return template_error(std::string("unsupported format character '") + spec.type + "'");
      }
      Value number = value;
      if (numeric.type == 'd' && value.is_float()) {
        if (!(std::fabs(value.as_double()) < 9e18)) return template_error("the float is no 64-bit integer");
        number = Value::integer(static_cast<int64_t>(value.as_double()));
      }
      if (value.is_undefined()) return undefined_error(value);
      KVERN_TRY(text, format_number(number, numeric));
      return pad(std::move(text), spec, '>');
    }
  }
  if (spec.precision) text.resize(byte_offset(text, static_cast<size_t>(*spec.precision)));
  FormatSpec plain = spec;
  plain.fill = " ";
  if (plain.align == '=') plain.align = '>';
  return pad(std::move(text), plain, '>');
}

Status PercentFormatter::conversion() {
  ++at_;
  KVERN_TRY(const FormatSpec spec, read_spec());
  if (spec.type == '%') {
    out_ += '%';
    return Ok{};
  }
  KVERN_TRY(const Value value, next_value());
  KVERN_TRY(const std::string text, convert(spec, value));
  KVERN_TRY_STATUS(runtime_.charge(1 + text.size() / 64));
  out_ += text;
  return Ok{};
}

Result<Value> PercentFormatter::run() {
  KVERN_TRY_STATUS(runtime_.charge_bytes(pattern_.size()));
  while (at_ < pattern_.size()) {
    if (out_.size() > runtime_.limits().max_memory_bytes)
      return fail(ErrorCode::kExhausted, "a formatted text is too long");
    const size_t percent = std::min(pattern_.find('%', at_), pattern_.size());
    out_ += pattern_.substr(at_, percent - at_);
    at_ = percent;
    if (at_ < pattern_.size()) KVERN_TRY_STATUS(conversion());
  }
  const bool tuple = value_.is_list() && value_.as_list().is_tuple();
  const bool unused =
      tuple ? used_ < value_.as_list().items.size() : used_ == 0 && !value_.is_dict() && !value_.is_list();
  if (unused && !any_named_) return template_error("not all arguments converted during string formatting");
  return runtime_.string(std::move(out_));
}

}  // namespace

Result<Value> format_percent(Runtime& runtime, std::string_view pattern, const Value& value) {
  return PercentFormatter(runtime, pattern, value).run();
}

}  // namespace kvern::jinja
