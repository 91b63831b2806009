// object.name, object[key], object[a:b:c] as Jinja defines them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/template/builtin.h"
#include "text/template/runtime.h"
#include "text/template/value.h"

namespace kvern::jinja {

/// A method together with what it is called on.
class BoundMethod : public Object {
 public:
  BoundMethod(Value receiver, const Builtin* method) : receiver_(std::move(receiver)), method_(method) {}
  std::string type_name() const override { return "builtin_function_or_method"; }
  bool is_callable() const override { return true; }
  Result<Value> call(Runtime& runtime, CallArguments arguments) override {
    return invoke(runtime, *method_, receiver_, std::move(arguments));
  }

 private:
  Value receiver_;
  const Builtin* method_;
};

/// The dot: a method first, then an item of that name. Undefined where there is neither; an error on
/// undefined.
Result<Value> get_attribute(Runtime& runtime, const Value& object, std::string_view name);
/// The brackets: an item first, then a method. Undefined where there is neither; an error on undefined.
Result<Value> get_item(Runtime& runtime, const Value& object, const Value& key);

struct SliceBounds {
  std::optional<int64_t> start;
  std::optional<int64_t> stop;
  std::optional<int64_t> step;
};
/// A slice of a string, list or tuple.
Result<Value> get_slice(Runtime& runtime, const Value& object, const SliceBounds& bounds);

/// A dotted path of names and numbers ("function.name", "0"), as the `attribute` arguments of filters use.
Result<Value> get_path(Runtime& runtime, const Value& object, const Value& path);

}  // namespace kvern::jinja
