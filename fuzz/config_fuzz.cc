// config.json and, behind a NUL byte, generation_config.json: a configuration that holds its own limits, or
// an error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "compute/kernels/rope.h"
#include "model/config/config_from_hf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kvern;
  using namespace kvern::model;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = text.find('\0');
  const auto config = parse_json(text.substr(0, end), "config.json");
  if (!config) return 0;
  HfConfigFiles files{.config = *config,
                      .generation = {},
                      .config_path = "config.json",
                      .generation_path = "generation_config.json"};
  if (end != std::string_view::npos)
    if (const auto generation = parse_json(text.substr(end + 1), "generation_config.json"))
      files.generation = *generation;
  const auto read = config_from_hf(files);
  if (!read) {
    if (read.error().message.empty() || read.error().where.empty()) std::abort();
    return 0;
  }
  if (!check_config(*read, "config.json") || config_facts(*read).empty()) std::abort();
  // A scaling that passes here may still be refused there, but never crash.
  if (read->head_dim_k <= 1024) static_cast<void>(compute::RopeTable::create(read->rope));
  return 0;
}
