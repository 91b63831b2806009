#include "model/gguf/gguf_format.h"

#include <array>
#include <utility>

#include "base/check.h"

namespace kvern::model {
namespace {

using compute::DType;

struct NamedType {
  uint32_t id;
  std::string_view name;
};

// enum ggml_type, with the ids that were given up (31 to 33, 36 to 38) so that old files are named too.
constexpr NamedType kGgmlTypes[] = {
    {0, "F32"},         {1, "F16"},         {2, "Q4_0"},   {3, "Q4_1"},    {6, "Q5_0"},
    {7, "Q5_1"},        {8, "Q8_0"},        {9, "Q8_1"},   {10, "Q2_K"},   {11, "Q3_K"},
    {12, "Q4_K"},       {13, "Q5_K"},       {14, "Q6_K"},  {15, "Q8_K"},   {16, "IQ2_XXS"},
    {17, "IQ2_XS"},     {18, "IQ3_XXS"},    {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"},
    {22, "IQ2_S"},      {23, "IQ4_XS"},     {24, "I8"},    {25, "I16"},    {26, "I32"},
    {27, "I64"},        {28, "F64"},        {29, "IQ1_M"}, {30, "BF16"},   {31, "Q4_0_4_4"},
    {32, "Q4_0_4_8"},   {33, "Q4_0_8_8"},   {34, "TQ1_0"}, {35, "TQ2_0"},  {36, "IQ4_NL_4_4"},
    {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"}, {39, "MXFP4"}, {40, "NVFP4"},
};

constexpr std::pair<uint32_t, DType> kSupported[] = {
    {0, DType::kF32},   {1, DType::kF16},   {2, DType::kQ4_0},  {3, DType::kQ4_1},
    {6, DType::kQ5_0},  {7, DType::kQ5_1},  {8, DType::kQ8_0},  {12, DType::kQ4_K},
    {13, DType::kQ5_K}, {14, DType::kQ6_K}, {30, DType::kBF16},
};

struct ValueTraits {
  std::string_view name;
  uint64_t bytes;
};
constexpr std::array<ValueTraits, kGgufValueTypeCount> kValueTraits = {{
    {"u8", 1},
    {"i8", 1},
    {"u16", 2},
    {"i16", 2},
    {"u32", 4},
    {"i32", 4},
    {"f32", 4},
    {"bool", 1},
    {"string", 0},
    {"array", 0},
    {"u64", 8},
    {"i64", 8},
    {"f64", 8},
}};

}  // namespace

std::string_view gguf_value_type_name(GgufValueType type) {
  return kValueTraits.at(static_cast<size_t>(type)).name;
}

uint64_t gguf_value_bytes(GgufValueType type) { return kValueTraits.at(static_cast<size_t>(type)).bytes; }

std::string_view ggml_type_name(uint32_t id) {
  for (const NamedType& type : kGgmlTypes)
    if (type.id == id) return type.name;
  return {};
}

std::optional<DType> ggml_to_dtype(uint32_t id) {
  for (const auto& [known, type] : kSupported)
    if (known == id) return type;
  return std::nullopt;
}

uint32_t dtype_to_ggml(DType type) {
  for (const auto& [id, known] : kSupported)
    if (known == type) return id;
  KVERN_CHECK(!"a format that GGUF can hold");
  return 0;
}

std::string_view supported_ggml_types() {
  return "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K";
}

}  // namespace kvern::model
