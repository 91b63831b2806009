// Timing a loaded model: what `kvern bench` prints and what a program may ask of its machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "compute/probe/machine_probe.h"
#include "engine/load/engine.h"

namespace kvern::engine {

enum class MeasureKind : uint8_t {
  kPrefill,  ///< a prompt of `size` tokens on an empty row, in one row
  kDecode,   ///< one row at context `size`, one token a step
  kBatch,    ///< `size` rows at a short context, one token each a step
};

struct MeasureTest {
  MeasureKind kind = MeasureKind::kDecode;
  int64_t size = 0;
};

/// "prefill:512", "decode:8192", "batch:8".
std::string to_string(const MeasureTest& test);
/// The inverse; errors list the kinds.
Result<MeasureTest> parse_measure_test(std::string_view text);

struct Measurement {
  MeasureTest test;
  std::vector<double>
      seconds;        ///< one for each repetition: of the whole prompt, or of one step (mean of a repetition)
  double tokens = 0;  ///< tokens that these seconds gave
  double bytes = 0;   ///< bytes of weights and KV that a step must read; 0 for prefill
  double operations = 0;  ///< multiplications and additions of one repetition's step or prompt

  /// With MeasureOptions::read_probe: for each repetition of decode and batch, `bytes` over its seconds as a
  /// share of what plain reading reached right before and after it.
  std::vector<double> read_shares;

  double median_seconds() const;
  double median_read_share() const;
  double tokens_per_second() const { return tokens / median_seconds(); }
};

struct MeasureOptions {
  int repetitions = 5;
  int steps = 16;  ///< of a repetition of decode and batch
  compute::ReadProbe* read_probe = nullptr;
};

/// Tokens that the rows of a test grow to: the context that it needs.
int64_t longest_row(const MeasureTest& test, const MeasureOptions& options);

/// Runs one test on rows of its own, which are gone afterwards. A context of `size` tokens is filled with
/// random keys and values instead of being computed: a step costs the same.
Result<Measurement> measure(Engine& engine, const MeasureTest& test, const MeasureOptions& options);

}  // namespace kvern::engine
