// An index with many entries: lookup of a long prompt, and opening the store.
//
//   index_bench DIRECTORY [ENTRIES] [TOKENS OF AN ENTRY]
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/log.h"
#include "store/disk/disk_store.h"

namespace {

using namespace kvern;
using namespace kvern::store;

template <typename F>
double milliseconds(const F& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

// Entry `number`: one of 100 beginnings of 512 tokens, then tokens of its own.
std::vector<int32_t> tokens_of(uint64_t number, int64_t count) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t source = i < 512 ? number % 100 : 1000 + number;
    tokens.push_back(static_cast<int32_t>(mix(source * 1'000'003 + static_cast<uint64_t>(i)) % 100000));
  }
  return tokens;
}

void fill(const std::string& path, const PrefixSpace& space, uint64_t entries, int64_t length) {
  const auto index = *PrefixIndex::open({.path = path}, {});
  for (uint64_t number = 0; number < entries; ++number) {
    IndexedEntry entry{.tokens = tokens_of(number, number == 0 ? 32768 : length), .used = 1};
    for (size_t i = 0; i < 8; ++i) entry.manifest.digest[i] = static_cast<std::byte>(number >> (8 * i));
    entry.links = prefix_chain(space.root, entry.tokens, {});
    KVERN_CHECK(index->insert(entry).has_value());
  }
}

void report(const char* what, std::vector<double> times, double limit) {
  std::ranges::sort(times);
  fmt::print("{:46} median {:7.3f} ms, slowest {:7.3f} ms (wanted: {} ms)\n", what, times[times.size() / 2],
             times.back(), limit);
}

void look_up(DiskStore& store, const PrefixSpace& space) {
  const auto measure = [&](const char* what, const auto& prompt_of, int64_t expected) {
    std::vector<double> times;
    for (uint64_t i = 0; i < 200; ++i) {
      const std::vector<int32_t> prompt = prompt_of(i);
      times.push_back(milliseconds([&] {
        const auto hit = store.find(space, prompt);
        KVERN_CHECK(hit && (*hit ? (*hit)->tokens : 0) == expected);
      }));
    }
    report(what, times, 2);
  };
  const std::vector<int32_t> longest = tokens_of(0, 32769);
  measure("32k tokens, all of them found", [&](uint64_t) { return longest; }, 32768);
  measure(
      "32k tokens, nothing found",
      [&](uint64_t i) {
        std::vector<int32_t> tokens = tokens_of(i, 32768);
        tokens[0] = -1;
        return tokens;
      },
      0);
  measure(
      "32k tokens, 512 common with a thousand entries",
      [&](uint64_t i) {
        auto tokens = tokens_of(i, 512);
        for (int64_t t = 0; t < 32256; ++t) tokens.push_back(-2);
        return tokens;
      },
      512);
  measure(
      "32k tokens, the first 1000 those of an entry",
      [&](uint64_t i) {
        auto tokens = tokens_of(i + 1, 1000);
        for (int64_t t = 0; t < 31768; ++t) tokens.push_back(-2);
        return tokens;
      },
      1000);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: index_bench DIRECTORY [ENTRIES] [TOKENS]\n");
    return 2;
  }
  const std::string directory = std::string(argv[1]) + "/kv-index";
  const uint64_t entries = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100'000;
  const int64_t length = argc > 3 ? std::atoll(argv[3]) : 1024;
  std::filesystem::create_directories(directory);
  const PrefixSpace space = make_prefix_space({});
  const std::string path = directory + "/index.db";
  if (!std::filesystem::exists(path)) {
    const double time = milliseconds([&] { fill(path, space, entries, length); });
    fmt::print("{} entries of {} tokens added in {:.1f} s, {:.2f} ms each\n", entries, length, time / 1e3,
               time / static_cast<double>(entries));
  }
  fmt::print("the index has {:.0f} MB\n", static_cast<double>(std::filesystem::file_size(path)) / 1e6);
  const auto files = make_posix_files();
  const auto io = make_files_io(*files);
  const auto clock = make_system_clock();
  std::unique_ptr<DiskStore> store;
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    store.reset();
    times.push_back(milliseconds(
        [&] { store = *DiskStore::open({*files, *io, *clock, null_log()}, {.directory = directory}); }));
  }
  report("opening", times, 500);
  look_up(*store, space);
  return 0;
}
