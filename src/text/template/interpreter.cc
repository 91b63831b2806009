// Statements: output, control flow, assignment, macros.
#include "text/template/interpreter.h"

#include <algorithm>
#include <utility>

#include "text/template/context.h"
#include "text/template/globals.h"
#include "text/template/loop.h"
#include "text/template/operators.h"
#include "text/template/printing.h"

namespace kvern::jinja {

namespace {

/// A macro or the body of a call block, together with the scope it sees.
class MacroObject : public Object {
 public:
  MacroObject(Interpreter& interpreter, const MacroDefinition& macro, std::shared_ptr<Scope> closure)
      : interpreter_(interpreter), macro_(macro), closure_(std::move(closure)) {}
  std::string type_name() const override { return "Macro"; }
  bool is_callable() const override { return true; }
  Result<Value> call(Runtime&, CallArguments arguments) override {
    return interpreter_.call_macro(macro_, closure_, std::move(arguments));
  }
  Result<Value> get_attribute(Runtime& runtime, std::string_view name) override {
    if (name == "name") return runtime.string(macro_.name);
    if (name == "caller") return Value::boolean(macro_.uses_caller);
    if (name != "arguments") return Object::get_attribute(runtime, name);
    std::vector<Value> names;
    for (const MacroParameter& parameter : macro_.parameters) {
      KVERN_TRY(Value text, runtime.string(parameter.name));
      names.push_back(std::move(text));
    }
    return runtime.list(std::move(names), List::Kind::kTuple);
  }

 private:
  Interpreter& interpreter_;
  const MacroDefinition& macro_;
  std::shared_ptr<Scope> closure_;
};

/// Sets a variable for the time of a block and puts the old value back.
template <typename T>
class Restore {
 public:
  Restore(T& variable, T value) : variable_(variable), old_(std::exchange(variable, std::move(value))) {}
  ~Restore() { variable_ = std::move(old_); }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  T& variable_;
  T old_;
};

std::shared_ptr<Scope> inner_scope(const std::shared_ptr<Scope>& parent) {
  auto scope = std::make_shared<Scope>();
  scope->parent = parent;
  return scope;
}

}  // namespace

const Value* Scope::find_here(SymbolId symbol) const {
  for (const auto& [id, value] : variables) {
    if (id == symbol) return &value;
  }
  return nullptr;
}

void Scope::set(SymbolId symbol, Value value) {
  for (auto& [id, old] : variables) {
    if (id != symbol) continue;
    old = std::move(value);
    return;
  }
  variables.emplace_back(symbol, std::move(value));
}

std::unexpected<Error> Interpreter::locate(Error error, SourcePosition position) const {
  if (error.where.empty()) error.where = describe(tree_.name, position);
  return std::unexpected(std::move(error));
}

/// Brings in the global functions and the context's values, but only those that the template names.
Status Interpreter::load_context(const json::object& context) {
  for (size_t i = 0; i < tree_.symbols.size(); ++i) {
    const std::string& name = tree_.symbols[i];
    KVERN_TRY_STATUS(runtime_.charge(1));
    if (const auto found = context.find(name); found != context.end()) {
      KVERN_TRY(Value value, import_json(runtime_, found->value(), name));
      scope_->variables.emplace_back(SymbolId(i), std::move(value));
    } else if (const Builtin* global = find_global(runtime_, name)) {
      KVERN_TRY(FunctionObject * function, runtime_.heap().object<FunctionObject>(global));
      scope_->variables.emplace_back(SymbolId(i), Value::object(function));
    }
  }
  return Ok{};
}

Result<std::string> Interpreter::render(const json::object& context) {
  scope_ = std::make_shared<Scope>();
  KVERN_TRY_STATUS(load_context(context));
  KVERN_TRY(const Flow flow, run_body(tree_.body));
  static_cast<void>(flow);  // the parser lets no break stand outside of a loop
  return std::move(output_);
}

Status Interpreter::emit(std::string_view text) {
  if (text.size() >
      runtime_.limits().max_output_bytes - std::min(runtime_.limits().max_output_bytes, out_->size())) {
    return fail(ErrorCode::kExhausted,
                "the output is longer than " + std::to_string(runtime_.limits().max_output_bytes) + " bytes");
  }
  *out_ += text;
  return runtime_.charge_bytes(text.size());
}

Result<Interpreter::Flow> Interpreter::run_body(const Body& body) {
  const DepthScope scope(runtime_);
  KVERN_TRY_STATUS(scope.ok());
  for (const Statement& statement : body) {
    KVERN_TRY(const Flow flow, run(statement));
    if (flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Result<Interpreter::Flow> Interpreter::run(const Statement& statement) {
  if (auto paid = runtime_.charge(1); !paid) return locate(std::move(paid).error(), statement.position);
  auto flow = std::visit([&](const auto& node) { return run_node(node); }, statement.node);
  if (!flow) return locate(std::move(flow).error(), statement.position);
  return flow;
}

Result<Interpreter::Flow> Interpreter::run_in_scope(const Body& body) {
  const Restore<std::shared_ptr<Scope>> scope(scope_, inner_scope(scope_));
  return run_body(body);
}

Result<Interpreter::Flow> Interpreter::run_node(const TextStatement& node) {
  KVERN_TRY_STATUS(emit(node.text));
  return Flow::kNormal;
}

Result<Interpreter::Flow> Interpreter::run_node(const OutputStatement& node) {
  for (const ExpressionPtr& expression : node.values) {
    KVERN_TRY(const Value value, evaluate(*expression));
    if (value.is_string()) {
      KVERN_TRY_STATUS(emit(value.text()));
    } else {
      KVERN_TRY(const std::string text, to_str(runtime_, value));
      KVERN_TRY_STATUS(emit(text));
    }
  }
  return Flow::kNormal;
}

Result<Interpreter::Flow> Interpreter::run_node(const IfStatement& node) {
  for (const auto& [condition, body] : node.branches) {
    KVERN_TRY(const bool holds, evaluate_condition(*condition));
    if (holds) return run_body(body);
  }
  return run_body(node.otherwise);
}

/// What the loop visits: the iterable's items that pass the loop's filter.
Result<List*> Interpreter::loop_items(const ForStatement& node) {
  KVERN_TRY(const Value iterable, evaluate(*node.iterable));
  KVERN_TRY(List * items, iterate(runtime_, iterable));
  if (!node.filter) return items;
  std::vector<Value> kept;
  for (size_t i = 0; i < items->items.size(); ++i) {
    const Restore<std::shared_ptr<Scope>> scope(scope_, inner_scope(scope_));
    const Value item = items->items[i];
    KVERN_TRY_STATUS(assign(node.target, item));
    KVERN_TRY(const bool passes, evaluate_condition(*node.filter));
    if (passes) kept.push_back(item);
  }
  KVERN_TRY(const Value list, runtime_.list(std::move(kept)));
  return &list.as_list();
}

Result<Interpreter::Flow> Interpreter::run_iteration(const ForStatement& node, const Value& item,
                                                     const Value& loop) {
  const Restore<std::shared_ptr<Scope>> scope(scope_, inner_scope(scope_));
  scope_->set(kLoopSymbol, loop);
  KVERN_TRY_STATUS(assign(node.target, item));
  return run_body(node.body);
}

Result<Interpreter::Flow> Interpreter::run_node(const ForStatement& node) {
  KVERN_TRY(List * items, loop_items(node));
  if (items->items.empty()) return run_in_scope(node.otherwise);
  KVERN_TRY(LoopObject * loop, runtime_.heap().object<LoopObject>(items));
  for (size_t i = 0; i < items->items.size(); ++i) {
    loop->move_to(i);
    KVERN_TRY_STATUS(runtime_.charge(1));
    const Value item = items->items[i];  // a copy: the body may change the list
    KVERN_TRY(const Flow flow, run_iteration(node, item, Value::object(loop)));
    if (flow == Flow::kBreak) break;
  }
  return Flow::kNormal;
}

Result<Interpreter::Flow> Interpreter::run_node(const SetStatement& node) {
  KVERN_TRY(const Value value, evaluate(*node.value));
  KVERN_TRY_STATUS(assign(node.target, value));
  return Flow::kNormal;
}

Result<Value> Interpreter::capture(const Body& body, const Expression* filter, Flow& flow) {
  std::string text;
  {
    const Restore<std::string*> out(out_, &text);
    KVERN_TRY(flow, run_in_scope(body));
  }
  KVERN_TRY(Value value, runtime_.string(std::move(text)));
  if (filter == nullptr || flow != Flow::kNormal) return value;
  const Restore<Value> captured(captured_, std::move(value));
  return evaluate(*filter);
}

Result<Interpreter::Flow> Interpreter::run_node(const SetBlockStatement& node) {
  Flow flow = Flow::kNormal;
  KVERN_TRY(const Value value, capture(node.body, node.filter.get(), flow));
  if (flow != Flow::kNormal) return flow;
  KVERN_TRY_STATUS(assign(node.target, value));
  return Flow::kNormal;
}

Result<Interpreter::Flow> Interpreter::run_node(const FilterBlockStatement& node) {
  Flow flow = Flow::kNormal;
  KVERN_TRY(const Value value, capture(node.body, node.filter.get(), flow));
  if (flow != Flow::kNormal) return flow;
  KVERN_TRY(const std::string text, to_str(runtime_, value));
  KVERN_TRY_STATUS(emit(text));
  return Flow::kNormal;
}

Result<Interpreter::Flow> Interpreter::run_node(const WithStatement& node) {
  std::vector<Value> values;  // all values are those of the scope outside
  for (const auto& [target, expression] : node.assignments) {
    KVERN_TRY(Value value, evaluate(*expression));
    values.push_back(std::move(value));
  }
  const Restore<std::shared_ptr<Scope>> scope(scope_, inner_scope(scope_));
  for (size_t i = 0; i < values.size(); ++i) KVERN_TRY_STATUS(assign(node.assignments[i].first, values[i]));
  return run_body(node.body);
}

Result<Interpreter::Flow> Interpreter::run_node(const GenerationStatement& node) {
  return run_in_scope(node.body);
}

Result<Value> Interpreter::make_macro(const MacroDefinition& macro) {
  KVERN_TRY(MacroObject * object, runtime_.heap().object<MacroObject>(*this, macro, scope_));
  return Value::object(object);
}

Result<Interpreter::Flow> Interpreter::run_node(const MacroStatement& node) {
  KVERN_TRY(Value macro, make_macro(*node.macro));
  scope_->set(node.macro->symbol, std::move(macro));
  return Flow::kNormal;
}

Result<Interpreter::Flow> Interpreter::run_node(const CallBlockStatement& node) {
  KVERN_TRY(const Value caller, make_macro(*node.caller));
  auto value = evaluate_call(std::get<CallExpression>(node.call->node), &caller);
  if (!value) return locate(std::move(value).error(), node.call->position);
  KVERN_TRY(const std::string text, to_str(runtime_, *value));
  KVERN_TRY_STATUS(emit(text));
  return Flow::kNormal;
}

Status Interpreter::assign(const Target& target, const Value& value) {
  if (const auto* symbol = std::get_if<SymbolId>(&target.where)) {
    KVERN_TRY_STATUS(runtime_.charge(scope_->variables.size() / 16));
    scope_->set(*symbol, value);
    return Ok{};
  }
  if (const auto* attribute = std::get_if<NamespaceTarget>(&target.where)) {
    KVERN_TRY(const Value holder, evaluate_node(NameExpression{attribute->symbol}));
    if (!holder.is_object()) return template_error("cannot assign attribute on non-namespace object");
    return holder.as_object().set_attribute(runtime_, attribute->attribute, value);
  }
  const auto& targets = std::get<std::vector<Target>>(target.where);
  KVERN_TRY(const List* items, iterate(runtime_, value));
  const std::vector<Value> parts = items->items;
  if (parts.size() != targets.size()) {
    return template_error((parts.size() < targets.size() ? "not enough" : "too many") +
                          std::string(" values to unpack (expected ") + std::to_string(targets.size()) +
                          ", got " + std::to_string(parts.size()) + ")");
  }
  for (size_t i = 0; i < parts.size(); ++i) KVERN_TRY_STATUS(assign(targets[i], parts[i]));
  return Ok{};
}

Status Interpreter::bind_named(const MacroDefinition& macro, CallArguments& arguments) {
  KVERN_TRY(Dict * kwargs, runtime_.heap().dict());
  for (auto& [name, value] : arguments.named) {
    const auto found = std::ranges::find(macro.parameters, name, &MacroParameter::name);
    if (found != macro.parameters.end()) {
      if (scope_->find_here(found->symbol) != nullptr) {
        return template_error("macro '" + macro.name + "' got multiple values for argument '" + name + "'");
      }
      scope_->set(found->symbol, std::move(value));
    } else if (name == "caller" && macro.uses_caller) {
      scope_->set(kCallerSymbol, std::move(value));
    } else if (macro.uses_kwargs) {
      KVERN_TRY(Value key, runtime_.string(name));
      KVERN_TRY_STATUS(runtime_.heap().set(*kwargs, std::move(key), std::move(value)));
    } else {
      return template_error("macro '" + macro.name + "' takes no keyword argument '" + name + "'");
    }
  }
  if (macro.uses_kwargs) scope_->set(kKwargsSymbol, Value::dict(kwargs));
  return Ok{};
}

Status Interpreter::fill_missing(const MacroDefinition& macro) {
  for (const MacroParameter& parameter : macro.parameters) {
    if (scope_->find_here(parameter.symbol) != nullptr) continue;
    Value value = Value::undefined("parameter '" + parameter.name + "' was not provided");
    if (parameter.fallback) {
      KVERN_TRY(value, evaluate(*parameter.fallback));
    }
    scope_->set(parameter.symbol, std::move(value));
  }
  return Ok{};
}

Status Interpreter::bind_parameters(const MacroDefinition& macro, CallArguments arguments) {
  std::vector<Value> extra;
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    if (i < macro.parameters.size()) {
      scope_->set(macro.parameters[i].symbol, std::move(arguments.positional[i]));
    } else {
      extra.push_back(std::move(arguments.positional[i]));
    }
  }
  if (!extra.empty() && !macro.uses_varargs) {
    return template_error("macro '" + macro.name + "' takes not more than " +
                          std::to_string(macro.parameters.size()) + " argument(s)");
  }
  if (macro.uses_varargs) {
    KVERN_TRY(Value varargs, runtime_.list(std::move(extra), List::Kind::kTuple));
    scope_->set(kVarargsSymbol, std::move(varargs));
  }
  KVERN_TRY_STATUS(bind_named(macro, arguments));
  const bool is_parameter =
      std::ranges::find(macro.parameters, kCallerSymbol, &MacroParameter::symbol) != macro.parameters.end();
  if (macro.uses_caller && !is_parameter && scope_->find_here(kCallerSymbol) == nullptr) {
    scope_->set(kCallerSymbol, Value::undefined("No caller defined"));
  }
  return fill_missing(macro);
}

Result<Value> Interpreter::call_macro(const MacroDefinition& macro, const std::shared_ptr<Scope>& closure,
                                      CallArguments arguments) {
  const Restore<std::shared_ptr<Scope>> scope(scope_, inner_scope(closure));
  std::string text;
  const Restore<std::string*> out(out_, &text);
  KVERN_TRY_STATUS(bind_parameters(macro, std::move(arguments)));
  KVERN_TRY(const Flow flow, run_body(macro.body));
  static_cast<void>(flow);  // the parser lets no break leave a macro
  return runtime_.string(std::move(text));
}

}  // namespace kvern::jinja
