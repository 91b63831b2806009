// Philox4x32-10: counter-based random numbers (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011).
//
// A draw is a pure function of (seed, position). There is no generator state that a batch could share, a
// crash could lose or a rejected speculation could have moved on.
#pragma once

#include <array>
#include <cstdint>

namespace kvern::engine {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

/// Ten rounds of Philox4x32: four random words for each counter under one key.
std::array<uint32_t, 4> philox4x32(PhiloxCounter counter, PhiloxKey key);

/// The random numbers that one position of one sequence may use, each uniform in [0, 1) with 53 bits.
struct PositionDraw {
  double token = 0;  ///< Picks the token.
  double xtc = 0;    ///< Decides whether XTC acts.
};

/// Key: the seed. Counter: the position in words 0 and 1, zero in words 2 and 3.
PositionDraw draw_for_position(uint64_t seed, uint64_t position);

/// The seed of one of several children of a request (`n` > 1): child 0 has the request's own seed, the others
/// have seeds of their own that depend on (seed, child) only.
uint64_t child_seed(uint64_t seed, uint32_t child);

}  // namespace kvern::engine
