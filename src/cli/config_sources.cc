#include "cli/config_sources.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/empty_values.h"

namespace kvern::cli {
namespace {

constexpr std::string_view kPrefix = "KVERN_";

/// What would ask for a file, or for something else than serving, in a file.
bool only_on_command_line(const std::string& name) {
  return name == "config" || name == "check" || name == "help";
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> values;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    if (end > at) values.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return values;
}

bool takes_several(const CLI::Option& option) { return option.get_expected_max() > 1; }

Status set_option(CLI::Option& option, const std::vector<std::string>& values, const std::string& where) {
  if (values.size() != 1 && !takes_several(option))
    return fail(ErrorCode::kInvalidArgument, "takes one value", where);
  if (values.empty()) return Ok{};
  try {
    option.clear();
    for (const std::string& value : values) option.add_result(value);
    option.run_callback();
  } catch (const CLI::Error& error) {
    return fail(ErrorCode::kInvalidArgument, error.what(), where);
  }
  return Ok{};
}

/// The value in force, as a file writes it.
std::string value_text(const CLI::Option& option) {
  std::vector<std::string> values = option.results();
  if (option.get_expected_max() == 0) return values.empty() ? "false" : values.back();
  if (values.empty()) values = {option.get_default_str()};
  const auto quoted = [](const std::string& value) {
    std::string out = "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out + "\"";
  };
  if (!takes_several(option)) return quoted(values.back());
  std::string list;
  for (const std::string& value : values) list += (list.empty() ? "" : ", ") + quoted(value);
  return "[" + list + "]";
}

}  // namespace

std::map<std::string, std::string> read_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (text.starts_with(kPrefix) && equals != std::string_view::npos)
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::string variable_of(const std::string& flag) {
  std::string name(kPrefix);
  for (const char c : flag)
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

Result<ConfigOrigins> apply_sources(CLI::App& command, const ConfigSources& sources) {
  ConfigOrigins origins;
  std::map<std::string, const server::ConfigEntry*> left;
  for (const server::ConfigEntry& entry : sources.entries) left.emplace(entry.key, &entry);
  const auto place = [&](const server::ConfigEntry& entry) {
    return fmt::format("{}:{}", sources.path, entry.line);
  };
  for (CLI::Option* option : command.get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    if (names.empty() || names.front() == "help") continue;
    const bool given = option->count() > 0;
    if (given) origins[names.front()] = "flag";
    for (const std::string& name : names) {
      const auto variable = sources.environment.find(variable_of(name));
      if (origins.contains(names.front()) || variable == sources.environment.end()) continue;
      const std::vector<std::string> values =
          takes_several(*option) ? split_at_commas(variable->second) : std::vector{variable->second};
      // Whoever writes KVERN_API_KEY=$KEY and has no KEY must not serve to everybody.
      if (values.empty() || values.front().empty())
        return fail(ErrorCode::kInvalidArgument, "is empty: unset it or give it a value", variable->first);
      KVERN_TRY_STATUS(set_option(*option, values, variable->first));
      origins[names.front()] = variable->first;
    }
    for (const std::string& name : names) {
      const auto entry = left.find(name);
      if (entry == left.end() || only_on_command_line(name)) continue;
      if (!origins.contains(names.front())) {
        const std::string where = place(*entry->second) + ": " + name;
        KVERN_TRY_STATUS(set_option(*option, entry->second->values, where));
        KVERN_TRY_STATUS(check_not_empty(*option, where));
        origins[names.front()] = place(*entry->second);
      }
      left.erase(entry);
    }
  }
  for (const server::ConfigEntry& entry : sources.entries) {
    if (!left.contains(entry.key)) continue;
    return fail(ErrorCode::kInvalidArgument,
                "there is no setting '" + entry.key + "'; kvern serve --help lists them", place(entry));
  }
  return origins;
}

std::string effective_config(const CLI::App& command, const ConfigOrigins& origins,
                             const std::vector<std::string>& secret) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames().front();
    if (only_on_command_line(name)) continue;
    const auto origin = origins.find(name);
    const std::string source = origin == origins.end() ? "default" : origin->second;
    if (std::ranges::find(secret, name) != secret.end()) {
      text += fmt::format("# {}: {} given  # {}\n", name, option->results().size(), source);
    } else if (option->results().empty() && option->get_default_str().empty() &&
               option->get_expected_max() != 0) {
      text += fmt::format("# {} is not set\n", name);
    } else {
      text += fmt::format("{} = {}  # {}\n", name, value_text(*option), source);
    }
  }
  return text;
}

}  // namespace kvern::cli
