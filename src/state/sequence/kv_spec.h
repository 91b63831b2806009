// What a cache keeps: the layers of a model, and how their keys and values are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "state/codec/kv_type.h"
#include "state/layout/layout.h"

namespace kvern::state {

/// One layer that owns keys and values. Head sizes need not be multiples of anything, but an encoded type may
/// ask for it.
struct KvLayerSpec {
  int64_t kv_heads = 0;
  int64_t k_dim = 0;
  int64_t v_dim = 0;
  /// A token at position p sees positions (p - window, p], itself included; 0 = everything up to itself.
  int64_t window = 0;
  /// Positions [0, sinks) are seen by every later token, whatever the window.
  int64_t sinks = 0;
};

struct KvSpec {
  std::vector<KvLayerSpec> layers;
};

/// Precision along a row, for layers whose type is encoded. A token at position p sees position j in full
/// precision when p < quant_start, or j < keep_first, or j > p - keep_last; else in encoded form. Encoded is
/// what full precision gives back.
struct KvPrecision {
  int64_t quant_start = 0;
  int64_t keep_first = 0;
  int64_t keep_last = 0;
  KvType full = {.kind = CodecKind::kF16};

  bool mixed() const { return quant_start > 0 || keep_first > 0 || keep_last > 0; }
};

struct KvOptions {
  KvTypes types;
  std::vector<KvTypes> layer_types;  ///< empty, or one for each layer in place of `types`
  KvPrecision precision;
  LayoutKind layout = LayoutKind::kSlab;
  int64_t page = 64;  ///< LayoutOptions::page
  /// Positions beyond what its window asks for that a row keeps, so that it can be cut back by so many.
  int64_t slack = 16;
  size_t budget_bytes = 0;  ///< 0 = no limit
  bool poison = false;      ///< LayoutOptions::poison
};

}  // namespace kvern::state
