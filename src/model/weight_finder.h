// Looks single modules up in a TensorSource: plain and block formats, MLX affine triples, vectors.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compute/tensor/weight.h"
#include "model/config/model_config.h"
#include "model/tensor_source.h"

namespace kvern::model {

struct MatrixShape {
  int64_t rows = 0;
  int64_t cols = 0;
};

/// Bytes that a matrix takes in its file, an affine one's scales and biases included.
uint64_t stored_bytes(const compute::WeightMatrix& matrix);

/// One thread. Borrows source and configuration. Remembers which tensors were used.
class WeightFinder {
 public:
  WeightFinder(const TensorSource& source, const ModelConfig& config) : source_(source), config_(config) {}

  bool has_module(const std::string& module) const;

  /// The matrix `module`.weight, with `module`.scales and .biases where it is MLX-quantized.
  Result<compute::WeightMatrix> matrix(const std::string& module, MatrixShape shape);

  /// `count` matrices, one below the other in the three-dimensional tensor `module`.weight [count, rows,
  /// cols].
  Result<std::vector<compute::WeightMatrix>> stack(const std::string& module, int64_t count,
                                                   MatrixShape shape);

  /// The vector `module`.`part` [count] ("weight" or "bias") as f32.
  Result<std::vector<float>> vector(const std::string& module, std::string_view part, int64_t count);

  /// kCorrupt if the source holds a tensor that neither was asked for nor is known to be redundant.
  Status check_all_used() const;

 private:
  Result<const StoredTensor*> require(const std::string& name);
  Result<compute::WeightMatrix> affine(const StoredTensor& codes, const std::string& module,
                                       MatrixShape shape);
  Result<const StoredTensor*> affine_part(const std::string& name, MatrixShape shape);

  const TensorSource& source_;
  const ModelConfig& config_;
  std::set<std::string, std::less<>> used_;
};

}  // namespace kvern::model
