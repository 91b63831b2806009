// What states are compared by.
#pragma once

#include <cstdint>
#include <vector>

#include "text/grammar/automaton.h"

namespace kvern::text::grammar {

/// A list of numbers, told from others by its hash of 128 bits. One thread.
class Description {
 public:
  void add(uint64_t value) { words_.push_back(value); }
  void add(const Signature& signature) {
    add(signature.low);
    add(signature.high);
  }
  void add(const ByteSet& bytes) {
    for (size_t word = 0; word < bytes.size(); word += 64)
      add(((bytes >> word) & ByteSet(UINT64_MAX)).to_ullong());
  }
  /// The bytes of an edge.
  void add(const Automaton::ByteEdge& edge) {
    add(edge.first | static_cast<uint64_t>(edge.last) << 8 | uint64_t{1} << 16);
  }
  Signature hash() const;
  void clear() { words_.clear(); }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace kvern::text::grammar
