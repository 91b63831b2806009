// What structured output costs: compiling, and for each token fill_mask() and accept().
//
//   grammar_bench TOKENIZER_JSON [TOKENS]
//
// Follows texts of random allowed tokens until TOKENS (20,000 by default) were taken for each grammar, with
// the weight on what models write: a quarter of the steps takes any token, the others a token that is ASCII.
// "first" is the first 400 tokens with a new grammar, for which masks are still made; "cold" is that with a
// new vocabulary too. Times in microseconds for a token: the mean, and the 99th percentile.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "text/grammar/grammar.h"
#include "text/tokenizer.h"

namespace kvern::text {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

struct Case {
  std::string name;
  json::value schema;
};

json::value big_enum() {
  json::array values;
  for (int i = 0; i < 2000; ++i)
    values.push_back(json::value(fmt::format("value {} of {:x}", i, i * 2654435761U)));
  return json::object{{"enum", values}};
}

std::vector<Case> cases() {
  const json::value nested = json::parse(R"({"type":"object","properties":{
    "title":{"type":"string"},"status":{"enum":["open","closed","in progress"]},"priority":{"type":"integer","minimum":1,"maximum":5},
    "tags":{"type":"array","items":{"type":"string","maxLength":30},"maxItems":8},
    "author":{"type":"object","properties":{"name":{"type":"string"},"email":{"type":["string","null"]},"verified":{"type":"boolean"}},
      "required":["name","email","verified"],"additionalProperties":false},
    "comments":{"type":"array","items":{"type":"object","properties":{"text":{"type":"string"},"likes":{"type":"integer"},
      "mood":{"enum":["happy","neutral","sad"]}},"required":["text","likes","mood"],"additionalProperties":false}}},
    "required":["title","status","priority","tags","author","comments"],"additionalProperties":false})");
  const json::value recursive =
      json::parse(R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{
    "label":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["label","children"]}}})");
  return {{"json_object", json::object{{"type", "object"}}},
          {"nested schema", nested},
          {"enum of 2000 strings", json::object{{"type", "array"}, {"items", big_enum()}}},
          {"recursive schema", recursive},
          {"string of at most 500",
           json::parse(R"({"type":"array","items":{"type":"string","maxLength":500}})")}};
}

struct Costs {
  std::vector<double> all;
  double mean() const {
    double sum = 0;
    for (const double cost : all) sum += cost;
    return all.empty() ? 0 : sum / static_cast<double>(all.size());
  }
  double percentile(double share) {
    if (all.empty()) return 0;
    std::ranges::sort(all);
    return all[static_cast<size_t>(share * static_cast<double>(all.size() - 1))];
  }
};

/// Which tokens are printable ASCII.
std::vector<uint64_t> ascii_tokens(const Tokenizer& tokenizer, size_t words) {
  std::vector<uint64_t> bits(words, 0);
  for (size_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string bytes = tokenizer.token_bytes(static_cast<TokenId>(id));
    const bool ascii = std::ranges::all_of(bytes, [](char c) { return c >= ' ' && c < 0x7F && c != '\\'; });
    if (ascii && !bytes.empty()) bits[id / 64] |= uint64_t{1} << (id % 64);
  }
  return bits;
}

class Walker {
 public:
  Walker(const Tokenizer& tokenizer, size_t vocabulary)
      : tokenizer_(tokenizer), ascii_(ascii_tokens(tokenizer, (vocabulary + 63) / 64)) {}

  /// One text of at most `limit` tokens.
  void walk(const std::shared_ptr<const Grammar>& grammar, size_t limit, Costs& costs) {
    GrammarState state(grammar);
    TokenMask mask;
    for (size_t step = 0; step < limit && !state.finished(); ++step) {
      const auto start = Clock::now();
      state.fill_mask(mask);
      double cost = microseconds_since(start);
      const TokenId token = choose(mask);
      const auto accepting = Clock::now();
      if (!state.accept(token)) std::abort();
      cost += microseconds_since(accepting);
      costs.all.push_back(cost);
      if (tokenizer_.is_end_of_generation(token)) return;
    }
  }

 private:
  TokenId choose(const TokenMask& mask) {
    TokenMask preferred = mask;
    if (random_() % 4 != 0)
      for (size_t i = 0; i < preferred.size(); ++i) preferred[i] &= ascii_[i];
    size_t count = 0;
    for (const uint64_t word : preferred) count += static_cast<size_t>(std::popcount(word));
    if (count == 0) return count_down(mask, random_() % total(mask));
    return count_down(preferred, random_() % count);
  }
  static size_t total(const TokenMask& mask) {
    size_t count = 0;
    for (const uint64_t word : mask) count += static_cast<size_t>(std::popcount(word));
    return count;
  }
  static TokenId count_down(const TokenMask& mask, size_t index) {
    for (size_t word = 0;; ++word) {
      const auto here = static_cast<size_t>(std::popcount(mask[word]));
      if (index >= here) {
        index -= here;
        continue;
      }
      uint64_t bits = mask[word];
      for (; index > 0; --index) bits &= bits - 1;
      return static_cast<TokenId>(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
    }
  }

  const Tokenizer& tokenizer_;
  std::vector<uint64_t> ascii_;
  std::mt19937 random_{1};
};

void measure(const Case& one, const Tokenizer& tokenizer, size_t tokens) {
  constexpr size_t kText = 400;
  const size_t size = (tokenizer.vocab_size() + 127) / 128 * 128;
  const auto vocabulary = GrammarVocabulary::create(tokenizer, size, tokenizer.end_of_generation());
  Walker walker(tokenizer, size);
  Costs cold;
  Costs first;
  Costs warm;
  double compile = 0;
  std::shared_ptr<const Grammar> grammar;
  for (const bool is_cold : {true, false}) {
    const auto start = Clock::now();
    auto made = Grammar::from_json_schema(one.schema, vocabulary);
    compile = microseconds_since(start);
    if (!made) {
      fmt::print("{}: {}\n", one.name, made.error().to_string());
      return;
    }
    grammar = *made;
    Costs& costs = is_cold ? cold : first;
    while (costs.all.size() < kText) walker.walk(grammar, kText - costs.all.size(), costs);
  }
  while (warm.all.size() < tokens) walker.walk(grammar, kText, warm);
  fmt::print("{:<24} {:>9.2f} {:>9.1f} {:>9.1f} {:>9.2f} {:>9.2f} {:>9.1f} {:>9.1f}\n", one.name,
             compile / 1000, cold.mean(), first.mean(), warm.mean(), warm.percentile(0.5),
             warm.percentile(0.99), static_cast<double>(grammar->memory_bytes()) / 1e6);
}

int run(const std::string& path, size_t tokens) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto tokenizer = Tokenizer::from_json(text, "", path);
  if (!tokenizer) {
    fmt::print(stderr, "{}\n", tokenizer.error().to_string());
    return 1;
  }
  const auto start = Clock::now();
  static_cast<void>(GrammarVocabulary::create(**tokenizer, (*tokenizer)->vocab_size(), {}));
  fmt::print("{} tokens; vocabulary made in {:.0f} ms\n", (*tokenizer)->vocab_size(),
             microseconds_since(start) / 1000);
  fmt::print("{:<24} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "grammar", "compile", "cold", "first",
             "mean", "median", "p99", "memory");
  fmt::print("{:<24} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "", "ms", "us", "us", "us", "us", "us",
             "MB");
  for (const Case& one : cases()) measure(one, **tokenizer, tokens);
  return 0;
}

}  // namespace
}  // namespace kvern::text

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: {} TOKENIZER_JSON [TOKENS]\n", argv[0]);
    return 2;
  }
  return kvern::text::run(argv[1], argc == 3 ? static_cast<size_t>(std::atol(argv[2])) : 20'000);
}
