// Speed of the matrix product against the ceilings of the machine.
//
//   matmul_bench [--threads N] [--target NAME] [--types a,b] [--tokens 1,8,512] [--shapes 2048x2048,...]
//   [--ms M]
//
// For one product the bytes of the weights bind, for many tokens the arithmetic; the table shows both shares.
// Each timed run works on another copy of the matrix, and the copies together exceed the last-level cache, so
// weights come from memory as they do in a model.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "compute/kernels/matmul.h"
#include "compute/kernels/weights/formats.h"
#include "compute/probe/machine_probe.h"
#include "support/random_weights.h"

namespace {

using namespace kvern::compute;

struct Options {
  int threads = 2;
  std::string target = "auto";
  std::vector<std::string> types = {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_k", "q6_k"};
  std::vector<int64_t> tokens = {1, 4, 8, 16, 64, 512};
  std::vector<std::pair<int64_t, int64_t>> shapes = {{2048, 2048}, {8192, 2048}, {2048, 8192}, {32000, 2048}};
  double milliseconds = 150.0;
};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return parts;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--threads") {
      options.threads = std::stoi(value);
    } else if (name == "--target") {
      options.target = value;
    } else if (name == "--types") {
      options.types = split(value, ',');
    } else if (name == "--ms") {
      options.milliseconds = std::stod(value);
    } else if (name == "--tokens") {
      options.tokens.clear();
      for (const auto& t : split(value, ',')) options.tokens.push_back(std::stoll(t));
    } else if (name == "--shapes") {
      options.shapes.clear();
      for (const auto& s : split(value, ',')) {
        const auto sides = split(s, 'x');
        options.shapes.emplace_back(std::stoll(sides.at(0)), std::stoll(sides.at(1)));
      }
    } else {
      return false;
    }
  }
  return argc % 2 == 1;
}

DType type_of(const std::string& name) {
  for (const DType type : kvern::testing::kAllDTypes) {
    if (traits(type).name == name) return type;
  }
  std::fprintf(stderr, "no such type: %s\n", name.c_str());
  std::exit(2);
}

/// Median seconds of one call.
double time_product(Context& context, const std::vector<kvern::testing::OwnedMatrix>& copies, int64_t tokens,
                    double milliseconds) {
  const WeightMatrix& first = copies.front().view;
  const auto x = kvern::testing::random_activations(tokens * first.cols, 3);
  std::vector<float> out(static_cast<size_t>(tokens * first.rows));
  std::vector<double> seconds;
  double total = 0.0;
  for (size_t i = 0; total < milliseconds * 1e-3 || seconds.size() < copies.size() + 2; ++i) {
    const MatmulTask task = {
        .weight = copies[i % copies.size()].view, .out = out.data(), .out_stride = first.rows};
    const auto begin = std::chrono::steady_clock::now();
    matmul(context, {.x = x.data(), .tokens = tokens, .cols = first.cols, .stride = first.cols}, {&task, 1});
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    total += seconds.back();
  }
  seconds.erase(seconds.begin());
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2),
                   seconds.end());
  return seconds[seconds.size() / 2];
}

/// The best rate of a few numbers of streams, in a fraction of a second.
double read_ceiling(Context& context) {
  double best = 0.0;
  for (const int streams : {1, 4, 8}) {
    best = std::max(best,
                    read_bytes_per_second(context, {.streams = streams, .bytes = 96u << 20, .repeats = 5}));
  }
  return best;
}

void run_shape(Context& context, const Options& options, const MachineCeilings& ceilings, DType type,
               std::pair<int64_t, int64_t> shape) {
  const auto [rows, cols] = shape;
  const size_t bytes = row_bytes(type, cols) * static_cast<size_t>(rows);
  std::vector<kvern::testing::OwnedMatrix> copies;
  for (size_t total = 0; total < (96u << 20); total += bytes) {
    copies.push_back(
        kvern::testing::random_matrix({.type = type, .rows = rows, .cols = cols, .seed = copies.size()}));
  }
  const double read = read_ceiling(context);
  const bool plain = !weights::quantizes_activations(type);
  const double peak = plain ? ceilings.f32_ops_per_second : ceilings.int8_ops_per_second;
  for (const int64_t tokens : options.tokens) {
    const double seconds = time_product(context, copies, tokens, options.milliseconds);
    const double rate = static_cast<double>(bytes) / seconds;
    const double operations = 2.0 * static_cast<double>(rows * cols * tokens) / seconds;
    std::printf("%-8s %6lld x %-6lld %5lld %10.1f us %7.2f of %5.2f GB/s %4.0f %% %8.1f GOPS %4.0f %%\n",
                std::string(traits(type).name).c_str(), static_cast<long long>(rows),
                static_cast<long long>(cols), static_cast<long long>(tokens), seconds * 1e6, rate * 1e-9,
                read * 1e-9, 100.0 * rate / read, operations * 1e-9, 100.0 * operations / peak);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: matmul_bench [--threads N] [--target T] [--types a,b] [--tokens 1,8] [--shapes "
                 "RxC,...] [--ms M]\n");
    return 2;
  }
  const auto target = parse_target(options.target);
  if (!target) {
    std::fprintf(stderr, "%s\n", target.error().message.c_str());
    return 2;
  }
  Context context(*target, options.threads);
  const MachineCeilings ceilings = probe_machine(context);
  std::printf("target %s, %d threads: read %.1f GB/s (%d streams a thread), int8 %.0f GOPS, f32 %.0f GOPS\n",
              std::string(to_string(*target)).c_str(), options.threads, ceilings.read_bytes_per_second * 1e-9,
              ceilings.read_streams, ceilings.int8_ops_per_second * 1e-9, ceilings.f32_ops_per_second * 1e-9);
  std::printf("type       rows x cols   tokens       time      weights   of peak arithmetic  of peak\n");
  for (const auto& type : options.types) {
    for (const auto& shape : options.shapes) run_shape(context, options, ceilings, type_of(type), shape);
  }
  return 0;
}
