// Which instruction set the kernels run on: visible, forced by name, never chosen in silence.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvern::compute {

/// Instruction sets that kernels are compiled for. All have fused multiply-add and give the same bits
/// (docs/numerics.md).
enum class CpuTarget : uint8_t { kAvx2, kAvx512, kAvx512Vnni, kAvx512Amx, kNeon };
inline constexpr int kCpuTargetCount = 5;

/// "avx2", "avx512", "avx512-vnni", "avx512-amx" (VNNI, and AMX where many tokens meet quantized weights),
/// "neon".
std::string_view to_string(CpuTarget target);
/// The targets that this build contains, slowest first.
std::span<const CpuTarget> compiled_targets();
/// Whether this machine can run it.
bool is_supported(CpuTarget target);
/// The fastest compiled target that this machine supports; kUnsupported with a clear message if there is
/// none.
Result<CpuTarget> best_target();
/// A target by name ("auto" = best). Unknown or unsupported names are errors that list the possible ones.
Result<CpuTarget> parse_target(std::string_view name);

}  // namespace kvern::compute
