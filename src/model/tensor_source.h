// Where weights come from: one interface over GGUF files and safetensors folders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compute/tensor/dtype.h"

namespace kvern::model {

/// One stored tensor. Borrowed: `bytes` and `file` live as long as the TensorSource.
struct StoredTensor {
  std::string name;
  /// Nothing: 32-bit words without a number format of their own (the packed codes of MLX).
  std::optional<compute::DType> type;
  /// Outermost dimension first for every source; a matrix is [rows, cols]. Empty: one number.
  std::vector<int64_t> shape;
  /// Row-major, exactly the size that type and shape ask for.
  std::span<const std::byte> bytes;
  /// Name of the file that holds it, for messages.
  std::string_view file;
};

/// "[32, 64]".
std::string shape_text(std::span<const int64_t> shape);
/// "f16", or "u32" for words.
std::string_view type_name(const StoredTensor& tensor);

/// The tensors of one model, mapped read-only. All of the directory is validated when the source is opened:
/// spans lie inside their files, do not overlap and have the size of their shapes. Immutable after opening;
/// any thread may read.
///
/// A file that is truncated while it is mapped makes the kernel raise SIGBUS on access to the lost pages;
/// nothing here can turn that into an error. check_unchanged() looks at sizes and times of writing and is
/// cheap enough to be asked before each step; the program decides what to do about the signal itself.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  /// The file or folder that was opened.
  virtual const std::string& path() const = 0;
  /// Sorted by name.
  virtual std::span<const StoredTensor> list() const = 0;
  /// Null if there is none of that name.
  virtual const StoredTensor* find(std::string_view name) const = 0;
  /// Fails with the file's name when a mapped file has changed since opening (MappedFile::check_unchanged).
  virtual Status check_unchanged() const = 0;
};

/// A sorted list of tensors with distinct names; what both sources keep. Immutable.
class TensorDirectory {
 public:
  TensorDirectory() = default;
  /// kCorrupt if two tensors have one name.
  static Result<TensorDirectory> create(std::vector<StoredTensor> tensors, const std::string& where);
  std::span<const StoredTensor> list() const { return tensors_; }
  const StoredTensor* find(std::string_view name) const;

 private:
  std::vector<StoredTensor> tensors_;
};

}  // namespace kvern::model
