// Access to parts of values.
#include "text/template/attributes.h"

#include <algorithm>
#include <charconv>

#include "text/template/operators.h"
#include "text/template/printing.h"
#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

Value no_attribute(const Value& object, std::string_view name) {
  return Value::undefined("'" + object.type_name() + " object' has no attribute '" + std::string(name) + "'");
}

Value no_element(const Value& object, const std::string& key) {
  return Value::undefined(object.type_name() + " object has no element " + key);
}

/// The method or field of a list, tuple, string or dict; null value if there is none.
Result<std::optional<Value>> find_member(Runtime& runtime, const Value& object, std::string_view name) {
  if (object.is_list() && object.as_list().kind == List::Kind::kGroup) {
    if (name == "grouper") return object.as_list().items[0];
    if (name == "list") return object.as_list().items[1];
  }
  const Builtin* method = find_method(object, name);
  if (method == nullptr) return std::nullopt;
  KVERN_TRY(BoundMethod * bound, runtime.heap().object<BoundMethod>(object, method));
  return Value::object(bound);
}

Result<Value> sequence_item(Runtime& runtime, const Value& object, int64_t index) {
  const bool is_string = object.is_string();
  const auto size =
      static_cast<int64_t>(is_string ? object.string_data().code_points : object.as_list().items.size());
  const int64_t at = index < 0 ? index + size : index;
  if (at < 0 || at >= size) return no_element(object, std::to_string(index));
  if (!is_string) return object.as_list().items[static_cast<size_t>(at)];
  const StringData& data = object.string_data();
  if (data.is_ascii()) return runtime.string(std::string(1, data.text[static_cast<size_t>(at)]));
  KVERN_TRY_STATUS(runtime.charge_bytes(data.text.size()));
  const size_t offset = byte_offset(data.text, static_cast<size_t>(at));
  return runtime.string(data.text.substr(offset, decode_at(data.text, offset).bytes));
}

/// Python's slice.indices: bounds clipped to a sequence of `size` items.
struct ClippedSlice {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

ClippedSlice clip(const SliceBounds& bounds, int64_t size) {
  ClippedSlice slice;
  slice.step = bounds.step.value_or(1);
  const bool forward = slice.step > 0;
  const int64_t lowest = forward ? 0 : -1;
  const int64_t highest = forward ? size : size - 1;
  const auto place = [&](std::optional<int64_t> bound, int64_t fallback) {
    if (!bound) return fallback;
    const int64_t at = *bound < 0 ? *bound + size : *bound;
    return std::clamp(at, lowest, highest);
  };
  slice.start = place(bounds.start, forward ? lowest : highest);
  const int64_t stop = place(bounds.stop, forward ? highest : lowest);
  const int64_t distance = forward ? stop - slice.start : slice.start - stop;
  if (distance > 0) {
    // A step beyond the size visits one item; clipping it keeps the arithmetic below in range.
    slice.step = std::clamp(slice.step, -size - 1, size + 1);
    const int64_t stride = forward ? slice.step : -slice.step;
    slice.count = (distance + stride - 1) / stride;
  }
  return slice;
}

Result<Value> slice_string(Runtime& runtime, const StringData& data, const ClippedSlice& slice) {
  KVERN_TRY_STATUS(runtime.charge_bytes(data.text.size()));
  if (slice.count == 0) return runtime.string({});
  if (slice.step == 1) {
    const size_t begin = data.is_ascii() ? static_cast<size_t>(slice.start)
                                         : byte_offset(data.text, static_cast<size_t>(slice.start));
    const std::string_view tail = std::string_view(data.text).substr(begin);
    const auto count = static_cast<size_t>(slice.count);
    return runtime.string(std::string(tail.substr(0, data.is_ascii() ? count : byte_offset(tail, count))));
  }
  KVERN_TRY_STATUS(runtime.charge(data.code_points));
  const auto pieces = split_code_points(data.text);
  std::string out;
  for (int64_t i = 0; i < slice.count; ++i) out += pieces[static_cast<size_t>(slice.start + i * slice.step)];
  return runtime.string(std::move(out));
}

}  // namespace

Result<Value> get_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  if (object.is_undefined()) return undefined_error(object);
  if (object.is_object()) return object.as_object().get_attribute(runtime, name);
  KVERN_TRY(auto member, find_member(runtime, object, name));
  if (member) return *std::move(member);
  if (object.is_dict()) {
    if (const Value* found = object.as_dict().find(name)) return *found;
  }
  return no_attribute(object, name);
}

Result<Value> get_item(Runtime& runtime, const Value& object, const Value& key) {
  if (object.is_undefined()) return undefined_error(object);
  if (key.is_string()) KVERN_TRY_STATUS(runtime.charge_bytes(key.text().size()));
  if (object.is_dict()) {
    if (!is_hashable(key)) return no_element(object, "of type " + key.type_name());
    KVERN_TRY_STATUS(check_key(runtime, key));
    if (const Value* found = object.as_dict().find(key)) return *found;
  }
  if ((object.is_list() || object.is_string()) && key.is_integral()) {
    return sequence_item(runtime, object, key.as_int());
  }
  if (!key.is_string()) {
    std::string text;
    KVERN_TRY_STATUS(append_repr(runtime, text, key));
    return no_element(object, text);
  }
  if (object.is_object()) return object.as_object().get_attribute(runtime, key.text());
  KVERN_TRY(auto member, find_member(runtime, object, key.text()));
  if (member) return *std::move(member);
  return no_attribute(object, key.text());
}

Result<Value> get_slice(Runtime& runtime, const Value& object, const SliceBounds& bounds) {
  if (object.is_undefined()) return undefined_error(object);
  if (bounds.step == 0) return template_error("slice step cannot be zero");
  if (object.is_string()) {
    const auto size = static_cast<int64_t>(object.string_data().code_points);
    return slice_string(runtime, object.string_data(), clip(bounds, size));
  }
  if (!object.is_list()) return template_error("'" + object.type_name() + "' object cannot be sliced");
  const std::vector<Value>& items = object.as_list().items;
  const ClippedSlice slice = clip(bounds, static_cast<int64_t>(items.size()));
  std::vector<Value> out;
  out.reserve(static_cast<size_t>(slice.count));
  for (int64_t i = 0; i < slice.count; ++i)
    out.push_back(items[static_cast<size_t>(slice.start + i * slice.step)]);
  return runtime.list(std::move(out), object.as_list().is_tuple() ? List::Kind::kTuple : List::Kind::kList);
}

Result<Value> get_path(Runtime& runtime, const Value& object, const Value& path) {
  if (!path.is_string()) return get_item(runtime, object, path);
  Value value = object;
  std::string_view rest = path.text();
  while (true) {
    const size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    int64_t index = 0;
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool number = !part.empty() && part[0] != '-' && parsed.ec == std::errc{} &&
                        parsed.ptr == part.data() + part.size();
    KVERN_TRY(value,
              get_item(runtime, value, number ? Value::integer(index) : Value::literal(std::string(part))));
    if (dot == std::string_view::npos) return value;
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace kvern::jinja
