// Filters, tests and methods: one table row each, one calling convention.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/template/value.h"

namespace kvern::jinja {

class Runtime;

/// Arguments bound to a builtin's parameters. Index 0 is what a filter, test or method is applied to.
class BoundArguments {
 public:
  explicit BoundArguments(size_t parameters) : bound_(parameters) {}
  /// Null if the argument was not given.
  const Value* find(size_t index) const { return bound_[index] ? &*bound_[index] : nullptr; }
  /// A required argument.
  const Value& operator[](size_t index) const { return *bound_[index]; }
  const Value& self() const { return *bound_[0]; }
  void bind(size_t index, Value value) { bound_[index] = std::move(value); }

  /// Typed readers; the fallback where the argument was not given or is None.
  Result<int64_t> integer(size_t index, int64_t fallback) const;
  Result<std::string> string(size_t index, std::string_view fallback) const;
  /// Truth of the argument; `fallback` if it was not given.
  bool flag(size_t index, bool fallback) const;

  CallArguments rest;  ///< What a variadic builtin got beyond its parameters.

 private:
  std::vector<std::optional<Value>> bound_;
};

using BuiltinFunction = Result<Value> (*)(Runtime& runtime, BoundArguments& arguments);

struct Builtin {
  std::string_view name;
  /// Names separated by commas, the first for the receiver; a last `*` takes everything else.
  std::string_view parameters;
  size_t required = 1;  ///< How many of them must be given.
  BuiltinFunction function = nullptr;
};

/// Null if there is none of that name.
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
/// Method of a str, list, tuple or dict.
const Builtin* find_method(const Value& receiver, std::string_view name);

/// Binds the arguments as Python would (positions, then names) and calls.
Result<Value> invoke(Runtime& runtime, const Builtin& builtin, const Value& receiver,
                     CallArguments arguments);

// The tables, each in the file of its subject.
std::span<const Builtin> string_filters();
std::span<const Builtin> number_filters();
std::span<const Builtin> sequence_filters();
std::span<const Builtin> selection_filters();
std::span<const Builtin> tests();
std::span<const Builtin> string_methods();
std::span<const Builtin> string_search_methods();
std::span<const Builtin> list_methods();
std::span<const Builtin> tuple_methods();
std::span<const Builtin> dict_methods();

}  // namespace kvern::jinja
