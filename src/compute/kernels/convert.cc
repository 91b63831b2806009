#include "compute/kernels/convert.h"

#include "compute/kernels/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/kernels/convert.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compute/kernels/half-inl.h"
#include "compute/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvern::compute {
namespace HWY_NAMESPACE {
namespace {

constexpr size_t kLanes = lanes::kLanes;

template <typename Store>
HWY_INLINE void narrow(const float* from, uint16_t* to, size_t n, const Store& store) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(lanes::load(from + i), to + i);
  if (i == n) return;
  uint16_t buffer[kLanes];
  store(lanes::load_partial(from + i, n - i), buffer);
  __builtin_memcpy(to + i, buffer, 2 * (n - i));
}

}  // namespace

void f32_to_f16_range(const float* from, uint16_t* to, size_t n) {
  narrow(from, to, n, [](const lanes::F32x16& v, uint16_t* p) HWY_ATTR { half::store_f16(v, p); });
}

void f32_to_bf16_range(const float* from, uint16_t* to, size_t n) {
  narrow(from, to, n, [](const lanes::F32x16& v, uint16_t* p) HWY_ATTR { half::store_bf16(v, p); });
}

void f16_to_f32_range(const uint16_t* from, float* to, size_t n) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) lanes::store(lanes::load_f16(from + i), to + i);
  if (i < n) lanes::store_partial(lanes::load_f16_partial(from + i, n - i), to + i, n - i);
}

void bf16_to_f32_range(const uint16_t* from, float* to, size_t n) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) lanes::store(lanes::load_bf16(from + i), to + i);
  if (i < n) lanes::store_partial(lanes::load_bf16_partial(from + i, n - i), to + i, n - i);
}

}  // namespace HWY_NAMESPACE
}  // namespace kvern::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvern::compute {
namespace {

constexpr auto kF32ToF16 = KVERN_TARGET_TABLE(f32_to_f16_range);
constexpr auto kF32ToBF16 = KVERN_TARGET_TABLE(f32_to_bf16_range);
constexpr auto kF16ToF32 = KVERN_TARGET_TABLE(f16_to_f32_range);
constexpr auto kBF16ToF32 = KVERN_TARGET_TABLE(bf16_to_f32_range);

}  // namespace

void f32_to_f16(const Context& context, std::span<const float> from, std::span<uint16_t> to) {
  KVERN_CHECK(from.size() == to.size());
  kF32ToF16[context.target()](from.data(), to.data(), from.size());
}

void f32_to_bf16(const Context& context, std::span<const float> from, std::span<uint16_t> to) {
  KVERN_CHECK(from.size() == to.size());
  kF32ToBF16[context.target()](from.data(), to.data(), from.size());
}

void f16_to_f32(const Context& context, std::span<const uint16_t> from, std::span<float> to) {
  KVERN_CHECK(from.size() == to.size());
  kF16ToF32[context.target()](from.data(), to.data(), from.size());
}

void bf16_to_f32(const Context& context, std::span<const uint16_t> from, std::span<float> to) {
  KVERN_CHECK(from.size() == to.size());
  kBF16ToF32[context.target()](from.data(), to.data(), from.size());
}

}  // namespace kvern::compute
#endif  // HWY_ONCE
