// Binding of arguments and look-up in the tables.
#include "text/template/builtin.h"

#include <algorithm>
#include <initializer_list>

#include "text/template/operators.h"
#include "text/template/printing.h"
#include "text/template/runtime.h"

namespace kvern::jinja {

namespace {

struct ParameterList {
  std::vector<std::string_view> names;
  bool variadic = false;
};

ParameterList split_parameters(std::string_view text) {
  ParameterList list;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    if (name == "*") {
      list.variadic = true;
    } else {
      list.names.push_back(name);
    }
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return list;
}

const Builtin* find_in(std::span<const Builtin> table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Builtin::name);
  return found == table.end() ? nullptr : &*found;
}

const Builtin* find_in_any(std::initializer_list<std::span<const Builtin>> tables, std::string_view name) {
  for (const auto table : tables) {
    if (const Builtin* found = find_in(table, name)) return found;
  }
  return nullptr;
}

/// Pays for the call and for reading its text arguments.
Status charge_arguments(Runtime& runtime, const CallArguments& arguments) {
  size_t bytes = 0;
  for (const Value& value : arguments.positional) bytes += value.is_string() ? value.text().size() : 0;
  for (const auto& [name, value] : arguments.named) bytes += value.is_string() ? value.text().size() : 0;
  return runtime.charge(1 + arguments.positional.size() + arguments.named.size() + bytes / 64);
}

Status bind_named(const Builtin& builtin, const ParameterList& parameters, CallArguments& arguments,
                  BoundArguments& bound) {
  for (auto& [name, value] : arguments.named) {
    const auto found = std::ranges::find(parameters.names, std::string_view(name));
    const auto index = static_cast<size_t>(found - parameters.names.begin());
    if (found == parameters.names.end() || index == 0) {
      if (!parameters.variadic) {
        return template_error(std::string(builtin.name) + "() got an unexpected keyword argument '" + name +
                              "'");
      }
      bound.rest.named.emplace_back(std::move(name), std::move(value));
      continue;
    }
    if (bound.find(index) != nullptr) {
      return template_error(std::string(builtin.name) + "() got multiple values for argument '" + name + "'");
    }
    bound.bind(index, std::move(value));
  }
  return Ok{};
}

}  // namespace

Result<int64_t> BoundArguments::integer(size_t index, int64_t fallback) const {
  const Value* value = find(index);
  if (value == nullptr || value->is_none()) return fallback;
  if (value->is_undefined()) return undefined_error(*value);
  if (!value->is_integral()) return template_error("an integer is needed, got '" + value->type_name() + "'");
  return value->as_int();
}

Result<std::string> BoundArguments::string(size_t index, std::string_view fallback) const {
  const Value* value = find(index);
  if (value == nullptr || value->is_none()) return std::string(fallback);
  if (value->is_undefined()) return std::string();
  if (!value->is_string()) return template_error("a string is needed, got '" + value->type_name() + "'");
  return value->text();
}

bool BoundArguments::flag(size_t index, bool fallback) const {
  const Value* value = find(index);
  return value == nullptr ? fallback : is_truthy(*value);
}

const Builtin* find_filter(std::string_view name) {
  return find_in_any({string_filters(), number_filters(), sequence_filters(), selection_filters()}, name);
}

const Builtin* find_test(std::string_view name) { return find_in(tests(), name); }

const Builtin* find_method(const Value& receiver, std::string_view name) {
  if (receiver.is_string()) return find_in_any({string_methods(), string_search_methods()}, name);
  if (receiver.is_dict()) return find_in(dict_methods(), name);
  if (!receiver.is_list()) return nullptr;
  return find_in(receiver.as_list().is_tuple() ? tuple_methods() : list_methods(), name);
}

Result<Value> invoke(Runtime& runtime, const Builtin& builtin, const Value& receiver,
                     CallArguments arguments) {
  KVERN_TRY_STATUS(charge_arguments(runtime, arguments));
  const ParameterList parameters = split_parameters(builtin.parameters);
  BoundArguments bound(parameters.names.size());
  bound.bind(0, receiver);
  size_t index = 1;
  for (Value& value : arguments.positional) {
    if (index < parameters.names.size()) {
      bound.bind(index++, std::move(value));
    } else if (parameters.variadic) {
      bound.rest.positional.push_back(std::move(value));
    } else {
      return template_error(std::string(builtin.name) + "() takes at most " +
                            std::to_string(parameters.names.size() - 1) + " arguments");
    }
  }
  KVERN_TRY_STATUS(bind_named(builtin, parameters, arguments, bound));
  for (size_t i = 1; i < builtin.required; ++i) {
    if (bound.find(i) == nullptr) {
      return template_error(std::string(builtin.name) + "() needs the argument '" +
                            std::string(parameters.names[i]) + "'");
    }
  }
  return builtin.function(runtime, bound);
}

}  // namespace kvern::jinja
