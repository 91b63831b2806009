// The functions that every chat template may call: range, namespace, dict, cycler, joiner, raise_exception
// and (with a clock) strftime_now.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/template/builtin.h"
#include "text/template/runtime.h"
#include "text/template/value.h"

namespace kvern::jinja {

/// A global function as a value.
class FunctionObject : public Object {
 public:
  explicit FunctionObject(const Builtin* function) : function_(function) {}
  std::string type_name() const override { return "function"; }
  bool is_callable() const override { return true; }
  Result<Value> call(Runtime& runtime, CallArguments arguments) override {
    return invoke(runtime, *function_, Value(), std::move(arguments));
  }

 private:
  const Builtin* function_;
};

/// What `namespace(...)` makes: attributes that assignments inside loops can change.
class NamespaceObject : public Object {
 public:
  explicit NamespaceObject(Dict* attributes) : attributes_(attributes) {}
  std::string type_name() const override { return "Namespace"; }
  Result<Value> get_attribute(Runtime& runtime, std::string_view name) override;
  Status set_attribute(Runtime& runtime, std::string_view name, Value value) override;

 private:
  Dict* attributes_;
};

/// Null if there is no such function; strftime_now exists only where the render was given a clock.
const Builtin* find_global(const Runtime& runtime, std::string_view name);

}  // namespace kvern::jinja
