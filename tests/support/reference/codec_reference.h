// Codecs of keys and values in scalar code with the arithmetic of docs/kv-codecs.md, independent of src: one
// vector, one query, one piece at a time. What every kernel must match bit for bit (NaN: any NaN).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "state/codec/codec.h"
#include "state/codec/rotation.h"

namespace kvern::reference {

/// The records of one vector, one for each plane.
struct StoredVector {
  std::array<std::vector<std::byte>, state::kMaxPlanes> planes;
};

/// x: one head's vector, after the side's rotation.
StoredVector encode(const state::Codec& codec, std::span<const float> x);
/// [dim]
std::vector<float> decode(const state::Codec& codec, const StoredVector& stored, int64_t dim);
/// Of a query [dim] as the caller has it, after the side's rotation.
float score(const state::Codec& codec, std::span<const float> q, const StoredVector& stored);
/// One piece: sums [dim] continued with the weighted vectors.
void accumulate(const state::Codec& codec, std::span<const float> weights,
                std::span<const StoredVector* const> values, std::span<float> sums);

/// What the arithmetic takes out of a stored vector, so that a vector which is read often is unpacked once.
/// Codecs with integer arithmetic: codes, and number = scale * code + bias for each group; else the numbers.
struct ReadVector {
  struct Group {
    float scale = 0.0F;
    float bias = 0.0F;
  };
  std::vector<float> numbers;
  std::vector<int32_t> codes;
  std::vector<Group> groups;
};
/// The same of a query: numbers, or for each group the integers with number = step * integer, and their sum.
struct ReadQuery {
  struct Group {
    float step = 0.0F;
    int32_t total = 0;
  };
  std::vector<float> numbers;
  std::vector<int32_t> integers;
  std::vector<Group> groups;
};
ReadVector read(const state::Codec& codec, const StoredVector& stored, int64_t dim);
ReadQuery read_query(const state::Codec& codec, std::span<const float> q);
float score(const state::Codec& codec, const ReadQuery& q, const ReadVector& key);
void accumulate(const state::Codec& codec, std::span<const float> weights,
                std::span<const ReadVector* const> values, std::span<float> sums);

void rotate(state::Rotation rotation, std::span<float> x);
void unrotate(state::Rotation rotation, std::span<float> x);

/// The signs of TurboQuant for vectors of `dim` numbers, from their generator.
std::vector<float> turbo_signs(int64_t dim);

/// The nearest half-precision bits (ties to even, overflow to infinity) and their value.
uint16_t half_bits(float x);
float half_number(uint16_t bits);

}  // namespace kvern::reference
