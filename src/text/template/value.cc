// Values, ordered dicts and the heap of a render.
#include "text/template/value.h"

#include <algorithm>
#include <cmath>

#include "text/template/unicode.h"

namespace kvern::jinja {

namespace {

/// Tuples may be keys when they are flat and short: so a key costs little, however lists are shared.
constexpr size_t kMaxKeyItems = 64;

constexpr size_t kMaxReasonBytes = 300;

/// Rank of a type in the order of keys: all numbers share one, because 1, 1.0 and True are the same key.
int key_rank(const Value& value) {
  if (value.is_number()) return 0;
  if (value.is_string()) return 1;
  if (value.is_none()) return 2;
  if (value.is_list()) return 3;
  return value.is_undefined() ? 4 : 5;
}

int compare_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.as_int() < b.as_int() ? -1 : a.as_int() > b.as_int();
  const double x = a.as_double();
  const double y = b.as_double();
  if (std::isnan(x) || std::isnan(y)) return int{std::isnan(x)} - int{std::isnan(y)};
  if (x != y) return x < y ? -1 : 1;
  return 0;
}

int compare_scalars(const Value& a, const Value& b) {
  const int rank = key_rank(a);
  if (const int other = key_rank(b); rank != other) return rank < other ? -1 : 1;
  if (rank == 0) return compare_numbers(a, b);
  if (rank == 1) return a.text().compare(b.text());
  if (a.is_object() && b.is_object()) {
    return &a.as_object() < &b.as_object() ? -1 : &a.as_object() > &b.as_object();
  }
  return 0;
}

int compare_keys(const Value& a, const Value& b) {
  if (!a.is_list() || !b.is_list()) return compare_scalars(a, b);
  const auto& x = a.as_list().items;
  const auto& y = b.as_list().items;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (const int order = compare_scalars(x[i], y[i]); order != 0) return order;
  }
  return x.size() < y.size() ? -1 : x.size() > y.size();
}

}  // namespace

StringData::StringData(std::string content, MemoryMeter* counted_by)
    : text(std::move(content)), code_points(count_code_points(text)), meter(counted_by) {
  if (meter != nullptr) meter->live_bytes += text.size() + sizeof(StringData);
}

StringData::~StringData() {
  if (meter != nullptr) meter->live_bytes -= text.size() + sizeof(StringData);
}

Value Value::undefined(std::string reason) {
  if (reason.size() > kMaxReasonBytes) reason.resize(kMaxReasonBytes);  // names in it can be of any length
  return Value(Data(Undefined{std::make_shared<const std::string>(std::move(reason))}));
}

Value Value::literal(std::string text) {
  return string(std::make_shared<const StringData>(std::move(text), nullptr));
}

std::string Value::undefined_reason() const {
  const auto& reason = std::get<Undefined>(data_).reason;
  return reason ? *reason : "the value is undefined";
}

bool Value::same_as(const Value& other) const {
  if (data_.index() != other.data_.index()) return false;
  if (is_none()) return true;
  if (is_bool()) return as_bool() == other.as_bool();
  if (is_int()) return as_int() == other.as_int();
  if (is_string()) return &string_data() == &other.string_data() || text() == other.text();
  if (is_list()) return &as_list() == &other.as_list();
  if (is_dict()) return &as_dict() == &other.as_dict();
  if (is_object()) return &as_object() == &other.as_object();
  return false;
}

std::string Value::type_name() const {
  if (is_none()) return "NoneType";
  if (is_undefined()) return "Undefined";
  if (is_bool()) return "bool";
  if (is_int()) return "int";
  if (is_float()) return "float";
  if (is_string()) return "str";
  if (is_list()) return as_list().is_tuple() ? "tuple" : "list";
  if (is_dict()) return "dict";
  return as_object().type_name();
}

bool KeyLess::operator()(const Value& a, const Value& b) const { return compare_keys(a, b) < 0; }

size_t Dict::position(const Value& key) const {
  if (!index_.empty()) {
    const auto found = index_.find(key);
    return found == index_.end() ? entries_.size() : found->second;
  }
  const auto found =
      std::ranges::find_if(entries_, [&](const Entry& entry) { return compare_keys(entry.first, key) == 0; });
  return static_cast<size_t>(found - entries_.begin());
}

void Dict::index_all() {
  index_.clear();
  if (entries_.size() <= kLinearLimit) return;
  for (size_t i = 0; i < entries_.size(); ++i) index_.emplace(entries_[i].first, i);
}

const Value* Dict::find(const Value& key) const {
  const size_t at = position(key);
  return at < entries_.size() ? &entries_[at].second : nullptr;
}

const Value* Dict::find(std::string_view key) const {
  if (!index_.empty()) return find(Value::literal(std::string(key)));
  for (const auto& [name, value] : entries_) {
    if (name.is_string() && name.text() == key) return &value;
  }
  return nullptr;
}

void Dict::set(Value key, Value value) {
  if (const size_t at = position(key); at < entries_.size()) {
    entries_[at].second = std::move(value);
    return;
  }
  entries_.emplace_back(std::move(key), std::move(value));
  if (!index_.empty()) {
    index_.emplace(entries_.back().first, entries_.size() - 1);
  } else {
    index_all();
  }
}

bool Dict::erase(const Value& key) {
  const size_t at = position(key);
  if (at >= entries_.size()) return false;
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
  index_all();
  return true;
}

void Dict::clear() {
  entries_.clear();
  index_.clear();
}

Result<Value> Object::get_attribute(Runtime&, std::string_view name) {
  return Value::undefined("'" + type_name() + " object' has no attribute '" + std::string(name) + "'");
}

Status Object::set_attribute(Runtime&, std::string_view, Value) {
  return fail(ErrorCode::kCorrupt, "cannot assign attribute on non-namespace object");
}

Result<Value> Object::call(Runtime&, CallArguments) {
  return fail(ErrorCode::kCorrupt, "'" + type_name() + "' object is not callable");
}

Result<Value> Heap::string(std::string text) {
  if (text.size() + sizeof(StringData) >
      meter_.limit_bytes - std::min(meter_.limit_bytes, meter_.live_bytes)) {
    return fail(ErrorCode::kExhausted, "the template holds more memory than its limit allows");
  }
  return Value::string(std::make_shared<const StringData>(std::move(text), &meter_));
}

Result<Value> Heap::list(std::vector<Value> items, List::Kind kind) {
  KVERN_TRY_STATUS(reserve(sizeof(List) + items.size() * sizeof(Value)));
  lists_.push_back(std::make_unique<List>());
  lists_.back()->items = std::move(items);
  lists_.back()->kind = kind;
  return Value::list(lists_.back().get());
}

Result<Dict*> Heap::dict() {
  KVERN_TRY_STATUS(reserve(sizeof(Dict)));
  dicts_.push_back(std::make_unique<Dict>());
  return dicts_.back().get();
}

Status Heap::set(Dict& dict, Value key, Value value) {
  if (!is_hashable(key)) return fail(ErrorCode::kCorrupt, "unhashable type: '" + key.type_name() + "'");
  KVERN_TRY_STATUS(reserve(sizeof(Dict::Entry)));
  dict.set(std::move(key), std::move(value));
  return Ok{};
}

Status Heap::reserve(size_t bytes) {
  if (bytes > meter_.limit_bytes - std::min(meter_.limit_bytes, meter_.live_bytes)) {
    return fail(ErrorCode::kExhausted, "the template holds more memory than its limit allows");
  }
  meter_.live_bytes += bytes;
  return Ok{};
}

bool is_hashable(const Value& value) {
  if (value.is_dict()) return false;
  if (!value.is_list()) return true;
  const List& list = value.as_list();
  return list.is_tuple() && list.items.size() <= kMaxKeyItems &&
         std::ranges::none_of(list.items, [](const Value& item) { return item.is_list() || item.is_dict(); });
}

}  // namespace kvern::jinja
