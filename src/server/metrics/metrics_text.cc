#include "server/metrics/metrics_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace kvern::server {
namespace {

/// [a-zA-Z_:][a-zA-Z0-9_:]*
bool is_name(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
  };
  return !text.empty() && letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string metric_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  // Counters are whole numbers: they stay readable, and exact up to 2^53.
  if (value == std::floor(value) && std::abs(value) < 9007199254740992.0)
    return fmt::format("{}", static_cast<long long>(value));
  return fmt::format("{}", value);
}

void MetricsText::family(std::string_view name, std::string_view type, std::string_view help) {
  KVERN_CHECK(is_name(name));
  name_ = name;
  out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(help, false), name, type);
}

void MetricsText::sample(double value, const MetricLabels& labels, std::string_view suffix) {
  out_ += name_;
  out_ += suffix;
  char before = '{';
  for (const MetricLabels* list : {&std::as_const(common_), &labels}) {
    for (const auto& [name, text] : *list) {
      out_ += fmt::format("{}{}=\"{}\"", before, name, escaped(text, true));
      before = ',';
    }
  }
  if (before == ',') out_ += '}';
  out_ += ' ';
  out_ += metric_number(value);
  out_ += '\n';
}

void MetricsText::counter(std::string_view name, std::string_view help, double value) {
  family(name, "counter", help);
  sample(value);
}

void MetricsText::gauge(std::string_view name, std::string_view help, double value) {
  family(name, "gauge", help);
  sample(value);
}

}  // namespace kvern::server
