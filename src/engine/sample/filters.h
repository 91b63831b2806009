// The filters that drop candidates. Each looks at the probabilities (softmax at temperature 1) of what the
// one before it left, and always leaves at least one candidate.
#pragma once

#include <cstddef>

#include "engine/sample/candidates.h"

namespace kvern::engine {

struct TypicalOptions {
  double p = 1;
  size_t min_keep = 0;
};
/// Locally typical sampling (Meister, Pimentel, Wiher, Cotterell: "Locally typical sampling", TACL 2023).
void keep_typical(Candidates& candidates, const TypicalOptions& options);

struct TopPOptions {
  double p = 1;
  size_t min_keep = 0;
};
/// Nucleus sampling (Holtzman et al.: "The curious case of neural text degeneration", ICLR 2020).
void keep_top_p(Candidates& candidates, const TopPOptions& options);

struct MinPOptions {
  double p = 0;
  size_t min_keep = 0;
};
/// Min-p sampling (Nguyen et al.: "Turning up the heat: min-p sampling", ICLR 2025).
void keep_min_p(Candidates& candidates, const MinPOptions& options);

struct XtcOptions {
  double probability = 0;
  double threshold = 0.1;
  size_t min_keep = 0;
  /// Uniform in [0, 1): XTC acts if it is below `probability`.
  double draw = 0;
};
/// Exclude Top Choices (as first proposed for text-generation-webui, pull request 6335). Does nothing if
/// fewer than two candidates reach the threshold or fewer than `min_keep` would be left.
void exclude_top_choices(Candidates& candidates, const XtcOptions& options);

}  // namespace kvern::engine
