// A model in safetensors files: one file, or shards with an index.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "model/tensor_source.h"

namespace kvern::model {

/// Immutable; any thread may read. Owns the mappings that all views point into.
class SafetensorsModel final : public TensorSource {
 public:
  /// Opens a folder (model.safetensors.index.json with its shards, else model.safetensors), an index, or a
  /// single file. Every shard is mapped and checked against its header, and the index against the shards,
  /// before this returns: a short, missing, empty or foreign shard is an error with the shard's name.
  static Result<std::unique_ptr<SafetensorsModel>> open(Files& files, const std::string& path);

  const std::string& path() const override { return path_; }
  std::span<const StoredTensor> list() const override { return directory_.list(); }
  const StoredTensor* find(std::string_view name) const override { return directory_.find(name); }
  Status check_unchanged() const override;

  /// Files that hold tensors, in the order of their names.
  size_t shard_count() const { return shards_.size(); }

 private:
  // On the heap, so that views of the name stay valid.
  struct Shard {
    std::string path;
    std::unique_ptr<MappedFile> mapping;
  };

  SafetensorsModel() = default;
  Result<std::vector<StoredTensor>> add_shard(Files& files, const std::string& path);
  Status open_index(Files& files, const std::string& index_path);

  std::string path_;
  std::vector<std::unique_ptr<Shard>> shards_;
  TensorDirectory directory_;
};

}  // namespace kvern::model
