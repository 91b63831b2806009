// parse_json on any bytes: a value or an error, never a crash; and what was read is written and read back
// alike.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "base/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = kvern::parse_json(text, "input");
  if (!value) return 0;
  const std::string written = kvern::to_json(*value);
  if (!kvern::is_valid_utf8(written)) std::abort();
  const auto again = kvern::parse_json(written, "output");
  // Numbers may be written in another form, so the second writing is what must agree.
  if (!again || kvern::to_json(*again) != written) std::abort();
  return 0;
}
