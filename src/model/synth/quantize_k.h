// Encoders of the formats with super-blocks of 256 elements.
#pragma once

#include <cstddef>
#include <span>

namespace kvern::model {

inline constexpr size_t kSuperBlock = 256;

/// One super-block each; `to` has the format's block_bytes.
void encode_q4_k(std::span<const float, kSuperBlock> x, std::byte* to);
void encode_q5_k(std::span<const float, kSuperBlock> x, std::byte* to);
void encode_q6_k(std::span<const float, kSuperBlock> x, std::byte* to);

}  // namespace kvern::model
