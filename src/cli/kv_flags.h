// Flags that say how keys and values are kept, shared by all commands that run or plan a model.
#pragma once

#include "engine/load/kv_settings.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name of the library
class App;
}

namespace kvern::cli {

/// --kv-type, --kv-layout, --kv-page, --kv-keep-first, --kv-keep-last, --kv-quant-start, --kv-type-layers.
/// `settings` outlives the parsing.
void add_kv_flags(CLI::App& command, engine::KvSettings& settings);

}  // namespace kvern::cli
