// Attention of new tokens (one, as in decoding, or a chunk of a prompt) over a long row, by type, layout and
// page: microseconds for each cached token, as ratios of one run, and the share of the f32 peak.
// Configurations take turns in rounds, so that phases of a shared machine hit all alike; rows are larger than
// any cache.
//
//   attend_bench [--types f16,q8,h4] [--layouts slab,paged:64] [--dims 64,128] [--contexts 8192,32768]
//                [--tokens 1] [--threads 2] [--rounds 7]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "compute/probe/machine_probe.h"
#include "state/sequence/kv_cache.h"

namespace kvern::state {
namespace {

// The geometry of a 1B model: 16 layers, 8 key/value heads, 4 query heads for each.
constexpr int64_t kLayers = 16;
constexpr int64_t kKvHeads = 8;
constexpr int64_t kHeads = 32;

struct Flags {
  std::vector<std::string> types = {"f16", "q8", "h8", "q4", "h4"};
  std::vector<std::string> layouts = {"paged:64"};
  std::vector<int64_t> dims = {64, 128};
  std::vector<int64_t> contexts = {8192, 32768};
  int64_t tokens = 1;
  int threads = 2;
  int rounds = 7;
};

// One configuration with a row that is filled.
class Subject {
 public:
  Subject(const std::string& type, const std::string& layout, int64_t dim, int64_t context, int64_t tokens,
          compute::Context& compute)
      : name_(type + " " + layout), dim_(dim), context_(context), tokens_(tokens) {
    KvOptions options{.types = *parse_kv_types(type)};
    const size_t colon = layout.find(':');
    options.layout = *parse_layout(layout.substr(0, colon));
    if (colon != std::string::npos) options.page = std::stoll(layout.substr(colon + 1));
    cache_ = *KvCache::create({std::vector(kLayers, KvLayerSpec{kKvHeads, dim, dim})}, options);
    row_ = cache_->add_row();
    fill(compute);
  }

  // Seconds of the attention of the new tokens in all layers.
  double run(compute::Context& compute) {
    const RowAppend append{row_, tokens_};
    auto step = cache_->begin({&append, 1});
    std::vector<float> q(static_cast<size_t>(tokens_ * kHeads * dim_), 0.3F);
    std::vector<float> out(q.size());
    const AttendArgs args{.q = q.data(), .out = out.data(), .heads = kHeads, .scale = 0.1F};
    for (int32_t layer = 0; layer < kLayers; ++layer)
      cache_->append(compute, LayerIndex{layer}, *step, {.k = q.data(), .v = q.data()});
    const auto start = std::chrono::steady_clock::now();
    for (int32_t layer = 0; layer < kLayers; ++layer) cache_->attend(compute, LayerIndex{layer}, *step, args);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    cache_->rollback(*std::move(step));
    return time.count();
  }

  const std::string& name() const { return name_; }
  size_t bytes_per_token() const { return cache_->bytes_per_token(); }
  int64_t context() const { return context_; }
  // Multiplications and additions of one run().
  double operations() const {
    const double pairs =
        static_cast<double>(tokens_) * (static_cast<double>(context_) + static_cast<double>(tokens_ + 1) / 2);
    return pairs * 4 * static_cast<double>(dim_ * kHeads * kLayers);
  }

 private:
  void fill(compute::Context& compute) {
    constexpr int64_t kChunk = 256;
    std::mt19937 generator(3);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<size_t>(kChunk * kKvHeads * dim_));
    for (float& value : values) value = normal(generator);
    for (int64_t done = 0; done < context_; done += kChunk) {
      const RowAppend append{row_, kChunk};
      auto step = cache_->begin({&append, 1});
      for (int32_t layer = 0; layer < kLayers; ++layer)
        cache_->append(compute, LayerIndex{layer}, *step, {.k = values.data(), .v = values.data()});
      cache_->commit(*std::move(step));
    }
  }

  std::string name_;
  int64_t dim_;
  int64_t context_;
  int64_t tokens_;
  std::unique_ptr<KvCache> cache_;
  RowId row_{};
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void run_all(const Flags& flags, int64_t dim, int64_t context, double peak, compute::Context& compute) {
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const std::string& type : flags.types) {
    for (const std::string& layout : flags.layouts)
      subjects.push_back(std::make_unique<Subject>(type, layout, dim, context, flags.tokens, compute));
  }
  std::vector<std::vector<double>> seconds(subjects.size());
  std::vector<std::vector<double>> ratios(subjects.size());
  for (int round = -1; round < flags.rounds; ++round) {
    double first = 0;
    for (size_t i = 0; i < subjects.size(); ++i) {
      const double time = subjects[i]->run(compute);
      if (i == 0) first = time;
      if (round < 0) continue;
      seconds[i].push_back(time);
      ratios[i].push_back(time / first);
    }
  }
  for (size_t i = 0; i < subjects.size(); ++i) {
    const double time = median(seconds[i]);
    const auto tokens = static_cast<double>(context);
    std::printf(
        "dim %3ld context %6ld  %-16s %6zu B/token  %7.3f us/token  %6.1f GB/s  %.3f of the first, "
        "%.2f of f32\n",
        static_cast<long>(dim), static_cast<long>(context), subjects[i]->name().c_str(),
        subjects[i]->bytes_per_token(), time * 1e6 / tokens,
        tokens * static_cast<double>(subjects[i]->bytes_per_token()) / time / 1e9, median(ratios[i]),
        subjects[i]->operations() / time / peak);
  }
}

}  // namespace
}  // namespace kvern::state

int main(int argc, char** argv) {
  kvern::state::Flags flags;
  CLI::App app("Attention of new tokens over a long row, by type and layout");
  app.add_option("--types", flags.types)->delimiter(';');
  app.add_option("--layouts", flags.layouts)->delimiter(',');
  app.add_option("--dims", flags.dims)->delimiter(',');
  app.add_option("--contexts", flags.contexts)->delimiter(',');
  app.add_option("--tokens", flags.tokens);
  app.add_option("--threads", flags.threads);
  app.add_option("--rounds", flags.rounds);
  CLI11_PARSE(app, argc, argv);
  kvern::compute::Context compute(*kvern::compute::best_target(), flags.threads);
  const auto ceilings = kvern::compute::probe_machine(compute);
  std::printf("read ceiling %.1f GB/s, f32 peak %.1f GFLOPS\n", ceilings.read_bytes_per_second / 1e9,
              ceilings.f32_ops_per_second / 1e9);
  for (const int64_t dim : flags.dims) {
    for (const int64_t context : flags.contexts) {
      kvern::state::run_all(flags, dim, context, ceilings.f32_ops_per_second, compute);
    }
  }
  return 0;
}
