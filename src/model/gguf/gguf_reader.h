// Reads GGUF files (versions 2 and 3): mapped, validated whole, nothing copied but names and shapes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"
#include "model/gguf/gguf_metadata.h"
#include "model/tensor_source.h"

namespace kvern::model {

/// An open GGUF file. Immutable; any thread may read. Owns the mapping that all views point into.
class GgufFile final : public TensorSource {
 public:
  /// Maps `path` and checks all of it but the tensors' bytes: counts and lengths against the file's size,
  /// types, alignment, distinct keys and names, shapes against sizes, every span inside the file and right
  /// behind the one before. kCorrupt for a file that contradicts itself, kUnsupported for tensor types,
  /// versions or split files that kvern does not read; errors name the file and the key or tensor.
  static Result<std::unique_ptr<GgufFile>> open(Files& files, const std::string& path);

  uint32_t version() const { return version_; }
  uint32_t alignment() const { return alignment_; }
  const GgufMetadata& metadata() const { return metadata_; }

  const std::string& path() const override { return path_; }
  std::span<const StoredTensor> list() const override { return directory_.list(); }
  const StoredTensor* find(std::string_view name) const override { return directory_.find(name); }
  Status check_unchanged() const override { return mapping_->check_unchanged(); }

 private:
  GgufFile() = default;

  std::string path_;
  std::unique_ptr<MappedFile> mapping_;
  uint32_t version_ = 0;
  uint32_t alignment_ = kGgufDefaultAlignment;
  GgufMetadata metadata_;
  TensorDirectory directory_;
};

}  // namespace kvern::model
