// json.dumps.
#include "text/template/to_json.h"

#include <algorithm>
#include <cmath>

#include "text/template/operators.h"
#include "text/template/printing.h"
#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

void append_u_escape(std::string& out, uint32_t unit) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(unit >> shift) & 15];
}

void append_code_point_escape(std::string& out, uint32_t code_point) {
  if (code_point < 0x10000) return append_u_escape(out, code_point);
  append_u_escape(out, 0xd800 + ((code_point - 0x10000) >> 10));
  append_u_escape(out, 0xdc00 + ((code_point - 0x10000) & 0x3ff));
}

bool append_short_escape(std::string& out, int32_t code_point) {
  switch (code_point) {
    case '"':
      out += "\\\"";
      return true;
    case '\\':
      out += "\\\\";
      return true;
    case '\n':
      out += "\\n";
      return true;
    case '\r':
      out += "\\r";
      return true;
    case '\t':
      out += "\\t";
      return true;
    case '\b':
      out += "\\b";
      return true;
    case '\f':
      out += "\\f";
      return true;
    default:
      return false;
  }
}

std::string json_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return float_repr(value);
}

class Writer {
 public:
  Writer(Runtime& runtime, const JsonFormat& format) : runtime_(runtime), format_(format) {}
  Status write(const Value& value);
  std::string take() { return std::move(out_); }

 private:
  Status write_string(std::string_view text);
  Status write_list(const List& list);
  Status write_dict(const Dict& dict);
  Result<std::string> key_text(const Value& key);
  Status sort_entries(std::vector<Dict::Entry>& entries);
  void begin_item(bool first);
  void break_line();

  Runtime& runtime_;
  const JsonFormat& format_;
  std::string out_;
  size_t level_ = 0;
};

Status Writer::write_string(std::string_view text) {
  KVERN_TRY_STATUS(runtime_.charge_bytes(text.size()));
  out_ += '"';
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_at(text, at);
    if (!append_short_escape(out_, point.value)) {
      const bool escape =
          (point.value >= 0 && point.value < 0x20) || (format_.ensure_ascii && point.value >= 0x7f + 1);
      if (escape) {
        append_code_point_escape(out_, static_cast<uint32_t>(point.value));
      } else {
        out_ += text.substr(at, point.bytes);
      }
    }
    at += point.bytes;
  }
  out_ += '"';
  return Ok{};
}

void Writer::break_line() {
  if (!format_.indent) return;
  out_ += '\n';
  for (size_t i = 0; i < level_; ++i) out_ += *format_.indent;
}

void Writer::begin_item(bool first) {
  if (!first) out_ += format_.item_separator;
  break_line();
}

Status Writer::write_list(const List& list) {
  if (list.items.empty()) {
    out_ += "[]";
    return Ok{};
  }
  out_ += '[';
  ++level_;
  bool first = true;
  for (const Value& item : list.items) {
    begin_item(first);
    first = false;
    KVERN_TRY_STATUS(write(item));
  }
  --level_;
  break_line();
  out_ += ']';
  return Ok{};
}

Result<std::string> Writer::key_text(const Value& key) {
  if (key.is_string()) return key.text();
  if (key.is_none()) return "null";
  if (key.is_bool()) return key.as_bool() ? "true" : "false";
  if (key.is_int()) return std::to_string(key.as_int());
  if (key.is_float()) return json_float(key.as_double());
  return template_error("keys must be str, int, float, bool or None, not " + key.type_name());
}

Status Writer::sort_entries(std::vector<Dict::Entry>& entries) {
  Status status = Ok{};
  std::ranges::stable_sort(entries, [&](const Dict::Entry& a, const Dict::Entry& b) {
    if (!status) return false;
    const auto order = less(runtime_, a.first, b.first);
    if (!order) status = std::unexpected(order.error());
    return order && *order;
  });
  return status;
}

Status Writer::write_dict(const Dict& dict) {
  if (dict.size() == 0) {
    out_ += "{}";
    return Ok{};
  }
  std::vector<Dict::Entry> sorted;
  if (format_.sort_keys) {
    sorted = dict.entries();
    KVERN_TRY_STATUS(sort_entries(sorted));
  }
  out_ += '{';
  ++level_;
  bool first = true;
  for (const auto& [key, value] : format_.sort_keys ? sorted : dict.entries()) {
    begin_item(first);
    first = false;
    KVERN_TRY(const std::string name, key_text(key));
    KVERN_TRY_STATUS(write_string(name));
    out_ += format_.key_separator;
    KVERN_TRY_STATUS(write(value));
  }
  --level_;
  break_line();
  out_ += '}';
  return Ok{};
}

Status Writer::write(const Value& value) {
  const DepthScope scope(runtime_);
  KVERN_TRY_STATUS(scope.ok());
  KVERN_TRY_STATUS(runtime_.charge(1 + (format_.indent ? level_ * format_.indent->size() / 64 : 0)));
  if (out_.size() > runtime_.limits().max_memory_bytes)
    return fail(ErrorCode::kExhausted, "a JSON text is too long");
  if (value.is_string()) return write_string(value.text());
  if (value.is_list()) return write_list(value.as_list());
  if (value.is_dict()) return write_dict(value.as_dict());
  if (value.is_none()) {
    out_ += "null";
  } else if (value.is_bool()) {
    out_ += value.as_bool() ? "true" : "false";
  } else if (value.is_int()) {
    out_ += std::to_string(value.as_int());
  } else if (value.is_float()) {
    out_ += json_float(value.as_double());
  } else {
    return template_error("Object of type " + value.type_name() + " is not JSON serializable");
  }
  return Ok{};
}

}  // namespace

Result<std::string> to_json_text(Runtime& runtime, const Value& value, const JsonFormat& format) {
  Writer writer(runtime, format);
  KVERN_TRY_STATUS(writer.write(value));
  return writer.take();
}

}  // namespace kvern::jinja
