// The version of the arithmetic: which bits results have.
#pragma once

namespace kvern::compute {

/// Grows whenever any result of docs/numerics.md or docs/kv-codecs.md gets other bits. Part of the identity
/// of saved rows: a build never goes on from another's bits as if it had computed them itself.
///
/// 1: the first. 2: queries of keys with 6 and 8 bits are rounded to 8 bits.
inline constexpr int kNumericsVersion = 2;

}  // namespace kvern::compute
