// The conformance suite of the state library: random scripts over the full product of what a cache can be.
//
//   kv_conformance [--scripts N] [--shard I/N] [--only NUMBER] [--seconds S]
//
// Runs scripts 0…N-1, those of its shard; each shard visits every cell of the table. Prints the table and
// fails when a script fails or something was skipped: a cell, a number of rows, threads on an instruction
// set, and with enough scripts for it any combination of them. --only runs one script; --seconds stops early,
// for long runs by hand, and does not ask for a full table.
#include "conformance/script.h"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <malloc.h>

namespace kvern::conformance {
namespace {

struct Arguments {
  uint64_t scripts = 21168;
  uint64_t shard = 0;
  uint64_t shards = 1;
  int64_t only = -1;
  double seconds = 0.0;
};

uint64_t number_in(std::string_view text) {
  uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size()) {
    std::fprintf(stderr, "not a number: %.*s\n", static_cast<int>(text.size()), text.data());
    std::exit(2);
  }
  return value;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view flag = argv[i];
    const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--scripts") {
      arguments.scripts = number_in(value);
    } else if (flag == "--only") {
      arguments.only = static_cast<int64_t>(number_in(value));
    } else if (flag == "--seconds") {
      arguments.seconds = static_cast<double>(number_in(value));
    } else if (flag == "--shard" && value.find('/') != std::string_view::npos) {
      arguments.shard = number_in(value.substr(0, value.find('/')));
      arguments.shards = number_in(value.substr(value.find('/') + 1));
    } else {
      std::fprintf(stderr,
                   "usage: kv_conformance [--scripts N] [--shard I/N] [--only NUMBER] [--seconds S]\n");
      std::exit(2);
    }
  }
  return arguments;
}

int run_suite(const Arguments& arguments) {
  Product product;
  if (arguments.only >= 0) {
    const std::string failure = run_numbered(product, static_cast<uint64_t>(arguments.only));
    std::printf("%s\n", failure.empty() ? "right" : failure.c_str());
    return failure.empty() ? 0 : 1;
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const uint64_t rounds = (arguments.scripts + product.cells() - 1) / product.cells();
  uint64_t done = 0;
  uint64_t failures = 0;
  for (uint64_t script = 0; script < arguments.scripts && failures < 5; ++script) {
    // Whole rounds of all cells, and rounds that follow each other: they go through the combinations.
    if (script / product.cells() * arguments.shards / rounds != arguments.shard) continue;
    if (arguments.seconds > 0.0 && elapsed() > arguments.seconds) break;
    const std::string failure = run_numbered(product, script);
    product.count(product.place(script));
    ++done;
    if (failure.empty()) continue;
    ++failures;
    std::printf("%s\n", failure.c_str());
    std::fflush(stdout);
  }
  std::printf("%s%llu scripts in %.1f s, %llu failed, %llu skipped\n", product.table().c_str(),
              static_cast<unsigned long long>(done), elapsed(), static_cast<unsigned long long>(failures),
              static_cast<unsigned long long>(product.skipped()));
  const bool whole = arguments.seconds > 0.0 || product.skipped() == 0;
  return failures == 0 && whole ? 0 : 1;
}

}  // namespace
}  // namespace kvern::conformance

int main(int argc, char** argv) {
  // Storage of a world is large and short-lived: keep its pages.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  return kvern::conformance::run_suite(kvern::conformance::parse(argc, argv));
}
