// How keys and values are kept, as users say it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/files.h"
#include "base/result.h"
#include "state/sequence/kv_spec.h"

namespace kvern::engine {

struct KvSettings {
  std::string type = "f16";     ///< state::parse_kv_types
  std::string layout = "auto";  ///< auto, slab, paged, ring or padded
  int64_t page = 0;             ///< positions of a page; 0 = the default
  int64_t quant_start = 0;      ///< state::KvPrecision
  int64_t keep_first = 0;
  int64_t keep_last = 0;
  /// A file with other types for some layers, or empty. A line is "LAYERS TYPE", LAYERS being a number, a
  /// range "0-3" or "*" for all; later lines win; "#" begins a comment. Layers are counted over those that
  /// keep keys and values of their own.
  std::string layer_types_file;
};

/// What the settings mean for a model with so many layers of keys and values. Errors name the flag or the
/// line and say what is possible.
Result<state::KvOptions> make_kv_options(Files& files, const KvSettings& settings, size_t layers);

}  // namespace kvern::engine
