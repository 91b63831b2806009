#include "model/blocks/sparse_gate.h"

#include <algorithm>
#include <cmath>

#include "model/blocks/row_sums.h"

namespace kvern::model {

void cut_gates(compute::Context& context, const GateRows& rows, float deviations) {
  context.pool().run(rows.tokens, [&](int64_t token, int) {
    float* x = rows.x + token * rows.n;
    const auto n = static_cast<double>(rows.n);
    const double mean = row_sum(rows.n, [x](int64_t i) { return double{x[i]}; }) / n;
    const double variance = row_sum(rows.n,
                                    [x, mean](int64_t i) {
                                      const double distance = double{x[i]} - mean;
                                      return distance * distance;
                                    }) /
                            n;
    const float cutoff = static_cast<float>(mean) + static_cast<float>(std::sqrt(variance)) * deviations;
    for (int64_t i = 0; i < rows.n; ++i) x[i] = std::max(0.0F, x[i] - cutoff);
  });
}

}  // namespace kvern::model
