#include "compute/cpu_target.h"

#include <array>

#include <hwy/targets.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace kvern::compute {
namespace {

constexpr std::array<std::string_view, kCpuTargetCount> kNames = {"avx2", "avx512", "avx512-vnni",
                                                                  "avx512-amx", "neon"};

#if defined(__x86_64__)
constexpr std::array<CpuTarget, 4> kCompiled = {CpuTarget::kAvx2, CpuTarget::kAvx512, CpuTarget::kAvx512Vnni,
                                                CpuTarget::kAvx512Amx};

/// Whether the processor multiplies tiles of bytes and the system keeps the tile registers of this process,
/// which it has to be asked for (Linux, Documentation/arch/x86/xstate.rst).
bool ask_for_amx() {
  constexpr unsigned kAmxTile = 1u << 24;
  constexpr unsigned kAmxInt8 = 1u << 25;
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  if ((d & kAmxTile) == 0 || (d & kAmxInt8) == 0) return false;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#else
constexpr std::array<CpuTarget, 1> kCompiled = {CpuTarget::kNeon};
#endif

int64_t highway_bit(CpuTarget target) {
  switch (target) {
    case CpuTarget::kAvx2:
      return HWY_AVX2;
    case CpuTarget::kAvx512:
      return HWY_AVX3;
    case CpuTarget::kAvx512Vnni:
    case CpuTarget::kAvx512Amx:
      return HWY_AVX3_DL;
    case CpuTarget::kNeon:
      return HWY_NEON;
  }
  return 0;
}

std::string supported_names() {
  std::string names;
  for (const CpuTarget target : kCompiled) {
    if (is_supported(target)) names += (names.empty() ? "" : ", ") + std::string(to_string(target));
  }
  return names.empty() ? "none" : names;
}

}  // namespace

std::string_view to_string(CpuTarget target) { return kNames.at(static_cast<size_t>(target)); }

std::span<const CpuTarget> compiled_targets() { return kCompiled; }

bool is_supported(CpuTarget target) {
  bool compiled = false;
  for (const CpuTarget candidate : kCompiled) compiled |= candidate == target;
  if (!compiled || (hwy::SupportedTargets() & highway_bit(target)) == 0) return false;
#if defined(__x86_64__)
  if (target == CpuTarget::kAvx512Amx) {
    static const bool amx = ask_for_amx();
    return amx;
  }
#endif
  return true;
}

Result<CpuTarget> best_target() {
  for (auto it = kCompiled.rbegin(); it != kCompiled.rend(); ++it) {
    if (is_supported(*it)) return *it;
  }
  return fail(ErrorCode::kUnsupported,
              "this processor has none of the instruction sets that kvern needs (x86-64-v3 "
              "with AVX2 and FMA, or 64-bit Arm with NEON)");
}

Result<CpuTarget> parse_target(std::string_view name) {
  if (name == "auto") return best_target();
  for (const CpuTarget target : kCompiled) {
    if (to_string(target) != name) continue;
    if (is_supported(target)) return target;
    return fail(ErrorCode::kUnsupported, "this processor lacks it; it can run: " + supported_names(),
                std::string(name));
  }
  return fail(ErrorCode::kInvalidArgument, "no such CPU target; choose auto or one of: " + supported_names(),
              std::string(name));
}

}  // namespace kvern::compute
