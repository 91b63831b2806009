// Templates and contexts from the wire: the input is a template, a NUL byte and a JSON context (optional).
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "text/template/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t split = input.find('\0');
  const auto parsed = kvern::ChatTemplate::parse(std::string(input.substr(0, split)), "fuzz");
  if (!parsed) return 0;
  kvern::json::value context = kvern::json::object{};
  if (split != std::string_view::npos) {
    boost::system::error_code error;
    boost::json::parse_options options;
    options.max_depth = 64;
    auto value = boost::json::parse(boost::json::string_view(input.data() + split + 1, size - split - 1),
                                    error, {}, options);
    if (!error && value.is_object()) context = std::move(value);
  }
  using namespace std::chrono;
  const kvern::ManualClock clock(sys_days{year{2024} / July / 26} + 12h);
  const auto rendered = (*parsed)->render(
      context, {.limits = {.max_output_bytes = 1 << 16, .max_memory_bytes = 1 << 24, .max_steps = 100'000},
                .clock = &clock});
  if (!rendered && rendered.error().message.empty()) __builtin_trap();
  return 0;
}
