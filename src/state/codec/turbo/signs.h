// The signs with which TurboQuant flips a vector before its Hadamard rotation: bit i set = +1. Published
// constants; they come from a Threefry-2x32 counter generator, which the tests have.
#pragma once

#include <cstdint>
#include <span>

namespace kvern::state::turbo {

inline constexpr uint32_t kSigns64[] = {0x4896ab71, 0x9d21b7fd};
inline constexpr uint32_t kSigns128[] = {0x95c620f2, 0x9563fdaf, 0xb57cc82a, 0xeb9fa621};
inline constexpr uint32_t kSigns256[] = {0x9d19cfed, 0xef32b5ee, 0x5692eb90, 0x2c63a136,
                                         0xc5d00d64, 0x4dd8a28c, 0xa8cf2694, 0x01743ca8};
inline constexpr uint32_t kSigns512[] = {
    0x8fc9b442, 0x9d041cf2, 0x2bc61b9c, 0xa3352d9e, 0x64b88370, 0x1622edbc, 0xabd521cf, 0x88453545,
    0xee78c17b, 0x65b3eae7, 0xcdfb5c3a, 0xa27e8de0, 0x757debad, 0x7158643d, 0xadf1b410, 0xd6946292};

/// Empty where there are none: head sizes other than 64, 128, 256, 512.
constexpr std::span<const uint32_t> signs(int64_t dim) {
  if (dim == 64) return kSigns64;
  if (dim == 128) return kSigns128;
  if (dim == 256) return kSigns256;
  if (dim == 512) return kSigns512;
  return {};
}

}  // namespace kvern::state::turbo
