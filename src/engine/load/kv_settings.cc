#include "engine/load/kv_settings.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace kvern::engine {
namespace {

constexpr uint64_t kMaxLayerFileBytes = uint64_t{1} << 20;
constexpr size_t kMaxLineBytes = 200;  // far beyond any type; what messages repeat stays readable
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // editors of some systems write it

// What "auto" means: forks, shared prefixes and short rows cost least in pages, and reading them is as fast.
constexpr state::LayoutKind kAutoLayout = state::LayoutKind::kPaged;

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

struct LayerRange {
  size_t begin;
  size_t end;
};

bool read_number(std::string_view text, size_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

Result<LayerRange> read_layers(std::string_view text, size_t layers) {
  if (text == "*") return LayerRange{0, layers};
  const size_t dash = text.find('-');
  LayerRange range{};
  size_t last = 0;
  if (!read_number(text.substr(0, dash), range.begin) ||
      !read_number(dash == std::string_view::npos ? text : text.substr(dash + 1), last)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' names no layers; write a number, a range such as 0-3, or *", text));
  }
  if (range.begin > last || last >= layers) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("there are no layers {}; this model has layers 0 to {}", text, layers - 1));
  }
  range.end = last + 1;
  return range;
}

Status apply_line(std::string_view line, std::vector<state::KvTypes>& types) {
  line = trimmed(line.substr(0, line.find('#')));
  if (line.empty()) return Ok{};
  if (line.size() > kMaxLineBytes) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a line of {} bytes is not of the form LAYERS TYPE", line.size()));
  }
  const size_t space = line.find_first_of(" \t");
  if (space == std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not of the form LAYERS TYPE", line));
  }
  KVERN_TRY(const LayerRange range, read_layers(line.substr(0, space), types.size()));
  KVERN_TRY(const state::KvTypes type, state::parse_kv_types(trimmed(line.substr(space))));
  std::fill(types.begin() + static_cast<ptrdiff_t>(range.begin),
            types.begin() + static_cast<ptrdiff_t>(range.end), type);
  return Ok{};
}

Result<std::vector<state::KvTypes>> read_layer_types(Files& files, const std::string& path,
                                                     std::vector<state::KvTypes> types) {
  const Result<std::string> text = read_file(files, path, kMaxLayerFileBytes);
  if (!text) {
    Error error = text.error();
    // Too large is not a lack of memory that may pass, but the wrong file.
    if (error.code == ErrorCode::kExhausted && !error.retryable) error.code = ErrorCode::kInvalidArgument;
    return std::unexpected(std::move(error));
  }
  std::string_view left = *text;
  if (left.starts_with(kByteOrderMark)) left.remove_prefix(kByteOrderMark.size());
  for (int line = 1; !left.empty(); ++line) {
    const size_t end = left.find('\n');
    auto applied = apply_line(left.substr(0, end), types);
    if (!applied) {
      Error error = std::move(applied).error();
      error.where = fmt::format("{}:{}", path, line) + (error.where.empty() ? "" : ": " + error.where);
      return std::unexpected(std::move(error));
    }
    left = end == std::string_view::npos ? std::string_view{} : left.substr(end + 1);
  }
  return types;
}

}  // namespace

Result<state::KvOptions> make_kv_options(Files& files, const KvSettings& settings, size_t layers) {
  state::KvOptions options;
  KVERN_TRY(options.types, state::parse_kv_types(settings.type));
  options.layout = kAutoLayout;
  if (settings.layout != "auto") {
    auto layout = state::parse_layout(settings.layout);
    if (!layout) {
      return fail(ErrorCode::kInvalidArgument, "no such layout; choose auto, slab, paged, ring or padded",
                  "--kv-layout " + settings.layout);
    }
    options.layout = *layout;
  }
  if (settings.page != 0) options.page = settings.page;
  options.precision.quant_start = settings.quant_start;
  options.precision.keep_first = settings.keep_first;
  options.precision.keep_last = settings.keep_last;
  if (!settings.layer_types_file.empty()) {
    KVERN_TRY(options.layer_types,
              read_layer_types(files, settings.layer_types_file, std::vector(layers, options.types)));
  }
  return options;
}

}  // namespace kvern::engine
