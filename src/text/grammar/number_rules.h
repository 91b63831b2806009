// Decimal numbers between bounds, exactly, digit by digit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "text/grammar/expression.h"

namespace kvern::text::grammar {

/// A decimal number: (-1 if negative) * whole.fraction. No leading zeros in `whole` ("0" for none), no
/// trailing ones in `fraction`.
struct Decimal {
  bool negative = false;
  std::string whole = "0";
  std::string fraction;

  bool is_zero() const { return whole == "0" && fraction.empty(); }
  /// Exactly the number that its shortest decimal text says. Nothing for what is no number, or not finite.
  static std::optional<Decimal> from_json(const json::value& value);
  bool operator==(const Decimal&) const = default;
};
/// Negative, 0, positive like a - b.
int compare(const Decimal& a, const Decimal& b);

struct Bound {
  Decimal value;
  bool exclusive = false;
};
struct NumberBounds {
  std::optional<Bound> min;
  std::optional<Bound> max;
};

/// Integers without leading zeros, and no -0. Without bounds, and where a bound is beyond them: at most 18
/// digits. Bounds of more than 18 digits count if they are on the near side of nothing: an error then.
Result<ExprId> integer_between(Rules& rules, const NumberBounds& bounds);

/// Without bounds: JSON numbers of at most 18 digits before and behind the point, with an exponent of at most
/// 289. With bounds: no exponent and at most 15 digits before the point; behind it as many as the bounds
/// have, or else up to six as far as a double can tell such numbers apart.
ExprId any_json_number(Rules& rules);
Result<ExprId> number_between(Rules& rules, const NumberBounds& bounds);

}  // namespace kvern::text::grammar
