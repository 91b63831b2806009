#include "cli/kv_flags.h"

#include <CLI/CLI.hpp>

#include "cli/numbers.h"

namespace kvern::cli {

void add_kv_flags(CLI::App& command, engine::KvSettings& settings) {
  const auto positions = [&](const char* name, int64_t& value, const char* help) {
    command.add_option(name, value, help)->check(whole_number(0, int64_t{1} << 32))->type_name("N");
  };
  command
      .add_option("--kv-type,--cache-type", settings.type,
                  "How keys and values are kept: f32, f16, bf16, fp8; q8 q6 q5 q4 q3 q2; h8 to h2 (rotated); "
                  "turbo:k8v3; or each side, k=h8,v=q4")
      ->capture_default_str()
      ->type_name("TYPE");
  command
      .add_option(
          "--kv-layout", settings.layout,
          "Where they lie in memory: auto (paged), slab, paged, ring or padded; never changes a result")
      ->capture_default_str()
      ->type_name("NAME");
  positions("--kv-page", settings.page,
            "Positions of a page of the layout paged: 16, 32, 64, 128 or 256; 0 = 64");
  positions("--kv-keep-first", settings.keep_first,
            "Keep the first N positions in f16 beside an encoded type");
  positions("--kv-keep-last", settings.keep_last,
            "Keep the newest N positions in f16 beside an encoded type");
  positions("--kv-quant-start", settings.quant_start, "Encode a row only once it has N positions");
  command
      .add_option("--kv-type-layers", settings.layer_types_file,
                  "Other types for some layers: a file of lines such as '0-1 f16' or '* h4'; layers "
                  "that keep keys and values are counted from 0, later lines win")
      ->type_name("FILE");
  command.parse_complete_callback([&settings] {
    if (settings.page != 0 && settings.layout != "auto" && settings.layout != "paged")
      throw CLI::ValidationError("--kv-page", "only the layout paged has pages, not " + settings.layout);
  });
}

}  // namespace kvern::cli
