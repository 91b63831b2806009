// Conversion of the context's JSON.
#include "text/template/context.h"

#include <limits>

namespace kvern::jinja {

namespace {

Result<Value> convert(Runtime& runtime, const json::value& source) {
  const DepthScope scope(runtime);
  KVERN_TRY_STATUS(scope.ok());
  KVERN_TRY_STATUS(runtime.charge(1));
  switch (source.kind()) {
    case json::kind::null:
      return Value();
    case json::kind::bool_:
      return Value::boolean(source.get_bool());
    case json::kind::int64:
      return Value::integer(source.get_int64());
    case json::kind::double_:
      return Value::number(source.get_double());
    case json::kind::uint64:
      if (source.get_uint64() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return fail(ErrorCode::kUnsupported, "an integer is beyond 64 bits with sign");
      }
      return Value::integer(static_cast<int64_t>(source.get_uint64()));
    case json::kind::string: {
      const auto& text = source.get_string();
      return runtime.string(std::string(text.data(), text.size()));
    }
    case json::kind::array: {
      std::vector<Value> items;
      items.reserve(source.get_array().size());
      for (const json::value& item : source.get_array()) {
        KVERN_TRY(Value value, convert(runtime, item));
        items.push_back(std::move(value));
      }
      return runtime.list(std::move(items));
    }
    case json::kind::object:
      break;
  }
  KVERN_TRY(Dict * dict, runtime.heap().dict());
  for (const auto& entry : source.get_object()) {
    KVERN_TRY(Value key, runtime.string(std::string(entry.key())));
    KVERN_TRY(Value value, convert(runtime, entry.value()));
    KVERN_TRY_STATUS(runtime.heap().set(*dict, std::move(key), std::move(value)));
  }
  return Value::dict(dict);
}

}  // namespace

Result<Value> import_json(Runtime& runtime, const json::value& source, std::string_view variable) {
  auto value = convert(runtime, source);
  if (!value && value.error().where.empty())
    value.error().where = "context variable '" + std::string(variable) + "'";
  return value;
}

}  // namespace kvern::jinja
