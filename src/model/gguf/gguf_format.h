// Constants of the GGUF container, versions 2 and 3.
//
// Source: docs/gguf.md and include/ggml.h of the ggml project. The byte table is in docs/formats/gguf.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "compute/tensor/dtype.h"

namespace kvern::model {

inline constexpr uint32_t kGgufMagic = 0x46554747;  ///< "GGUF", little-endian
inline constexpr uint32_t kGgufOldestRead = 2;      ///< version 1 had 32-bit counts
inline constexpr uint32_t kGgufCurrent = 3;         ///< same layout as 2; what the writer writes
inline constexpr uint32_t kGgufDefaultAlignment = 32;
inline constexpr uint32_t kGgufMaxAlignment = 1 << 20;
inline constexpr uint64_t kGgufMaxKeyBytes = 65535;
inline constexpr uint64_t kGgufMaxNameBytes = 64;
inline constexpr uint32_t kGgufMaxDims = 4;
/// Fewest bytes of a metadata entry (empty key, type, one byte) and of a tensor entry (empty name, count of
/// dimensions, one dimension, type, offset); they bound the counts in the header by the size of the file.
inline constexpr uint64_t kGgufMinEntryBytes = 8 + 4 + 1;
inline constexpr uint64_t kGgufMinTensorBytes = 8 + 4 + 8 + 4 + 8;

enum class GgufValueType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};
inline constexpr uint32_t kGgufValueTypeCount = 13;

/// "u32", "string", "array", …
std::string_view gguf_value_type_name(GgufValueType type);
/// Bytes of a value of fixed size; 0 for strings and arrays.
uint64_t gguf_value_bytes(GgufValueType type);

/// The name that ggml gives a tensor type id; empty for ids that are not known here.
std::string_view ggml_type_name(uint32_t id);
/// The weight format of a type id; nothing if kvern does not compute with it.
std::optional<compute::DType> ggml_to_dtype(uint32_t id);
/// The id of a format. Affine formats have none: KVERN_CHECK.
uint32_t dtype_to_ggml(compute::DType type);
/// "F32, F16, BF16, Q8_0, …": the types that ggml_to_dtype knows, for messages.
std::string_view supported_ggml_types();

}  // namespace kvern::model
