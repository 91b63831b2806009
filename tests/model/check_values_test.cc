#include "model/check_values.h"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::model {
namespace {

using compute::DType;

struct Place {
  DType type;
  size_t offset;  ///< of a floating-point number in a block
  size_t bytes;
};

constexpr Place kPlaces[] = {
    {DType::kF32, 0, 4},  {DType::kF16, 0, 2},  {DType::kBF16, 0, 2},   {DType::kQ8_0, 0, 2},
    {DType::kQ4_0, 0, 2}, {DType::kQ4_1, 0, 2}, {DType::kQ4_1, 2, 2},   {DType::kQ5_0, 0, 2},
    {DType::kQ5_1, 0, 2}, {DType::kQ5_1, 2, 2}, {DType::kQ4_K, 0, 2},   {DType::kQ4_K, 2, 2},
    {DType::kQ5_K, 0, 2}, {DType::kQ5_K, 2, 2}, {DType::kQ6_K, 208, 2},
};

TEST(CheckFinite, finds_a_number_that_is_not_finite_in_each_place_of_each_format) {
  for (const Place& place : kPlaces) {
    const compute::DTypeTraits& traits = compute::traits(place.type);
    std::vector<std::byte> bytes(static_cast<size_t>(traits.block_bytes) * 5, std::byte{0x11});
    const StoredTensor tensor{.name = "w", .type = place.type, .shape = {}, .bytes = bytes, .file = "m.gguf"};
    EXPECT_OK(check_finite(tensor)) << traits.name;
    for (const bool negative : {false, true}) {
      uint32_t infinity = place.bytes == 4 ? 0x7f800000 : place.type == DType::kBF16 ? 0x7f80 : 0x7c00;
      if (negative) infinity |= 1U << (place.bytes * 8 - 1);
      std::memcpy(bytes.data() + 3 * static_cast<size_t>(traits.block_bytes) + place.offset, &infinity,
                  place.bytes);
      const auto checked = check_finite(tensor);
      EXPECT_ERROR(checked, kCorrupt, "m.gguf: tensor 'w': ");
      EXPECT_ERROR(checked, kCorrupt, " 3 of type " + std::string(traits.name) + " is not finite");
    }
  }
}

TEST(CheckFinite, does_not_take_codes_for_numbers) {
  // 0xff everywhere but in the scale.
  std::vector<std::byte> bytes(34, std::byte{0xff});
  bytes[0] = bytes[1] = std::byte{0x10};
  EXPECT_OK(check_finite(
      StoredTensor{.name = "w", .type = DType::kQ8_0, .shape = {}, .bytes = bytes, .file = "m"}));
  EXPECT_OK(
      check_finite(StoredTensor{.name = "codes", .type = {}, .shape = {}, .bytes = bytes, .file = "m"}));
}

}  // namespace
}  // namespace kvern::model
