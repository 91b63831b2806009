// What a full hit of a kept prefix costs before the first token is computed (case B83): one line "layout
// operation length microseconds" for each, medians. In the paged layout it is work on page tables: nothing of
// the keys and values is touched, so it does not depend on their size.
//
//   prefix_bench [--layouts paged,slab] [--lengths 8192,32768] [--entries 64]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "engine/prefix/prefix_cache.h"

namespace kvern::engine {
namespace {

constexpr int kRepeats = 101;

double microseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void grow(state::KvCache& kv, state::RowId row, int64_t tokens) {
  const state::RowAppend append{row, tokens};
  auto step = kv.begin({&append, 1});
  kv.commit(*std::move(step));
}

// Conversations that share the first half of their tokens.
std::vector<int32_t> conversation(int64_t length, int64_t number) {
  std::vector<int32_t> tokens(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) {
    tokens[static_cast<size_t>(i)] = static_cast<int32_t>((i < length / 2 ? 0 : number) + i);
  }
  return tokens;
}

struct Times {
  std::vector<double> hit;     // lookup, fork and cut
  std::vector<double> first;   // storage for the one token that is computed
  std::vector<double> finish;  // the row becomes an entry in place of the equal one
};

void measure(const std::string& layout, int64_t length, int64_t entries) {
  state::KvOptions options{.types = *state::parse_kv_types("f16"), .layout = *state::parse_layout(layout)};
  const auto kv = *state::KvCache::create({std::vector(4, state::KvLayerSpec{2, 64, 64})}, options);
  PrefixCache prefixes(*kv, {.max_bytes = size_t{1} << 40});
  for (int64_t i = 0; i < entries; ++i) {
    const std::vector<int32_t> tokens = conversation(length, i + 1);
    const auto hit = *prefixes.take("", tokens);
    grow(*kv, hit.row, length - hit.tokens);
    prefixes.put("", tokens, hit.row);
  }
  Times times;
  for (int i = 0; i < kRepeats; ++i) {
    const std::vector<int32_t> prompt = conversation(length, i % entries + 1);
    PrefixCache::Hit hit;
    times.hit.push_back(microseconds([&] { hit = *prefixes.take("", prompt); }));
    if (hit.tokens != length - 1) std::printf("no full hit: %ld tokens\n", static_cast<long>(hit.tokens));
    times.first.push_back(microseconds([&] { grow(*kv, hit.row, 1); }));
    times.finish.push_back(microseconds([&] { prefixes.put("", prompt, hit.row); }));
  }
  const auto print = [&](const char* name, const std::vector<double>& values) {
    std::printf("%s %s %ld %.2f\n", layout.c_str(), name, static_cast<long>(length), median(values));
  };
  print("hit", times.hit);
  print("first", times.first);
  print("finish", times.finish);
}

}  // namespace
}  // namespace kvern::engine

int main(int argc, char** argv) {
  std::vector<std::string> layouts = {"paged"};
  std::vector<int64_t> lengths = {8192, 32768};
  int64_t entries = 16;
  CLI::App app("What a full hit of a kept prefix costs");
  app.add_option("--layouts", layouts)->delimiter(',');
  app.add_option("--lengths", lengths)->delimiter(',');
  app.add_option("--entries", entries)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  for (const std::string& layout : layouts) {
    for (const int64_t length : lengths) kvern::engine::measure(layout, length, entries);
  }
  return 0;
}
