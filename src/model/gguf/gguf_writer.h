// Writes GGUF version 3, tensor after tensor, without ever holding the model in memory.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "compute/tensor/dtype.h"
#include "model/gguf/gguf_format.h"

namespace kvern::model {

/// First all metadata and all tensors are declared, then begin() writes the header, then write() takes the
/// tensors' bytes in the order of declaration, then finish(). One thread. Wrong order of calls is a
/// KVERN_CHECK.
class GgufWriter {
 public:
  /// `alignment`: a power of two; also written as general.alignment where it is not the default.
  explicit GgufWriter(uint32_t alignment = kGgufDefaultAlignment);

  void add_u32(std::string_view key, uint32_t value);
  void add_i32(std::string_view key, int32_t value);
  void add_u64(std::string_view key, uint64_t value);
  void add_f32(std::string_view key, float value);
  void add_bool(std::string_view key, bool value);
  void add_string(std::string_view key, std::string_view value);
  void add_strings(std::string_view key, std::span<const std::string> values);
  void add_i32s(std::string_view key, std::span<const int32_t> values);
  void add_f32s(std::string_view key, std::span<const float> values);

  /// `shape` outermost first. Rows are a multiple of the type's block.
  void add_tensor(std::string_view name, compute::DType type, std::span<const int64_t> shape);

  /// Creates the file and writes everything before the tensors' bytes.
  Status begin(Files& files, const std::string& path);
  /// The next bytes of the current tensor; they must not reach into the next one. Padding is written by
  /// itself.
  Status write(std::span<const std::byte> data);
  /// Closes the file; every declared byte must have been written. Returns the file's size.
  Result<uint64_t> finish();

 private:
  struct Tensor {
    std::string name;
    compute::DType type;
    std::vector<int64_t> shape;
    uint64_t offset = 0;
    uint64_t size = 0;
  };

  void put_key(std::string_view key, GgufValueType type);
  void put_array(std::string_view key, GgufValueType element, uint64_t count);
  Status pad();

  uint32_t alignment_;
  std::string entries_;
  uint64_t entry_count_ = 0;
  std::vector<Tensor> tensors_;
  uint64_t data_bytes_ = 0;  // of the declared tensors, each padded

  std::unique_ptr<File> file_;
  uint64_t position_ = 0;
  size_t current_ = 0;    // tensor that is being written
  uint64_t written_ = 0;  // bytes of it
};

}  // namespace kvern::model
