#include "model/config/quantization.h"

#include <fmt/format.h>

#include "model/config/json_fields.h"
#include "model/printable.h"

namespace kvern::model {
namespace {

Result<AffineFormat> read_format(const JsonFields& fields, const AffineFormat& base) {
  AffineFormat format = base;
  KVERN_TRY(const auto mode, fields.text("mode"));
  if (mode && *mode != "affine")
    return fields.error(ErrorCode::kUnsupported, "mode",
                        fmt::format("{} is not supported; affine is", printable(*mode)));
  KVERN_TRY(const auto bits, fields.integer("bits"));
  if (bits && *bits != 4 && *bits != 8)
    return fields.error(ErrorCode::kUnsupported, "bits",
                        fmt::format("{} bits are not supported; 4 and 8 are", *bits));
  KVERN_TRY(const auto group, fields.integer("group_size"));
  if (group && *group != 32 && *group != 64 && *group != 128)
    return fields.error(ErrorCode::kUnsupported, "group_size",
                        fmt::format("groups of {} are not supported; 32, 64 and 128 are", *group));
  if (bits) format.bits = static_cast<int>(*bits);
  if (group) format.group_size = static_cast<int>(*group);
  return format;
}

// Everything under the key that is no field of the format is a module path.
bool is_format_field(std::string_view key) {
  return key == "bits" || key == "group_size" || key == "mode" || key == "quant_method" ||
         key == "linear_class" || key == "quantization_mode";
}

Result<AffineQuantization> read_object(const JsonFields& fields) {
  KVERN_TRY(const auto method, fields.text("quant_method"));
  if (method)
    return fields.error(ErrorCode::kUnsupported, "quant_method",
                        fmt::format("{} is not supported; MLX affine quantization is", printable(*method)));
  for (const std::string_view key : {"bits", "group_size"})
    if (!fields.has(key)) return fields.error(ErrorCode::kCorrupt, key, "is missing");
  AffineQuantization out;
  KVERN_TRY(out.standard, read_format(fields, {}));
  for (const auto& member : fields.raw()) {
    const std::string module(member.key());
    if (is_format_field(module)) continue;
    if (member.value().is_bool()) {
      out.overrides[module] = member.value().get_bool() ? std::optional(out.standard) : std::nullopt;
    } else if (member.value().is_object()) {
      const JsonFields entry(member.value().get_object(), fields.path(), fields.full_name(module) + ".");
      KVERN_TRY(out.overrides[module], read_format(entry, out.standard));
    } else {
      return fields.error(
          ErrorCode::kCorrupt, module,
          fmt::format("must be true, false or an object, but is {}", json_excerpt(member.value())));
    }
  }
  return out;
}

}  // namespace

std::optional<AffineFormat> AffineQuantization::format_of(std::string_view module) const {
  const auto found = overrides.find(module);
  return found != overrides.end() ? found->second : std::optional(standard);
}

Result<std::optional<AffineQuantization>> read_quantization(const json::object& config,
                                                            const std::string& path) {
  const JsonFields fields(config, path);
  std::optional<AffineQuantization> out;
  for (const std::string_view key : {"quantization", "quantization_config"}) {
    KVERN_TRY(const auto object, fields.object(key));
    if (!object) continue;
    KVERN_TRY(AffineQuantization found, read_object(*object));
    if (out && (out->standard != found.standard || out->overrides != found.overrides))
      return fields.error(ErrorCode::kCorrupt, key, "contradicts 'quantization'");
    out = std::move(found);
  }
  return out;
}

}  // namespace kvern::model
