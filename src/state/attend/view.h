// Which positions a token sees, and in which form.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"

namespace kvern::state {

/// How a position is stored. A layer without mixed precision has the encoded form only.
enum class KvForm : uint8_t { kEncoded, kFull };
inline constexpr size_t kKvForms = 2;

/// Positions [begin, end), all in one form.
struct KvPiece {
  int64_t begin = 0;
  int64_t end = 0;
  KvForm form = KvForm::kEncoded;
  bool operator==(const KvPiece&) const = default;
};

/// Pieces in position order; neighbours that touch differ in form.
class KvPieces {
 public:
  /// Sinks and window, each in full, encoded and full form again.
  static constexpr size_t kCapacity = 6;

  KvPieces() = default;
  // Most have one piece: copying six each time took as long as a tile's reductions.
  KvPieces(const KvPieces& other) { *this = other; }
  KvPieces& operator=(const KvPieces& other) {
    size_ = other.size_;
    pieces_[0] = other.pieces_[0];
    for (size_t i = 1; i < size_; ++i) pieces_[i] = other.pieces_[i];
    return *this;
  }
  ~KvPieces() = default;

  /// Adds a piece; an empty one is left out.
  void push(const KvPiece& piece) {
    if (piece.begin >= piece.end) return;
    KVERN_DCHECK(size_ < kCapacity);
    pieces_[size_++] = piece;
  }
  std::span<const KvPiece> span() const { return {pieces_.data(), size_}; }
  bool empty() const { return size_ == 0; }
  const KvPiece& front() const { return pieces_[0]; }
  const KvPiece& back() const { return pieces_[size_ - 1]; }
  /// The parts inside [begin, end).
  KvPieces clip(int64_t begin, int64_t end) const {
    KvPieces result;
    for (const KvPiece& piece : span()) {
      result.push({std::max(piece.begin, begin), std::min(piece.end, end), piece.form});
    }
    return result;
  }
  bool operator==(const KvPieces& other) const;

 private:
  std::array<KvPiece, kCapacity> pieces_;
  size_t size_ = 0;
};

/// The rule of a layer: KvLayerSpec and KvPrecision in numbers.
struct KvView {
  int64_t window = 0;  ///< 0 = none
  int64_t sinks = 0;
  bool mixed = false;  ///< whether the numbers below apply
  int64_t quant_start = 0;
  int64_t keep_first = 0;
  int64_t keep_last = 0;

  /// First position of the window of a token at `position`.
  int64_t window_begin(int64_t position) const {
    return window == 0 || position < window ? 0 : position - window + 1;
  }
  /// What a token at `position` sees, itself included.
  KvPieces pieces(int64_t position) const;
};

}  // namespace kvern::state
