// Replacing and splitting.
#include "text/template/text_ops.h"

#include <cstring>

#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

/// Up to this length a plain search is linear enough.
constexpr size_t kShortNeedle = 32;

bool ends_line(int32_t code_point) {
  return (code_point >= 0x0a && code_point <= 0x0d) || (code_point >= 0x1c && code_point <= 0x1e) ||
         code_point == 0x85 || code_point == 0x2028 || code_point == 0x2029;
}

/// Appends within the memory limit.
Status append(Runtime& runtime, std::string& out, std::string_view piece) {
  if (out.size() + piece.size() > runtime.limits().max_memory_bytes) {
    return fail(ErrorCode::kExhausted, "a replaced text is too long");
  }
  out += piece;
  return runtime.charge(1 + piece.size() / 64);
}

}  // namespace

size_t find_text(std::string_view text, std::string_view needle, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  const void* found = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  if (found == nullptr) return needle.empty() ? from : std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

size_t rfind_text(std::string_view text, std::string_view needle) {
  if (needle.size() <= kShortNeedle) return text.rfind(needle);
  const std::string backwards(text.rbegin(), text.rend());
  const size_t found = find_text(backwards, std::string(needle.rbegin(), needle.rend()));
  return found == std::string_view::npos ? found : text.size() - found - needle.size();
}

Result<Value> replace_text(Runtime& runtime, std::string_view text, const Replacement& replacement) {
  KVERN_TRY_STATUS(runtime.charge_bytes(text.size()));
  const uint64_t most = replacement.count < 0 ? UINT64_MAX : static_cast<uint64_t>(replacement.count);
  std::string out;
  uint64_t done = 0;
  size_t at = 0;
  if (replacement.from.empty()) {
    while (done < most) {
      KVERN_TRY_STATUS(append(runtime, out, replacement.to));
      ++done;
      if (at >= text.size()) break;
      const size_t bytes = decode_at(text, at).bytes;
      out += text.substr(at, bytes);
      at += bytes;
    }
  } else {
    for (size_t found = 0; done < most; ++done) {
      found = find_text(text, replacement.from, at);
      if (found == std::string_view::npos) break;
      out += text.substr(at, found - at);
      KVERN_TRY_STATUS(append(runtime, out, replacement.to));
      at = found + replacement.from.size();
    }
  }
  if (at < text.size()) out += text.substr(at);
  return runtime.string(std::move(out));
}

std::vector<std::string_view> split_lines(std::string_view text, KeepEnds keep) {
  std::vector<std::string_view> lines;
  size_t start = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_at(text, at);
    const size_t end = at;
    at += point.bytes;
    if (!ends_line(point.value)) continue;
    if (point.value == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.push_back(text.substr(start, (keep == KeepEnds::kYes ? at : end) - start));
    start = at;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

}  // namespace kvern::jinja
