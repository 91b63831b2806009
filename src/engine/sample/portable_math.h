// exp and log in double whose bits depend on this source alone.
//
// The C library's versions choose code by CPU and differ between releases; a sampled token must not. Both are
// accurate to about one unit in the last place, and take no branch on the data but the documented ones.
#pragma once

namespace kvern::engine {

/// e^x. 0 for x below -708 (no subnormals), +infinity above 709. `x` must not be NaN.
double portable_exp(double x);

/// Natural logarithm of a positive, finite, normal `x`.
double portable_log(double x);

}  // namespace kvern::engine
