// The KV state library without a model: random keys and values of one layer in several types, attention over
// them, and what each type costs in bytes and in error against f32.
//
//   state_only [TOKENS]
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <kvern/state.h>

namespace {

// 8 query heads of 128 numbers share 2 key/value heads.
constexpr kvern::KvLayer kLayer{.kv_heads = 2, .k_dim = 128, .v_dim = 128};
constexpr int64_t kHeads = 8;

/// Arrays of all tokens: [tokens, heads, 128].
struct Tokens {
  std::vector<float> keys, values, queries;
};

Tokens random_tokens(int64_t count) {
  std::mt19937 random(42);
  std::normal_distribution<float> normal;
  const auto draw = [&](int64_t heads) {
    std::vector<float> numbers(static_cast<size_t>(count * heads * 128));
    for (float& x : numbers) x = normal(random);
    return numbers;
  };
  return {.keys = draw(kLayer.kv_heads), .values = draw(kLayer.kv_heads), .queries = draw(kHeads)};
}

struct Attended {
  std::vector<float> out;  // [tokens, kHeads, 128]
  size_t bytes_per_token = 0;
  size_t bytes = 0;
};

/// One row of these tokens, stored in a type: what they see of each other, all in one step.
kvern::Result<Attended> attend(kvern::Compute& compute, const std::string& type, const Tokens& tokens,
                               int64_t count) {
  auto state = kvern::KvState::create({kLayer}, {.type = type});
  if (!state) return std::unexpected(state.error());
  const auto row = state->add_row();
  if (!row) return std::unexpected(row.error());
  auto step = state->begin({{.row = *row, .tokens = count}});
  if (!step) return std::unexpected(step.error());

  Attended attended{.out = std::vector<float>(tokens.queries.size()),
                    .bytes_per_token = state->bytes_per_token()};
  auto done = step->append(compute, 0, {.k = tokens.keys, .v = tokens.values});
  if (done) done = step->attend(compute, 0, {.q = tokens.queries, .out = attended.out, .heads = kHeads});
  if (done) done = step->commit();
  if (!done) return std::unexpected(done.error());
  attended.bytes = state->usage().live;
  return attended;
}

/// Root of the mean square of the difference, as a share of that of `exact`.
double relative_error(const std::vector<float>& out, const std::vector<float>& exact) {
  double difference = 0;
  double whole = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    difference += (out[i] - exact[i]) * (out[i] - exact[i]);
    whole += exact[i] * exact[i];
  }
  return std::sqrt(difference / whole);
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t count = argc > 1 ? std::atoll(argv[1]) : 1000;
  if (argc > 2 || count < 1) {
    std::cerr << "usage: state_only [TOKENS]\n";
    return 2;
  }
  const Tokens tokens = random_tokens(count);
  auto compute = kvern::Compute::create();
  if (!compute) {
    std::cerr << compute.error().to_string() << '\n';
    return 1;
  }

  std::vector<float> exact;
  std::cout << "type   bytes/token   total bytes   error\n";
  for (const char* type : {"f32", "f16", "q8", "h4"}) {
    const auto attended = attend(*compute, type, tokens, count);
    if (!attended) {
      std::cerr << attended.error().to_string() << '\n';
      return 1;
    }
    if (exact.empty()) exact = attended->out;
    std::cout << std::left << std::setw(4) << type << std::right << std::setw(14) << attended->bytes_per_token
              << std::setw(14) << attended->bytes << "   " << std::scientific << std::setprecision(1)
              << relative_error(attended->out, exact) << '\n';
  }
  return 0;
}
