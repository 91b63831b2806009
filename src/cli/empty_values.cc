#include "cli/empty_values.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace kvern::cli {
namespace {

bool names_something(const CLI::Option& option) {
  static constexpr std::array<std::string_view, 6> kTypes = {"FILE", "DIR", "MODEL", "NAME", "URL", "HEX"};
  const std::string type = option.get_type_name();
  return std::ranges::any_of(kTypes, [&](std::string_view start) { return type.starts_with(start); });
}

}  // namespace

Status check_not_empty(const CLI::Option& option, const std::string& where) {
  if (!names_something(option)) return Ok{};
  if (std::ranges::any_of(option.results(), [](const std::string& value) { return value.empty(); }))
    return fail(ErrorCode::kInvalidArgument, "is empty: leave it out or give it a value", where);
  return Ok{};
}

Status check_no_empty_names(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    KVERN_TRY_STATUS(check_not_empty(*option, option->get_name()));
  for (const CLI::App* inner : command.get_subcommands()) KVERN_TRY_STATUS(check_no_empty_names(*inner));
  return Ok{};
}

}  // namespace kvern::cli
