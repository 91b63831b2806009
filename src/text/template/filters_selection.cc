// Filters that choose: defaults, attributes, map, select and reject.
#include <cstdint>

#include "text/template/attributes.h"
#include "text/template/builtin.h"
#include "text/template/operators.h"
#include "text/template/runtime.h"

namespace kvern::jinja {

namespace {

Result<Value> filter_default(Runtime& runtime, BoundArguments& arguments) {
  const Value& value = arguments.self();
  const bool missing = value.is_undefined() || (arguments.flag(2, false) && !is_truthy(value));
  if (!missing) return value;
  return arguments.find(1) != nullptr ? arguments[1] : runtime.string({});
}

/// Attributes only, never items: so methods are all that plain values have.
Result<Value> filter_attr(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const std::string name, arguments.string(1, ""));
  const Value& value = arguments.self();
  if (!value.is_dict() || find_method(value, name) != nullptr) return get_attribute(runtime, value, name);
  return Value::undefined("'dict object' has no attribute '" + name + "'");
}

/// Takes the named argument out of the rest; undefined if it was not given.
Value take_named(CallArguments& arguments, std::string_view name) {
  for (auto it = arguments.named.begin(); it != arguments.named.end(); ++it) {
    if (it->first != name) continue;
    Value value = std::move(it->second);
    arguments.named.erase(it);
    return value;
  }
  return Value::undefined("not given");
}

/// Takes the first positional argument, a name, out of the rest.
Result<std::string> take_name(CallArguments& arguments, std::string_view what) {
  if (arguments.positional.empty()) return template_error("map requires a filter argument");
  if (!arguments.positional.front().is_string())
    return template_error("the name of a " + std::string(what) + " must be a string");
  std::string name = arguments.positional.front().text();
  arguments.positional.erase(arguments.positional.begin());
  return name;
}

Result<Value> filter_map(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const List* list, iterate(runtime, arguments.self()));
  std::vector<Value> out;
  Value attribute = Value::undefined("not given");
  if (arguments.rest.positional.empty()) attribute = take_named(arguments.rest, "attribute");
  if (!attribute.is_undefined()) {
    const Value fallback = take_named(arguments.rest, "default");
    if (!arguments.rest.named.empty()) {
      return template_error("Unexpected keyword argument '" + arguments.rest.named.front().first + "'");
    }
    for (const Value& item : list->items) {
      KVERN_TRY_STATUS(runtime.charge(1));
      KVERN_TRY(Value part, get_path(runtime, item, attribute));
      if (part.is_undefined() && !fallback.is_undefined()) part = fallback;
      out.push_back(std::move(part));
    }
    return runtime.list(std::move(out));
  }
  KVERN_TRY(const std::string name, take_name(arguments.rest, "filter"));
  const Builtin* filter = find_filter(name);
  if (filter == nullptr) return fail(ErrorCode::kUnsupported, "No filter named '" + name + "'.");
  for (const Value& item : list->items) {
    const DepthScope scope(runtime);  // map can name itself
    KVERN_TRY_STATUS(scope.ok());
    KVERN_TRY(Value result, invoke(runtime, *filter, item, arguments.rest));
    out.push_back(std::move(result));
  }
  return runtime.list(std::move(out));
}

enum class Keep : uint8_t { kMatching, kOthers };
enum class Look : uint8_t { kAtItem, kAtAttribute };

template <Keep keep, Look look>
Result<Value> filter_select(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const List* list, iterate(runtime, arguments.self()));
  std::optional<Value> attribute;
  if (look == Look::kAtAttribute) {
    if (arguments.rest.positional.empty()) return template_error("Missing parameter for attribute name");
    attribute = arguments.rest.positional.front();
    arguments.rest.positional.erase(arguments.rest.positional.begin());
  }
  const Builtin* test = nullptr;
  if (!arguments.rest.positional.empty()) {
    KVERN_TRY(const std::string name, take_name(arguments.rest, "test"));
    test = find_test(name);
    if (test == nullptr) return fail(ErrorCode::kUnsupported, "No test named '" + name + "'.");
  }
  std::vector<Value> out;
  for (const Value& item : list->items) {
    KVERN_TRY_STATUS(runtime.charge(1));
    Value subject = item;
    if (attribute) {
      KVERN_TRY(subject, get_path(runtime, item, *attribute));
    }
    if (test != nullptr) {
      KVERN_TRY(subject, invoke(runtime, *test, subject, arguments.rest));
    }
    if (is_truthy(subject) == (keep == Keep::kMatching)) out.push_back(item);
  }
  return runtime.list(std::move(out));
}

constexpr Builtin kTable[] = {
    {"default", "value,default_value,boolean", 1, filter_default},
    {"d", "value,default_value,boolean", 1, filter_default},
    {"attr", "value,name", 2, filter_attr},
    {"map", "value,*", 1, filter_map},
    {"select", "value,*", 1, filter_select<Keep::kMatching, Look::kAtItem>},
    {"reject", "value,*", 1, filter_select<Keep::kOthers, Look::kAtItem>},
    {"selectattr", "value,*", 1, filter_select<Keep::kMatching, Look::kAtAttribute>},
    {"rejectattr", "value,*", 1, filter_select<Keep::kOthers, Look::kAtAttribute>},
};

}  // namespace

std::span<const Builtin> selection_filters() { return kTable; }

}  // namespace kvern::jinja
