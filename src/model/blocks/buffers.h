// Activation memory of a graph, grown to the largest step seen and reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvern::model {

/// f32 [tokens, width], row-major and dense. Contents survive nothing but the step.
class Buffer {
 public:
  /// At least `tokens` x `width` floats.
  float* resize(int64_t tokens, int64_t width) {
    const auto size = static_cast<size_t>(tokens * width);
    if (values_.size() < size) values_.resize(size);
    return values_.data();
  }
  float* data() { return values_.data(); }

 private:
  std::vector<float> values_;
};

}  // namespace kvern::model
