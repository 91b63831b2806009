// Renders templates for comparisons with other engines: each line of standard input is a JSON object
// {"template", "context"}; each line of output is {"rendered"} or {"error", "code"}. The clock stands at
// 2024-07-26 12:00 UTC.
#include <chrono>
#include <iostream>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "text/template/chat_template.h"

namespace kvern {
namespace {

json::object render_line(const json::object& input) {
  using namespace std::chrono;
  const ManualClock clock(sys_days{year{2024} / July / 26} + 12h);
  const auto failed = [](const Error& error) {
    return json::object{
        {"error", error.message}, {"where", error.where}, {"code", std::string(to_string(error.code))}};
  };
  auto parsed = ChatTemplate::parse(std::string(input.at("template").as_string()), "t");
  if (!parsed) return failed(parsed.error());
  auto rendered = (*parsed)->render(input.at("context"), {.limits = {}, .clock = &clock});
  if (!rendered) return failed(rendered.error());
  return {{"rendered", *rendered}};
}

}  // namespace
}  // namespace kvern

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::cout << boost::json::serialize(kvern::render_line(boost::json::parse(line).as_object())) << "\n";
  }
  return 0;
}
