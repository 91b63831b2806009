// Saving and restoring a long prefix, beside what the disk itself gives.
//
//   store_bench DIRECTORY [TOKENS]
//
// Writes some hundred MiB below DIRECTORY and removes them again. The geometry is that of a 1B model: 16
// layers with 8 heads of 64 numbers. "Cold" is with the page cache emptied for these files, "warm" with them
// in it.
#include "disk_measure.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/log.h"
#include "store/row/saved_row.h"
#include "store/tier/disk_tier.h"

namespace {

using namespace kvern;
using namespace kvern::store;
using namespace kvern::bench;

const auto kForEver = std::chrono::steady_clock::now() + std::chrono::hours(1);

state::KvSpec spec_1b() {
  state::KvSpec spec;
  for (int i = 0; i < 16; ++i) spec.layers.push_back({.kv_heads = 8, .k_dim = 64, .v_dim = 64});
  return spec;
}

struct Kind {
  std::string name;
  state::KvType type;
};

std::unique_ptr<state::KvCache> make_cache(const state::KvType& type) {
  return *state::KvCache::create(spec_1b(),
                                 {.types = {type, type}, .layout = state::LayoutKind::kPaged, .page = 64});
}

// A row of random numbers; a few hundred different tokens are enough.
state::RowId make_row(state::KvCache& cache, int64_t tokens) {
  compute::Context context(*compute::best_target(), 2);
  const state::RowId row = cache.add_row();
  const state::RowAppend append[] = {{row, tokens}};
  auto step = cache.begin(append);
  std::mt19937 random(5);
  std::vector<float> numbers(static_cast<size_t>(tokens) * 512);
  for (float& x : numbers) x = static_cast<float>(static_cast<int32_t>(random())) * 1e-9F;
  for (int layer = 0; layer < 16; ++layer)
    cache.append(context, state::LayerIndex{layer}, *step, {.k = numbers.data(), .v = numbers.data()});
  cache.commit(*std::move(step));
  return row;
}

double restore_seconds(DiskTier& tier, const std::shared_ptr<const PrefixSpace>& space,
                       const std::vector<int32_t>& prompt, state::KvCache& cache) {
  state::RowId row{};
  const double time = seconds([&] {
    auto hit = tier.lookup(space, prompt, 0);
    KVERN_CHECK(hit.has_value());
    RowRestore restore(cache, *std::move(hit));
    while (*restore.step(size_t{8} << 20)) restore.wait(kForEver);
    const auto made = restore.finish();
    KVERN_CHECK(made && *made && (*made)->tokens == static_cast<int64_t>(prompt.size()) - 1);
    row = (*made)->row;
  });
  KVERN_CHECK(cache.remove_row(row).has_value());
  return time;
}

void run(const std::string& directory, const Kind& kind, int64_t tokens, double disk) {
  const std::string folder = directory + "/kv";
  const auto files = make_posix_files();
  const auto io = make_block_io(*files);
  const auto clock = make_system_clock();
  const auto store = *DiskStore::open({*files, *io, *clock, null_log()}, {.directory = folder});
  DiskTier tier(*store, null_log(), {});
  auto cache = make_cache(kind.type);
  const auto space = std::make_shared<const PrefixSpace>(make_prefix_space({.cache = cache->identity()}));
  std::vector<int32_t> prompt;
  for (int64_t i = 0; i < tokens; ++i) prompt.push_back(static_cast<int32_t>(i * 7919 % 100000));
  const state::RowId row = make_row(*cache, tokens);
  const double bytes = static_cast<double>(cache->bytes_per_token()) * static_cast<double>(tokens);
  double pin = 0;
  const double save = seconds([&] {
    pin = seconds([&] { tier.offer(*entry_of_row(*cache, row, space, prompt)); });
    KVERN_CHECK(tier.flush(kForEver).durable);
  });
  KVERN_CHECK(cache->remove_row(row).has_value());
  prompt.push_back(1);
  double cold = 1e9;
  double warm = 1e9;
  for (int i = 0; i < 3; ++i) {
    drop_cache(folder + "/blocks");
    cold = std::min(cold, restore_seconds(tier, space, prompt, *cache));
    fill_cache(folder + "/blocks");
    for (int j = 0; j < 3; ++j) warm = std::min(warm, restore_seconds(tier, space, prompt, *cache));
  }
  fmt::print(
      "{:6} {:4.0f} MB  pin {:6.3f} ms  save {:5.2f} GB/s  cold {:5.2f} GB/s = {:3.0f} % of the disk  "
      "warm {:5.2f} GB/s  ({})\n",
      kind.name, bytes / 1e6, pin * 1e3, bytes / save / 1e9, bytes / cold / 1e9,
      bytes / cold / 1e9 / disk * 100, bytes / warm / 1e9, io->description());
  cache.reset();
  std::filesystem::remove_all(folder);
}

void checksums() {
  AlignedBuffer buffer(size_t{2} << 20);
  std::memset(buffer.bytes().data(), 7, buffer.size());
  const std::span<const std::byte> parts[] = {buffer.bytes()};
  const auto rate = [&](const auto& f) {
    const int rounds = 200;
    const double time = seconds([&] {
      for (int i = 0; i < rounds; ++i) f();
    });
    return static_cast<double>(buffer.size()) * rounds / time / 1e9;
  };
  std::byte sink{};
  fmt::print("checksum (XXH3-128) {:.1f} GB/s, name (SHA-256) {:.2f} GB/s\n",
             rate([&] { sink ^= xxh3_128(parts)[0]; }), rate([&] { sink ^= sha256(buffer.bytes())[0]; }));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: store_bench DIRECTORY [TOKENS]\n");
    return 2;
  }
  const std::string directory = argv[1];
  const int64_t tokens = argc > 2 ? std::atoll(argv[2]) : 8192;
  checksums();
  RateFile file(directory, size_t{512} << 20);
  const double disk = file.rate();
  fmt::print("disk, in order, past the page cache: {:.2f} GB/s\n", disk);
  run(directory, {"f16", {.kind = state::CodecKind::kF16}}, tokens, disk);
  run(directory, {"q4g32", {.kind = state::CodecKind::kAffine, .bits = 4, .group = 32}}, tokens, disk);
  fmt::print("disk once more: {:.2f} GB/s\n", file.rate());
  return 0;
}
