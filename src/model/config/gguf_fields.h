// The metadata of one architecture in a GGUF file, read into a configuration that remembers where each value
// came from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/config/model_config.h"
#include "model/gguf/gguf_reader.h"

namespace kvern::model {

/// Borrows file and configuration. Keys are given without the architecture before them; `field` names the
/// origin. Every error names the file and the key.
class GgufFields {
 public:
  GgufFields(const GgufFile& file, std::string_view architecture, ModelConfig& config)
      : file_(file), prefix_(std::string(architecture) + '.'), config_(config) {}

  std::string key(std::string_view suffix) const { return prefix_ + std::string(suffix); }
  const GgufFile& file() const { return file_; }
  const GgufMetadata& metadata() const { return file_.metadata(); }
  const GgufValue* find(std::string_view suffix) const { return metadata().find(key(suffix)); }
  void origin(std::string_view field, std::string from) {
    config_.origins[std::string(field)] = std::move(from);
  }

  /// The number under a key, or the default; notes where `field` came from.
  Result<int64_t> integer(std::string_view field, std::string_view suffix, std::optional<int64_t> otherwise);
  Result<double> number(std::string_view field, std::string_view suffix, std::optional<double> otherwise);
  /// As integer; a list with one value for each layer counts as that value if all are equal.
  Result<int64_t> uniform(std::string_view field, std::string_view suffix, std::optional<int64_t> otherwise);
  /// The rows of a matrix of the file.
  Result<int64_t> rows(std::string_view field, std::string_view tensor);
  /// kCorrupt when a list under a key has not one value for each layer.
  Status one_for_each_layer(std::string_view suffix, size_t count) const;

  std::unexpected<Error> error(ErrorCode code, std::string reason) const {
    return fail(code, std::move(reason), file_.path());
  }

 private:
  const GgufFile& file_;
  std::string prefix_;
  ModelConfig& config_;
};

}  // namespace kvern::model
