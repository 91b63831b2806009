// Attributes of `loop`.
#include "text/template/loop.h"

#include "text/template/attributes.h"
#include "text/template/builtin.h"
#include "text/template/operators.h"

namespace kvern::jinja {

namespace {

LoopObject& loop_of(const BoundArguments& arguments) {
  return static_cast<LoopObject&>(arguments.self().as_object());
}

Result<Value> loop_cycle(Runtime&, BoundArguments& arguments) {
  const auto& choices = arguments.rest.positional;
  if (choices.empty()) return template_error("no items for cycling given");
  return choices[loop_of(arguments).index() % choices.size()];
}

Result<Value> loop_changed(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(Value values, runtime.list(std::move(arguments.rest.positional), List::Kind::kTuple));
  KVERN_TRY(const bool changed, loop_of(arguments).changed(runtime, std::move(values)));
  return Value::boolean(changed);
}

constexpr Builtin kCycle{"cycle", "self,*", 1, loop_cycle};
constexpr Builtin kChanged{"changed", "self,*", 1, loop_changed};

}  // namespace

Result<bool> LoopObject::changed(Runtime& runtime, Value values) {
  if (last_values_) {
    KVERN_TRY(const bool same, equal(runtime, *last_values_, values));
    if (same) return false;
  }
  last_values_ = std::move(values);
  return true;
}

Result<Value> LoopObject::get_attribute(Runtime& runtime, std::string_view name) {
  const std::vector<Value>& items = items_->items;
  const auto index = static_cast<int64_t>(index_);
  const auto length = static_cast<int64_t>(items.size());
  if (name == "index") return Value::integer(index + 1);
  if (name == "index0") return Value::integer(index);
  if (name == "revindex") return Value::integer(length - index);
  if (name == "revindex0") return Value::integer(length - index - 1);
  if (name == "first") return Value::boolean(index == 0);
  if (name == "last") return Value::boolean(index + 1 >= length);
  if (name == "length") return Value::integer(length);
  if (name == "depth") return Value::integer(1);  // only recursive loops go deeper
  if (name == "depth0") return Value::integer(0);
  if (name == "previtem") {
    return index_ > 0 && index_ <= items.size() ? items[index_ - 1]
                                                : Value::undefined("there is no previous item");
  }
  if (name == "nextitem") {
    return index_ + 1 < items.size() ? items[index_ + 1] : Value::undefined("there is no next item");
  }
  if (name != "cycle" && name != "changed") return Object::get_attribute(runtime, name);
  const Builtin* method = name == "cycle" ? &kCycle : &kChanged;
  KVERN_TRY(BoundMethod * bound, runtime.heap().object<BoundMethod>(Value::object(this), method));
  return Value::object(bound);
}

}  // namespace kvern::jinja
