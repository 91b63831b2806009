#include "state/codec/affine/affine.h"

#include <array>

#include "state/codec/affine/affine_kernels.h"
#include "state/codec/integer/unpacked.h"

namespace kvern::state {
namespace {

using KernelsFunction = const CodecKernels& (*)(compute::CpuTarget);

constexpr KernelsFunction kernels_of(int bits) {
  constexpr std::array<KernelsFunction, 9> kByBits = {nullptr,
                                                      nullptr,
                                                      &affine::q2_kernels,
                                                      &affine::q3_kernels,
                                                      &affine::q4_kernels,
                                                      &affine::q5_kernels,
                                                      &affine::q6_kernels,
                                                      nullptr,
                                                      &affine::q8_kernels};
  return kByBits[static_cast<size_t>(bits)];
}

constexpr Codec affine(std::string_view name, int bits, int64_t group) {
  return {.kind = CodecKind::kAffine,
          .bits = bits,
          .group = group,
          .name = name,
          .planes = 3,
          .takes = &integer::takes_groups,
          .record_bytes = &integer::grouped_record_bytes,
          .kernels = kernels_of(bits),
          .unpacked = &integer::unpacked_form(bits, group)};
}

constinit const std::array<Codec, 18> kCodecs = {
    {affine("q8g32", 8, 32), affine("q8g64", 8, 64), affine("q8g128", 8, 128), affine("q6g32", 6, 32),
     affine("q6g64", 6, 64), affine("q6g128", 6, 128), affine("q5g32", 5, 32), affine("q5g64", 5, 64),
     affine("q5g128", 5, 128), affine("q4g32", 4, 32), affine("q4g64", 4, 64), affine("q4g128", 4, 128),
     affine("q3g32", 3, 32), affine("q3g64", 3, 64), affine("q3g128", 3, 128), affine("q2g32", 2, 32),
     affine("q2g64", 2, 64), affine("q2g128", 2, 128)}};

}  // namespace

std::span<const Codec> affine_codecs() { return kCodecs; }

}  // namespace kvern::state
