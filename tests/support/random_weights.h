// Random weight matrices of every dtype whose bytes are plausible: any codes, moderate finite scales.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "compute/tensor/weight.h"

namespace kvern::testing {

inline constexpr compute::DType kAllDTypes[] = {
    compute::DType::kF32,    compute::DType::kF16,  compute::DType::kBF16, compute::DType::kQ8_0,
    compute::DType::kQ4_0,   compute::DType::kQ4_1, compute::DType::kQ5_0, compute::DType::kQ5_1,
    compute::DType::kQ4_K,   compute::DType::kQ5_K, compute::DType::kQ6_K, compute::DType::kAffine4,
    compute::DType::kAffine8};

/// Owns the bytes of a matrix. Movable; views stay valid because vectors keep their buffers.
struct OwnedMatrix {
  std::vector<std::byte> data;
  std::vector<std::byte> scales;
  std::vector<std::byte> biases;
  compute::WeightMatrix view;
};

struct RandomMatrixOptions {
  compute::DType type = compute::DType::kF32;
  int64_t rows = 1;
  int64_t cols = 256;
  uint64_t seed = 1;
  size_t misalignment = 0;  ///< bytes before the first row
  int group_size = 64;
  compute::DType affine_type = compute::DType::kF16;
};

namespace random_weights_detail {

/// An f16 of magnitude 2^-10 to 2^-3 and either sign.
inline uint16_t random_f16(std::mt19937_64& random) {
  const auto bits = static_cast<uint32_t>(random());
  return static_cast<uint16_t>((bits & 0x8000u) | (5u + bits % 7u) << 10 | (bits >> 16 & 0x3ffu));
}

inline void put_u16(std::byte* p, uint16_t v) { std::memcpy(p, &v, sizeof v); }

// Offsets of the f16 numbers in a block.
inline std::vector<size_t> half_offsets(compute::DType type) {
  switch (type) {
    case compute::DType::kQ8_0:
    case compute::DType::kQ4_0:
    case compute::DType::kQ5_0:
      return {0};
    case compute::DType::kQ4_1:
    case compute::DType::kQ5_1:
    case compute::DType::kQ4_K:
    case compute::DType::kQ5_K:
      return {0, 2};
    case compute::DType::kQ6_K:
      return {208};
    case compute::DType::kF16:
      return {0};
    default:
      return {};
  }
}

inline void fill_parameters(std::vector<std::byte>& out, compute::DType type, std::mt19937_64& random) {
  for (size_t i = 0; i < out.size() / static_cast<size_t>(compute::traits(type).block_bytes); ++i) {
    if (type == compute::DType::kF16) {
      put_u16(&out[2 * i], random_f16(random));
      continue;
    }
    const float value = (static_cast<float>(random() % 2001) - 1000.0f) * 1e-4f;
    const auto bits = std::bit_cast<uint32_t>(value);
    if (type == compute::DType::kF32) {
      std::memcpy(&out[4 * i], &bits, 4);
    } else {
      put_u16(&out[2 * i], static_cast<uint16_t>(bits >> 16));
    }
  }
}

}  // namespace random_weights_detail

inline OwnedMatrix random_matrix(const RandomMatrixOptions& options) {
  namespace detail = random_weights_detail;
  std::mt19937_64 random(options.seed * 1000003 + static_cast<uint64_t>(options.type));
  const auto& traits = compute::traits(options.type);
  const size_t stride = compute::row_bytes(options.type, options.cols);
  const size_t bytes = stride * static_cast<size_t>(options.rows);
  OwnedMatrix result;
  result.data.resize(bytes + options.misalignment);
  std::byte* data = result.data.data() + options.misalignment;
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(random());
  if (options.type == compute::DType::kF32 || options.type == compute::DType::kBF16) {
    std::vector<std::byte> values(bytes);
    detail::fill_parameters(values, options.type, random);
    std::memcpy(data, values.data(), bytes);
  }
  const auto offsets = detail::half_offsets(options.type);
  for (size_t block = 0; block < bytes; block += static_cast<size_t>(traits.block_bytes)) {
    for (const size_t offset : offsets) detail::put_u16(data + block + offset, detail::random_f16(random));
  }
  result.view = {.type = options.type,
                 .rows = options.rows,
                 .cols = options.cols,
                 .data = data,
                 .row_stride_bytes = stride,
                 .affine = {}};
  if (options.type == compute::DType::kAffine4 || options.type == compute::DType::kAffine8) {
    const size_t each = compute::row_bytes(options.affine_type, options.cols / options.group_size) *
                        static_cast<size_t>(options.rows);
    result.scales.resize(each);
    result.biases.resize(each);
    detail::fill_parameters(result.scales, options.affine_type, random);
    detail::fill_parameters(result.biases, options.affine_type, random);
    result.view.affine = {.scales = result.scales.data(),
                          .biases = result.biases.data(),
                          .type = options.affine_type,
                          .group_size = options.group_size};
  }
  return result;
}

/// Puts a NaN into row `row`: into its first scale, or its first value where there are no scales.
inline void poison_row(OwnedMatrix& matrix, int64_t row) {
  const compute::DType type = matrix.view.type;
  const bool affine = type == compute::DType::kAffine4 || type == compute::DType::kAffine8;
  const compute::DType number = affine ? matrix.view.affine.type : type;
  const auto r = static_cast<size_t>(row);
  std::byte* p =
      matrix.data.data() + (matrix.view.data - matrix.data.data()) + r * matrix.view.row_stride_bytes;
  if (type == compute::DType::kQ6_K) p += 208;
  if (affine) {
    p = matrix.scales.data() +
        r * compute::row_bytes(number, matrix.view.cols / matrix.view.affine.group_size);
  }
  const uint32_t nan =
      number == compute::DType::kF32 || number == compute::DType::kBF16 ? 0x7fc00000u : 0x7e00u;
  if (number == compute::DType::kF32) {
    std::memcpy(p, &nan, 4);
  } else {
    random_weights_detail::put_u16(p,
                                   static_cast<uint16_t>(number == compute::DType::kBF16 ? nan >> 16 : nan));
  }
}

/// Uniform in [-1, 1), with one large value in each 50.
inline std::vector<float> random_activations(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> x(static_cast<size_t>(count));
  for (float& v : x) {
    v = static_cast<float>(static_cast<int64_t>(random() % 20001) - 10000) * 1e-4f;
    if (random() % 50 == 0) v *= 20.0f;
  }
  return x;
}

}  // namespace kvern::testing
