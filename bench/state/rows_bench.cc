// What joining, leaving, forking and a step of a short row (a token through all layers) cost beside resting
// rows of growing length: one line "layout operation length microseconds" for each, medians. In the paged
// layout nothing depends on the length of the other rows.
//
//   rows_bench [--layouts paged,slab] [--lengths 1024,4096,16384,65536]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "compute/context.h"
#include "state/sequence/kv_cache.h"

namespace kvern::state {
namespace {

constexpr int64_t kOwnLength = 1024;   // of the row that joins, forks and leaves
constexpr int64_t kShortLength = 128;  // of the row that steps
constexpr int kLayers = 4;
constexpr int64_t kHeads = 8;
constexpr int64_t kKvHeads = 2;
constexpr int64_t kHeadDim = 64;
constexpr int kOtherRows = 4;
constexpr int kRepeats = 51;

double microseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void grow(KvCache& cache, RowId row, int64_t tokens) {
  const RowAppend append{row, tokens};
  auto step = cache.begin({&append, 1});
  cache.commit(*std::move(step));
}

/// One token of a row through all layers; the row is left as it was.
void step(compute::Context& compute, KvCache& cache, RowId row) {
  const RowAppend append{row, 1};
  auto step = cache.begin({&append, 1});
  const std::vector<float> q(kHeads * kHeadDim, 0.3F);
  std::vector<float> out(q.size());
  for (int32_t layer = 0; layer < kLayers; ++layer) {
    cache.append(compute, LayerIndex{layer}, *step, {.k = q.data(), .v = q.data()});
    cache.attend(compute, LayerIndex{layer}, *step,
                 {.q = q.data(), .out = out.data(), .heads = kHeads, .scale = 0.1F});
  }
  cache.rollback(*std::move(step));
}

void measure(const std::string& layout, int64_t length) {
  KvOptions options{.types = *parse_kv_types("f16"), .layout = *parse_layout(layout)};
  const auto cache =
      *KvCache::create({std::vector(kLayers, KvLayerSpec{kKvHeads, kHeadDim, kHeadDim})}, options);
  for (int i = 0; i < kOtherRows; ++i) grow(*cache, cache->add_row(), length);
  const RowId source = cache->add_row();
  grow(*cache, source, kOwnLength);
  compute::Context compute(*compute::best_target(), 1);
  const RowId shorter = cache->add_row();
  grow(*cache, shorter, kShortLength);
  std::vector<double> steps;
  std::vector<double> join;
  std::vector<double> fork;
  std::vector<double> leave;
  for (int i = 0; i < kRepeats; ++i) {
    RowId row{};
    join.push_back(microseconds([&] {
      row = cache->add_row();
      grow(*cache, row, kOwnLength);
    }));
    leave.push_back(microseconds([&] { (void)cache->remove_row(row); }));
    fork.push_back(microseconds([&] { row = *cache->fork(source); }));
    (void)cache->remove_row(row);
    steps.push_back(microseconds([&] { step(compute, *cache, shorter); }));
  }
  const auto print = [&](const char* name, const std::vector<double>& times) {
    std::printf("%s %s %ld %.2f\n", layout.c_str(), name, static_cast<long>(length), median(times));
  };
  print("join", join);
  print("fork", fork);
  print("leave", leave);
  print("step", steps);
}

}  // namespace
}  // namespace kvern::state

int main(int argc, char** argv) {
  std::vector<std::string> layouts = {"paged", "slab", "padded"};
  std::vector<int64_t> lengths = {1024, 2048, 4096, 8192, 16384, 32768, 65536};
  CLI::App app("Joining, leaving, forking and stepping beside rows of growing length");
  app.add_option("--layouts", layouts)->delimiter(',');
  app.add_option("--lengths", lengths)->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  for (const std::string& layout : layouts) {
    for (const int64_t length : lengths) kvern::state::measure(layout, length);
  }
  return 0;
}
