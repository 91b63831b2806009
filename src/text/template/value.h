// The values of a running template, with Python's types: undefined, None, bool, int, float, str, list, tuple,
// dict and objects (functions, macros, namespaces, loops).
//
// Ownership: strings are reference counted; lists, dicts and objects belong to the Heap of one render and are
// borrowed by pointer from values. So cycles neither leak nor recurse when they are destroyed, whatever a
// template builds. Everything here is used by one thread, except string literals of the template, which are
// immutable and shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace kvern::jinja {

class Runtime;
class List;
class Dict;
class Object;

/// Counts the bytes that the values of a render hold, against a limit.
struct MemoryMeter {
  size_t live_bytes = 0;
  size_t limit_bytes = 0;
};

/// An immutable text with its length in code points; tells its meter when it goes.
struct StringData {
  std::string text;
  size_t code_points = 0;
  MemoryMeter* meter = nullptr;

  StringData(std::string content, MemoryMeter* counted_by);
  ~StringData();
  StringData(const StringData&) = delete;
  StringData& operator=(const StringData&) = delete;
  bool is_ascii() const { return code_points == text.size(); }
};

struct Undefined {
  std::shared_ptr<const std::string> reason;  ///< What to say when it is used; may be null.
};
struct None {};

class Value {
 public:
  Value() : data_(None{}) {}
  static Value undefined(std::string reason);
  static Value boolean(bool value) { return Value(Data(value)); }
  static Value integer(int64_t value) { return Value(Data(value)); }
  static Value number(double value) { return Value(Data(value)); }
  static Value list(List* list) { return Value(Data(list)); }
  static Value dict(Dict* dict) { return Value(Data(dict)); }
  static Value object(Object* object) { return Value(Data(object)); }
  static Value string(std::shared_ptr<const StringData> text) { return Value(Data(std::move(text))); }
  /// A text that no heap counts: literals of a template.
  static Value literal(std::string text);

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_int() const { return std::holds_alternative<int64_t>(data_); }
  bool is_float() const { return std::holds_alternative<double>(data_); }
  bool is_string() const { return std::holds_alternative<StringPointer>(data_); }
  bool is_list() const { return std::holds_alternative<List*>(data_); }  ///< Also a tuple.
  bool is_dict() const { return std::holds_alternative<Dict*>(data_); }
  bool is_object() const { return std::holds_alternative<Object*>(data_); }
  /// int or bool: what Python computes with as an integer.
  bool is_integral() const { return is_int() || is_bool(); }
  bool is_number() const { return is_integral() || is_float(); }

  bool as_bool() const { return std::get<bool>(data_); }
  /// Of an int or bool.
  int64_t as_int() const { return is_bool() ? int64_t{as_bool()} : std::get<int64_t>(data_); }
  /// Of any number.
  double as_double() const { return is_float() ? std::get<double>(data_) : static_cast<double>(as_int()); }
  const std::string& text() const { return std::get<StringPointer>(data_)->text; }
  const StringData& string_data() const { return *std::get<StringPointer>(data_); }
  List& as_list() const { return *std::get<List*>(data_); }
  Dict& as_dict() const { return *std::get<Dict*>(data_); }
  Object& as_object() const { return *std::get<Object*>(data_); }
  /// Why an undefined value is undefined.
  std::string undefined_reason() const;

  /// Python's `is`.
  bool same_as(const Value& other) const;
  /// Python's name of the type: "str", "NoneType", ...
  std::string type_name() const;

 private:
  using StringPointer = std::shared_ptr<const StringData>;
  using Data = std::variant<None, Undefined, bool, int64_t, double, StringPointer, List*, Dict*, Object*>;
  explicit Value(Data data) : data_(std::move(data)) {}
  Data data_;
};

/// A list or a tuple. Owned by a Heap.
class List {
 public:
  enum class Kind : uint8_t { kList, kTuple, kGroup };  ///< kGroup: a tuple with fields `grouper` and `list`.
  std::vector<Value> items;
  Kind kind = Kind::kList;
  bool is_tuple() const { return kind != Kind::kList; }
};

/// Total order over keys in which equal keys in Python's sense (1 == 1.0 == True) are equal. For hashable
/// values.
struct KeyLess {
  bool operator()(const Value& a, const Value& b) const;
};

/// An insertion-ordered dict. Look-ups cost log n at most, whatever the keys are. Owned by a Heap.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;
  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }
  /// Null if absent. The pointer is valid until the dict changes.
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  /// Replaces the value of a key, which keeps its place, or appends.
  void set(Value key, Value value);
  /// False if absent.
  bool erase(const Value& key);
  void clear();

 private:
  static constexpr size_t kLinearLimit = 8;  ///< Up to this size a scan beats the index.
  size_t position(const Value& key) const;   ///< size() if absent.
  void index_all();
  std::vector<Entry> entries_;
  std::map<Value, size_t, KeyLess> index_;  ///< Empty while entries_ is small.
};

/// What a call brings: positional and named arguments.
struct CallArguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// Functions, macros, namespaces, loops. Owned by a Heap.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string type_name() const = 0;
  /// Undefined if there is no such attribute.
  virtual Result<Value> get_attribute(Runtime& runtime, std::string_view name);
  virtual Status set_attribute(Runtime& runtime, std::string_view name, Value value);
  virtual bool is_callable() const { return false; }
  virtual Result<Value> call(Runtime& runtime, CallArguments arguments);
};

/// Makes and owns the values of one render.
class Heap {
 public:
  explicit Heap(size_t limit_bytes) { meter_.limit_bytes = limit_bytes; }
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  /// Fails (kExhausted) when the render would hold more bytes than its limit.
  Result<Value> string(std::string text);
  Result<Value> list(std::vector<Value> items, List::Kind kind = List::Kind::kList);
  Result<Dict*> dict();
  /// Sets an entry; fails for a key that is not hashable.
  Status set(Dict& dict, Value key, Value value);
  template <typename T, typename... Args>
  Result<T*> object(Args&&... args) {
    KVERN_TRY_STATUS(reserve(sizeof(T)));
    auto owned = std::make_unique<T>(std::forward<Args>(args)...);
    T* borrowed = owned.get();
    objects_.push_back(std::move(owned));
    return borrowed;
  }
  /// Counts bytes that a container is about to hold.
  Status reserve(size_t bytes);

 private:
  MemoryMeter meter_;  // before the values: strings in them tell it when they go
  std::vector<std::unique_ptr<List>> lists_;
  std::vector<std::unique_ptr<Dict>> dicts_;
  std::vector<std::unique_ptr<Object>> objects_;
};

/// True if a value may be a key of a dict: no list or dict; a tuple if it is flat and has at most 64 items.
bool is_hashable(const Value& value);

}  // namespace kvern::jinja
