// Global functions and the objects they make.
#include "text/template/globals.h"

#include <algorithm>

#include "text/template/attributes.h"
#include "text/template/operators.h"
#include "text/template/printing.h"
#include "text/template/strftime.h"

namespace kvern::jinja {

namespace {

/// joiner(): nothing at the first call, the separator afterwards.
class JoinerObject : public Object {
 public:
  explicit JoinerObject(Value separator) : separator_(std::move(separator)) {}
  std::string type_name() const override { return "Joiner"; }
  bool is_callable() const override { return true; }
  Result<Value> call(Runtime& runtime, CallArguments) override {
    if (used_) return separator_;
    used_ = true;
    return runtime.string({});
  }

 private:
  Value separator_;
  bool used_ = false;
};

/// cycler(): gives its items in turn.
class CyclerObject : public Object {
 public:
  explicit CyclerObject(List* items) : items_(items) {}
  std::string type_name() const override { return "Cycler"; }
  Result<Value> get_attribute(Runtime& runtime, std::string_view name) override;
  const Value& current() const { return items_->items[at_]; }
  void advance() { at_ = (at_ + 1) % items_->items.size(); }
  void reset() { at_ = 0; }

 private:
  List* items_;
  size_t at_ = 0;
};

CyclerObject& cycler_of(const BoundArguments& arguments) {
  return static_cast<CyclerObject&>(arguments.self().as_object());
}

Result<Value> cycler_next(Runtime&, BoundArguments& arguments) {
  CyclerObject& cycler = cycler_of(arguments);
  Value value = cycler.current();
  cycler.advance();
  return value;
}

Result<Value> cycler_reset(Runtime&, BoundArguments& arguments) {
  cycler_of(arguments).reset();
  return Value();
}

constexpr Builtin kCyclerNext{"next", "self", 1, cycler_next};
constexpr Builtin kCyclerReset{"reset", "self", 1, cycler_reset};

Result<Value> CyclerObject::get_attribute(Runtime& runtime, std::string_view name) {
  if (name == "current") return current();
  if (name != "next" && name != "reset") return Object::get_attribute(runtime, name);
  const Builtin* method = name == "next" ? &kCyclerNext : &kCyclerReset;
  KVERN_TRY(BoundMethod * bound, runtime.heap().object<BoundMethod>(Value::object(this), method));
  return Value::object(bound);
}

Result<Value> global_range(Runtime& runtime, BoundArguments& arguments) {
  for (size_t i = 1; i < 4; ++i) {
    if (arguments.find(i) != nullptr && !arguments[i].is_integral()) {
      if (arguments[i].is_undefined()) return undefined_error(arguments[i]);
      return template_error("'" + arguments[i].type_name() + "' object cannot be interpreted as an integer");
    }
  }
  const bool only_stop = arguments.find(2) == nullptr;
  const int64_t start = only_stop ? 0 : arguments[1].as_int();
  const int64_t stop = only_stop ? arguments[1].as_int() : arguments[2].as_int();
  const int64_t step = arguments.find(3) != nullptr ? arguments[3].as_int() : 1;
  if (step == 0) return template_error("range() arg 3 must not be zero");
  std::vector<Value> items;
  int64_t at = start;
  while (step > 0 ? at < stop : at > stop) {
    if (static_cast<int64_t>(items.size()) == runtime.limits().max_range) {
      return fail(
          ErrorCode::kExhausted,
          "Range too big: at most " + std::to_string(runtime.limits().max_range) + " items are allowed");
    }
    items.push_back(Value::integer(at));
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return runtime.list(std::move(items));
}

Result<Dict*> make_dict(Runtime& runtime, const CallArguments& arguments) {
  KVERN_TRY(Dict * dict, runtime.heap().dict());
  const Value target = Value::dict(dict);
  KVERN_TRY(const Value done, invoke(runtime, *find_method(target, "update"), target, arguments));
  return done.is_none() ? dict : nullptr;
}

Result<Value> global_dict(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(Dict * dict, make_dict(runtime, arguments.rest));
  return Value::dict(dict);
}

Result<Value> global_namespace(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(Dict * dict, make_dict(runtime, arguments.rest));
  KVERN_TRY(NamespaceObject * object, runtime.heap().object<NamespaceObject>(dict));
  return Value::object(object);
}

Result<Value> global_joiner(Runtime& runtime, BoundArguments& arguments) {
  const Value separator = arguments.find(1) != nullptr ? arguments[1] : Value::literal(", ");
  KVERN_TRY(JoinerObject * object, runtime.heap().object<JoinerObject>(separator));
  return Value::object(object);
}

Result<Value> global_cycler(Runtime& runtime, BoundArguments& arguments) {
  if (arguments.rest.positional.empty()) return template_error("at least one item has to be provided");
  KVERN_TRY(const Value items, runtime.list(std::move(arguments.rest.positional)));
  KVERN_TRY(CyclerObject * object, runtime.heap().object<CyclerObject>(&items.as_list()));
  return Value::object(object);
}

Result<Value> global_raise(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(std::string message, to_str(runtime, arguments[1]));
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

Result<Value> global_strftime(Runtime& runtime, BoundArguments& arguments) {
  KVERN_TRY(const std::string format, arguments.string(1, ""));
  KVERN_TRY(std::string text, format_time(runtime.clock()->wall_now(), format));
  return runtime.string(std::move(text));
}

constexpr Builtin kTable[] = {
    {"range", "self,start,stop,step", 2, global_range},
    {"dict", "self,*", 1, global_dict},
    {"namespace", "self,*", 1, global_namespace},
    {"joiner", "self,sep", 1, global_joiner},
    {"cycler", "self,*", 1, global_cycler},
    {"raise_exception", "self,message", 2, global_raise},
    {"strftime_now", "self,format", 2, global_strftime},
};

}  // namespace

Result<Value> NamespaceObject::get_attribute(Runtime& runtime, std::string_view name) {
  if (const Value* found = attributes_->find(name)) return *found;
  return Object::get_attribute(runtime, name);
}

Status NamespaceObject::set_attribute(Runtime& runtime, std::string_view name, Value value) {
  return runtime.heap().set(*attributes_, Value::literal(std::string(name)), std::move(value));
}

const Builtin* find_global(const Runtime& runtime, std::string_view name) {
  if (name == "strftime_now" && runtime.clock() == nullptr) return nullptr;
  const auto* found = std::ranges::find(kTable, name, &Builtin::name);
  return found == std::end(kTable) ? nullptr : found;
}

}  // namespace kvern::jinja
