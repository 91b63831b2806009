// Rendering in tests.
#pragma once

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/json.h"
#include "text/template/chat_template.h"

namespace kvern {

/// 2024-07-26 12:00 UTC, the time of the reference cases.
inline ManualClock reference_clock() {
  using namespace std::chrono;
  return ManualClock(sys_days{year{2024} / July / 26} + 12h);
}

inline Result<std::string> try_render(const std::string& source, const json::value& context,
                                      const jinja::RenderLimits& limits = {}) {
  const ManualClock clock = reference_clock();
  KVERN_TRY(const auto parsed, ChatTemplate::parse(source, "t"));
  return parsed->render(context, {.limits = limits, .clock = &clock});
}

/// The rendered text, or "CODE at WHERE: MESSAGE".
inline std::string render(const std::string& source, const std::string& context = "{}") {
  const auto result = try_render(source, boost::json::parse(context));
  if (result) return *result;
  return std::string(to_string(result.error().code)) + " at " + result.error().where + ": " +
         result.error().message;
}

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace kvern
