#include "server/protocol/id_source.h"

#include <fmt/format.h>

namespace kvern::server {
namespace {

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): a bijection, so that no two counts collide.
uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31);
}

}  // namespace

uint64_t IdSource::draw() {
  return mix(salt_ + 0x9E3779B97F4A7C15U * (1 + count_.fetch_add(1, std::memory_order_relaxed)));
}

std::string IdSource::next(std::string_view prefix) {
  const uint64_t low = draw();
  return fmt::format("{}{:016x}{:08x}", prefix, low, mix(low ^ salt_) >> 32);
}

uint64_t IdSource::next_seed() { return draw() >> 11; }

}  // namespace kvern::server
