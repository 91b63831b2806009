// Reads NumPy arrays (.npy, format version 1.0:
// numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace kvern::test {

/// An array in C order.
template <typename T>
struct NpyArray {
  std::vector<size_t> shape;
  std::vector<T> values;
};

/// Little-endian, C order. T is float (<f4), double (<f8), uint8_t (|u1), uint16_t (<u2, also for f16 bits),
/// uint32_t
/// (<u4), int32_t (<i4) or int64_t (<i8); an array of another type is an error that names it.
template <typename T>
Result<NpyArray<T>> read_npy(const std::string& path);

/// Integers of any width as int64_t: ids are int32 in some fixtures and int64 in others.
Result<NpyArray<int64_t>> read_npy_integers(const std::string& path);

}  // namespace kvern::test
