// Text in which certain strings do not occur.
#pragma once

#include <string>
#include <vector>

#include "text/grammar/expression.h"

namespace kvern::text::grammar {

/// An automaton that reads text until the first of some strings is complete (Aho, Corasick: "Efficient string
/// matching", CACM 1975).
struct FreeText {
  /// Vertex 0 is the start; nothing is accepting.
  GraphExpr graph;
  /// Vertices at which none of the strings has occurred.
  std::vector<uint32_t> free;
  struct Match {
    uint32_t vertex = 0;
    size_t string = 0;
  };
  /// Vertices, without edges, at which a string has just become complete for the first time.
  std::vector<Match> matches;
};

/// `strings` are UTF-8, none is empty.
FreeText free_text_until(const std::vector<std::string>& strings, Rules& rules);

}  // namespace kvern::text::grammar
