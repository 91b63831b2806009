// Expressions.
#include "text/template/attributes.h"
#include "text/template/builtin.h"
#include "text/template/interpreter.h"
#include "text/template/operators.h"
#include "text/template/printing.h"

namespace kvern::jinja {

namespace {

/// A bound of a slice: absent, None or an integer.
Result<std::optional<int64_t>> slice_bound(const Value& value) {
  if (value.is_none()) return std::nullopt;
  if (value.is_undefined()) return undefined_error(value);
  if (!value.is_integral()) return template_error("slice indices must be integers or None");
  return value.as_int();
}

}  // namespace

Result<Value> Interpreter::evaluate(const Expression& expression) {
  const DepthScope scope(runtime_);
  Status allowed = scope.ok();
  if (allowed) allowed = runtime_.charge(1);
  if (!allowed) return locate(std::move(allowed).error(), expression.position);
  auto value = std::visit([&](const auto& node) { return evaluate_node(node); }, expression.node);
  if (!value) return locate(std::move(value).error(), expression.position);
  return value;
}

Result<bool> Interpreter::evaluate_condition(const Expression& expression) {
  KVERN_TRY(const Value value, evaluate(expression));
  return is_truthy(value);
}

Result<Value> Interpreter::evaluate_node(const NameExpression& node) {
  for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    KVERN_TRY_STATUS(runtime_.charge(scope->variables.size() / 16));
    if (const Value* found = scope->find_here(node.symbol)) return *found;
  }
  return Value::undefined("'" + tree_.symbols[static_cast<size_t>(node.symbol)] + "' is undefined");
}

Result<Value> Interpreter::evaluate_node(const SequenceExpression& node) {
  std::vector<Value> items;
  items.reserve(node.items.size());
  for (const ExpressionPtr& item : node.items) {
    KVERN_TRY(Value value, evaluate(*item));
    items.push_back(std::move(value));
  }
  return runtime_.list(std::move(items), node.is_tuple ? List::Kind::kTuple : List::Kind::kList);
}

Result<Value> Interpreter::evaluate_node(const DictExpression& node) {
  KVERN_TRY(Dict * dict, runtime_.heap().dict());
  for (const auto& [key_node, value_node] : node.entries) {
    KVERN_TRY(Value key, evaluate(*key_node));
    KVERN_TRY(Value value, evaluate(*value_node));
    KVERN_TRY_STATUS(check_key(runtime_, key));
    KVERN_TRY_STATUS(runtime_.heap().set(*dict, std::move(key), std::move(value)));
  }
  return Value::dict(dict);
}

Result<Value> Interpreter::evaluate_node(const AttributeExpression& node) {
  KVERN_TRY(const Value object, evaluate(*node.object));
  return get_attribute(runtime_, object, node.name);
}

Result<Value> Interpreter::evaluate_node(const SubscriptExpression& node) {
  KVERN_TRY(const Value object, evaluate(*node.object));
  KVERN_TRY(const Value index, evaluate(*node.index));
  return get_item(runtime_, object, index);
}

Result<Value> Interpreter::evaluate_node(const SliceExpression& node) {
  KVERN_TRY(const Value object, evaluate(*node.object));
  SliceBounds bounds;
  if (node.start) {
    KVERN_TRY(const Value value, evaluate(*node.start));
    KVERN_TRY(bounds.start, slice_bound(value));
  }
  if (node.stop) {
    KVERN_TRY(const Value value, evaluate(*node.stop));
    KVERN_TRY(bounds.stop, slice_bound(value));
  }
  if (node.step) {
    KVERN_TRY(const Value value, evaluate(*node.step));
    KVERN_TRY(bounds.step, slice_bound(value));
  }
  return get_slice(runtime_, object, bounds);
}

Result<CallArguments> Interpreter::evaluate_arguments(const ArgumentList& list) {
  CallArguments arguments;
  for (const ExpressionPtr& item : list.positional) {
    KVERN_TRY(Value value, evaluate(*item));
    arguments.positional.push_back(std::move(value));
  }
  for (const auto& [name, item] : list.named) {
    KVERN_TRY(Value value, evaluate(*item));
    arguments.named.emplace_back(name, std::move(value));
  }
  if (list.star) {
    KVERN_TRY(const Value value, evaluate(*list.star));
    KVERN_TRY(const List* more, iterate(runtime_, value));
    KVERN_TRY_STATUS(runtime_.charge(more->items.size()));
    arguments.positional.insert(arguments.positional.end(), more->items.begin(), more->items.end());
  }
  if (list.double_star) {
    KVERN_TRY(const Value value, evaluate(*list.double_star));
    if (!value.is_dict())
      return template_error("argument after ** must be a mapping, not " + value.type_name());
    for (const auto& [key, item] : value.as_dict().entries()) {
      KVERN_TRY_STATUS(check_key(runtime_, key));
      KVERN_TRY_STATUS(runtime_.charge(1));
      if (!key.is_string()) return template_error("keywords must be strings");
      arguments.named.emplace_back(key.text(), item);
    }
  }
  return arguments;
}

Result<Value> Interpreter::call(const Value& callee, CallArguments arguments) {
  if (callee.is_undefined()) return undefined_error(callee);
  if (!callee.is_object()) return template_error("'" + callee.type_name() + "' object is not callable");
  return callee.as_object().call(runtime_, std::move(arguments));
}

Result<Value> Interpreter::evaluate_call(const CallExpression& node, const Value* caller) {
  const auto arguments_of = [&]() -> Result<CallArguments> {
    KVERN_TRY(CallArguments arguments, evaluate_arguments(node.arguments));
    if (caller != nullptr) arguments.named.emplace_back("caller", *caller);
    return arguments;
  };
  if (const auto* attribute = std::get_if<AttributeExpression>(&node.callee->node)) {
    KVERN_TRY(const Value object, evaluate(*attribute->object));
    if (const Builtin* method = find_method(object, attribute->name)) {  // no need to make a bound method
      KVERN_TRY(CallArguments arguments, arguments_of());
      return invoke(runtime_, *method, object, std::move(arguments));
    }
    KVERN_TRY(const Value callee, get_attribute(runtime_, object, attribute->name));
    KVERN_TRY(CallArguments arguments, arguments_of());
    return call(callee, std::move(arguments));
  }
  KVERN_TRY(const Value callee, evaluate(*node.callee));
  KVERN_TRY(CallArguments arguments, arguments_of());
  return call(callee, std::move(arguments));
}

Result<Value> Interpreter::evaluate_node(const CallExpression& node) { return evaluate_call(node, nullptr); }

Result<Value> Interpreter::evaluate_node(const FilterExpression& node) {
  KVERN_TRY(const Value input, evaluate(*node.input));
  if (node.builtin == nullptr) return fail(ErrorCode::kUnsupported, "No filter named '" + node.name + "'.");
  KVERN_TRY(CallArguments arguments, evaluate_arguments(node.arguments));
  return invoke(runtime_, *node.builtin, input, std::move(arguments));
}

Result<Value> Interpreter::evaluate_node(const TestExpression& node) {
  KVERN_TRY(const Value input, evaluate(*node.input));
  if (node.builtin == nullptr) return fail(ErrorCode::kUnsupported, "No test named '" + node.name + "'.");
  KVERN_TRY(CallArguments arguments, evaluate_arguments(node.arguments));
  return invoke(runtime_, *node.builtin, input, std::move(arguments));
}

Result<Value> Interpreter::evaluate_node(const UnaryExpression& node) {
  KVERN_TRY(const Value value, evaluate(*node.operand));
  if (node.op == UnaryOperator::kNot) return Value::boolean(!is_truthy(value));
  if (node.op == UnaryOperator::kMinus) return negate(value);
  if (value.is_integral()) return Value::integer(value.as_int());
  if (value.is_float()) return value;
  if (value.is_undefined()) return undefined_error(value);
  return template_error("bad operand type for unary +: '" + value.type_name() + "'");
}

Result<Value> Interpreter::evaluate_node(const BinaryExpression& node) {
  KVERN_TRY(const Value left, evaluate(*node.left));
  KVERN_TRY(const Value right, evaluate(*node.right));
  return arithmetic(runtime_, node.op, left, right);
}

Result<Value> Interpreter::evaluate_node(const LogicalExpression& node) {
  KVERN_TRY(Value left, evaluate(*node.left));
  if (is_truthy(left) != node.is_and) return left;
  return evaluate(*node.right);
}

Result<Value> Interpreter::evaluate_node(const ComparisonExpression& node) {
  KVERN_TRY(Value left, evaluate(*node.first));
  for (const auto& [op, operand] : node.rest) {
    KVERN_TRY(Value right, evaluate(*operand));
    KVERN_TRY(const bool holds, compare(runtime_, op, left, right));
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Interpreter::evaluate_node(const ConcatExpression& node) {
  std::string text;
  for (const ExpressionPtr& item : node.items) {
    KVERN_TRY(const Value value, evaluate(*item));
    KVERN_TRY_STATUS(append_str(runtime_, text, value));
  }
  return runtime_.string(std::move(text));
}

Result<Value> Interpreter::evaluate_node(const ConditionalExpression& node) {
  KVERN_TRY(const bool holds, evaluate_condition(*node.condition));
  if (holds) return evaluate(*node.then);
  if (node.otherwise) return evaluate(*node.otherwise);
  return Value::undefined("the inline if-expression evaluated to false and no else section was defined.");
}

}  // namespace kvern::jinja
