#include "text/grammar/number_rules.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace kvern::text::grammar {
namespace {

constexpr size_t kIntegerDigits = 18;
constexpr size_t kLongestBound = 20;  // 2^64 - 1 has as many
constexpr size_t kDoubleDigits = 15;  // that a double tells apart
constexpr size_t kFractionDigits = 6;
constexpr uint32_t kExponentDigits = 3;

std::unexpected<Error> error(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

ExprId digit(Rules& rules, char first, char last) {
  return rules.chars(CharSet({{static_cast<char32_t>(first), static_cast<char32_t>(last)}}));
}
ExprId digits(Rules& rules, size_t count) {
  const auto times = static_cast<uint32_t>(count);
  return rules.repeat(digit(rules, '0', '9'), {.min = times, .max = times});
}

int compare_whole(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

std::string plus_one(std::string number) {
  size_t i = number.size();
  while (i > 0 && number[i - 1] == '9') number[--i] = '0';
  if (i == 0) return "1" + number;
  ++number[i - 1];
  return number;
}

/// Of a number that is not 0.
std::string minus_one(std::string number) {
  size_t i = number.size();
  while (number[i - 1] == '0') number[--i] = '9';
  --number[i - 1];
  const size_t first = std::min(number.find_first_not_of('0'), number.size() - 1);
  return number.substr(first);
}

/// Numbers of as many digits as `low`, at least `low`.
ExprId at_least(Rules& rules, std::string_view low) {
  if (low.empty()) return rules.empty();
  std::vector<ExprId> choices{
      rules.sequence({rules.bytes(low.substr(0, 1)), at_least(rules, low.substr(1))})};
  if (low[0] < '9')
    choices.push_back(
        rules.sequence({digit(rules, static_cast<char>(low[0] + 1), '9'), digits(rules, low.size() - 1)}));
  return rules.choice(std::move(choices));
}

ExprId at_most(Rules& rules, std::string_view high) {
  if (high.empty()) return rules.empty();
  std::vector<ExprId> choices{
      rules.sequence({rules.bytes(high.substr(0, 1)), at_most(rules, high.substr(1))})};
  if (high[0] > '0')
    choices.push_back(
        rules.sequence({digit(rules, '0', static_cast<char>(high[0] - 1)), digits(rules, high.size() - 1)}));
  return rules.choice(std::move(choices));
}

/// Of equal length, low at most high.
ExprId same_length_between(Rules& rules, std::string_view low, std::string_view high) {
  const auto shared = static_cast<size_t>(std::ranges::mismatch(low, high).in1 - low.begin());
  const std::string_view prefix = low.substr(0, shared);
  low.remove_prefix(shared);
  high.remove_prefix(shared);
  if (low.empty()) return rules.bytes(prefix);
  std::vector<ExprId> choices{
      rules.sequence({rules.bytes(low.substr(0, 1)), at_least(rules, low.substr(1))}),
      rules.sequence({rules.bytes(high.substr(0, 1)), at_most(rules, high.substr(1))})};
  if (low[0] + 1 < high[0])
    choices.push_back(
        rules.sequence({digit(rules, static_cast<char>(low[0] + 1), static_cast<char>(high[0] - 1)),
                        digits(rules, low.size() - 1)}));
  return rules.sequence({rules.bytes(prefix), rules.choice(std::move(choices))});
}

/// Whole numbers without sign.
ExprId whole_between(Rules& rules, const std::string& low, const std::string& high) {
  if (low.size() == high.size()) return same_length_between(rules, low, high);
  std::vector<ExprId> choices{same_length_between(rules, low, std::string(low.size(), '9')),
                              same_length_between(rules, "1" + std::string(high.size() - 1, '0'), high)};
  if (low.size() + 1 < high.size())
    choices.push_back(rules.sequence(
        {digit(rules, '1', '9'),
         rules.repeat(digit(rules, '0', '9'), {.min = static_cast<uint32_t>(low.size()),
                                               .max = static_cast<uint32_t>(high.size() - 2)})}));
  return rules.choice(std::move(choices));
}

/// What the fraction of a number must satisfy when its whole part is that of a bound.
struct FractionBounds {
  std::optional<std::string> low;
  std::optional<std::string> high;
  bool low_exclusive = false;
  bool high_exclusive = false;
};

/// An optional point with 1 to `places` digits. A vertex for each count of digits, and for whether all so far
/// are those of the lower and of the upper bound.
class FractionGraph {
 public:
  FractionGraph(Rules& rules, FractionBounds bounds, size_t places)
      : rules_(rules), bounds_(std::move(bounds)), places_(places) {
    if (bounds_.low) bounds_.low->resize(places, '0');
    if (bounds_.high) bounds_.high->resize(places, '0');
  }

  ExprId build() {
    const bool low = bounds_.low.has_value();
    const bool high = bounds_.high.has_value();
    graph_.vertices = static_cast<uint32_t>(1 + 4 * (places_ + 1));
    if (may_end(0, low, high)) graph_.accepting.push_back(0);
    if (places_ > 0) graph_.edges.push_back({0, vertex(0, low, high), rules_.bytes(".")});
    for (size_t place = 0; place <= places_; ++place)
      for (const bool at_low : {false, true})
        for (const bool at_high : {false, true}) add_vertex(place, at_low && low, at_high && high);
    return rules_.graph(std::move(graph_));
  }

 private:
  static uint32_t vertex(size_t place, bool at_low, bool at_high) {
    return static_cast<uint32_t>(1 + 4 * place + (at_low ? 2 : 0) + (at_high ? 1 : 0));
  }

  bool may_end(size_t place, bool at_low, bool at_high) const {
    if (at_low && (!is_zero(*bounds_.low, place) || bounds_.low_exclusive)) return false;
    return !(at_high && is_zero(*bounds_.high, place) && bounds_.high_exclusive);
  }
  static bool is_zero(const std::string& digits, size_t from) {
    return digits.find_first_not_of('0', from) == std::string::npos;
  }

  void add_vertex(size_t place, bool at_low, bool at_high) {
    if (place > 0 && may_end(place, at_low, at_high))
      graph_.accepting.push_back(vertex(place, at_low, at_high));
    if (place == places_) return;
    const char first = at_low ? (*bounds_.low)[place] : '0';
    const char last = at_high ? (*bounds_.high)[place] : '9';
    for (char c = first; c <= last; ++c) {
      const bool still_low = at_low && c == first;
      const bool still_high = at_high && c == last;
      graph_.edges.push_back(
          {vertex(place, at_low, at_high), vertex(place + 1, still_low, still_high), digit(rules_, c, c)});
    }
  }

  Rules& rules_;
  FractionBounds bounds_;
  size_t places_;
  GraphExpr graph_;
};

/// Numbers without sign; both bounds at least 0.
ExprId magnitude_between(Rules& rules, const Bound& low, const Bound& high, size_t places) {
  const auto with_fraction = [&](ExprId whole, FractionBounds bounds) {
    return rules.sequence({whole, FractionGraph(rules, std::move(bounds), places).build()});
  };
  const std::string& low_whole = low.value.whole;
  const std::string& high_whole = high.value.whole;
  FractionBounds from_low{.low = low.value.fraction, .high = {}, .low_exclusive = low.exclusive};
  if (low_whole == high_whole) {
    from_low.high = high.value.fraction;
    from_low.high_exclusive = high.exclusive;
    return with_fraction(rules.bytes(low_whole), from_low);
  }
  std::vector<ExprId> choices{
      with_fraction(rules.bytes(low_whole), from_low),
      with_fraction(rules.bytes(high_whole),
                    {.low = {}, .high = high.value.fraction, .high_exclusive = high.exclusive})};
  const std::string first = plus_one(low_whole);
  const std::string last = minus_one(high_whole);
  if (compare_whole(first, last) <= 0)
    choices.push_back(with_fraction(whole_between(rules, first, last), {}));
  return rules.choice(std::move(choices));
}

/// The sign is taken off.
Bound opposite(Bound bound) {
  bound.value.negative = !bound.value.negative && !bound.value.is_zero();
  return bound;
}

/// The least integer that a lower bound allows: rounded up, or one more.
Decimal round_up(const Bound& bound) {
  Decimal value = bound.value;
  if (value.fraction.empty() && !bound.exclusive) return value;
  const bool was_whole = value.fraction.empty();
  value.fraction.clear();
  if (!value.negative)
    value.whole = plus_one(value.whole);
  else if (was_whole)
    value.whole = minus_one(value.whole);
  value.negative = value.negative && value.whole != "0";
  return value;
}

Decimal negated(Decimal value) {
  value.negative = !value.negative && !value.is_zero();
  return value;
}

Decimal round_down(const Bound& bound) { return negated(round_up(opposite(bound))); }

Status check_order(const NumberBounds& bounds) {
  if (!bounds.min || !bounds.max) return Ok{};
  const int order = compare(bounds.min->value, bounds.max->value);
  if (order > 0 || (order == 0 && (bounds.min->exclusive || bounds.max->exclusive)))
    return error("the lower bound is above the upper one: no number is between them");
  return Ok{};
}

/// A bound, or the default where it is beyond that (on the far side).
Bound or_default(const std::optional<Bound>& bound, const Decimal& far, bool is_lower) {
  if (!bound) return {.value = far};
  const int order = compare(bound->value, far);
  return (is_lower ? order < 0 : order > 0) ? Bound{.value = far} : *bound;
}

}  // namespace

std::optional<Decimal> Decimal::from_json(const json::value& value) {
  std::string text;
  if (value.is_int64())
    text = fmt::format("{}", value.get_int64());
  else if (value.is_uint64())
    text = fmt::format("{}", value.get_uint64());
  else if (value.is_double() && std::isfinite(value.get_double()))
    text = fmt::format("{}", value.get_double());
  else
    return std::nullopt;
  Decimal decimal;
  decimal.negative = text.starts_with('-');
  if (decimal.negative) text.erase(0, 1);
  int exponent = 0;
  if (const size_t e = text.find('e'); e != std::string::npos) {
    const size_t digits_at = e + (text[e + 1] == '+' ? 2 : 1);
    std::from_chars(text.data() + digits_at, text.data() + text.size(), exponent);
    text.resize(e);
  }
  const size_t point = std::min(text.find('.'), text.size());
  int whole_digits = static_cast<int>(point) + exponent;
  std::string all = text;
  std::erase(all, '.');
  if (whole_digits < 0) all.insert(0, static_cast<size_t>(-whole_digits), '0');
  whole_digits = std::max(whole_digits, 0);
  if (all.size() < static_cast<size_t>(whole_digits)) all.resize(static_cast<size_t>(whole_digits), '0');
  decimal.fraction = all.substr(static_cast<size_t>(whole_digits));
  decimal.fraction.resize(decimal.fraction.find_last_not_of('0') + 1);  // npos + 1 is 0
  all.resize(static_cast<size_t>(whole_digits));
  const size_t first = all.find_first_not_of('0');
  decimal.whole = first == std::string::npos ? "0" : all.substr(first);
  decimal.negative = decimal.negative && !decimal.is_zero();
  return decimal;
}

int compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  int order = compare_whole(a.whole, b.whole);
  if (order == 0) order = a.fraction.compare(b.fraction);
  return a.negative ? -order : order;
}

Result<ExprId> integer_between(Rules& rules, const NumberBounds& bounds) {
  KVERN_TRY_STATUS(check_order(bounds));
  const std::string most(kIntegerDigits, '9');
  Decimal low{.negative = true, .whole = most, .fraction = {}};
  Decimal high{.negative = false, .whole = most, .fraction = {}};
  if (bounds.min) low = round_up(*bounds.min);
  if (bounds.max) high = round_down(*bounds.max);
  // A bound on its far side that is beyond all numbers that are made says nothing.
  if (low.negative && low.whole.size() > kLongestBound) low.whole = most;
  if (!high.negative && high.whole.size() > kLongestBound) high.whole = most;
  if (low.whole.size() > kLongestBound || high.whole.size() > kLongestBound)
    return error(fmt::format("a bound has more than {} digits", kLongestBound));
  if (compare(low, high) > 0)
    return error(bounds.min && bounds.max
                     ? "no integer is between the bounds"
                     : fmt::format("no integer of at most {} digits satisfies it", kIntegerDigits));
  std::vector<ExprId> choices;
  if (low.negative) {
    const std::string nearest = high.negative ? high.whole : "1";
    choices.push_back(rules.sequence({rules.bytes("-"), whole_between(rules, nearest, low.whole)}));
  }
  if (!high.negative) choices.push_back(whole_between(rules, low.negative ? "0" : low.whole, high.whole));
  return rules.choice(std::move(choices));
}

ExprId any_json_number(Rules& rules) {
  const auto up_to = [&](size_t count, uint32_t min) {
    return rules.repeat(digit(rules, '0', '9'), {.min = min, .max = static_cast<uint32_t>(count)});
  };
  const ExprId whole = rules.choice(
      {rules.bytes("0"), rules.sequence({digit(rules, '1', '9'), up_to(kIntegerDigits - 1, 0)})});
  const ExprId fraction = rules.optional(rules.sequence({rules.bytes("."), up_to(kIntegerDigits, 1)}));
  // 18 digits times 10^289 is below the largest double. Leading zeros are allowed.
  const ExprId power =
      rules.choice({up_to(kExponentDigits - 1, 1), rules.sequence({digit(rules, '0', '1'), digits(rules, 2)}),
                    rules.sequence({rules.bytes("2"), digit(rules, '0', '8'), digits(rules, 1)})});
  const ExprId sign = rules.optional(rules.chars(CharSet({{'+', '+'}, {'-', '-'}})));
  const ExprId exponent =
      rules.optional(rules.sequence({rules.chars(CharSet({{'e', 'e'}, {'E', 'E'}})), sign, power}));
  return rules.sequence({rules.optional(rules.bytes("-")), whole, fraction, exponent});
}

Result<ExprId> number_between(Rules& rules, const NumberBounds& bounds) {
  if (!bounds.min && !bounds.max) return any_json_number(rules);
  KVERN_TRY_STATUS(check_order(bounds));
  const Decimal most{.negative = false, .whole = std::string(kDoubleDigits, '9'), .fraction = {}};
  const Bound low = or_default(bounds.min, negated(most), true);
  const Bound high = or_default(bounds.max, most, false);
  if (compare(low.value, high.value) > 0)
    return error(fmt::format("no number of at most {} digits before the point satisfies it", kDoubleDigits));
  size_t whole_digits = 0;
  size_t bound_places = 0;
  for (const auto& bound : {bounds.min, bounds.max}) {
    if (!bound || bound->value.whole.size() > kDoubleDigits) continue;
    whole_digits = std::max(whole_digits, bound->value.whole.size());
    bound_places = std::max(bound_places, bound->value.fraction.size());
  }
  if (bound_places > kLongestBound)
    return error(fmt::format("a bound has more than {} digits behind the point", kLongestBound));
  const size_t places = std::max(
      bound_places, std::min(kFractionDigits, kDoubleDigits - std::min(whole_digits, kDoubleDigits)));
  const Bound zero{};
  const bool has_negative = low.value.negative;
  const bool has_positive = !high.value.negative && !(high.value.is_zero() && high.exclusive);
  std::vector<ExprId> choices;
  if (has_negative) {
    const Bound nearest = high.value.negative ? opposite(high) : Bound{.value = {}, .exclusive = true};
    choices.push_back(
        rules.sequence({rules.bytes("-"), magnitude_between(rules, nearest, opposite(low), places)}));
  }
  if (has_positive) choices.push_back(magnitude_between(rules, has_negative ? zero : low, high, places));
  return rules.choice(std::move(choices));
}

}  // namespace kvern::text::grammar
