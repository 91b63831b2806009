// Saved rows of keys and values: any bytes, or, by the first byte, bytes behind a right beginning and before
// a right checksum. What can be read is written back as it was; what a cache adopts, it can use.
//
// First byte: bit 0 = frame the rest; bits 1-2 = layout of the cache; bit 3 = a precision rule; bit 4 = take
// the image for one of this cache.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "state/sequence/kv_cache.h"

namespace {

using namespace kvern;
using namespace kvern::state;

void require(bool holds) {
  if (!holds) std::abort();
}

std::vector<std::byte> framed(std::span<const uint8_t> rest) {
  constexpr std::string_view kBegin("KVRNROW\n\1\0\0\0", 12);
  std::vector<std::byte> out;
  for (const char c : kBegin) out.push_back(static_cast<std::byte>(c));
  for (const uint8_t byte : rest) out.push_back(static_cast<std::byte>(byte));
  const uint64_t checksum = xxh3_64(out);
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<std::byte>(checksum >> (8 * i)));
  return out;
}

KvOptions options(uint8_t flags) {
  constexpr std::array kLayouts = {LayoutKind::kSlab, LayoutKind::kRing, LayoutKind::kPaged,
                                   LayoutKind::kPadded};
  const KvType q4{.kind = CodecKind::kAffine, .bits = 4, .group = 32};
  KvOptions made{.types = {q4, q4}, .layout = kLayouts[flags >> 1 & 3], .page = 16, .slack = 2};
  if ((flags & 8) != 0) made.precision = {.quant_start = 6, .keep_first = 2, .keep_last = 3};
  made.budget_bytes = size_t{8} << 20;
  return made;
}

void use(KvCache& cache, RowId row) {
  static compute::Context context(*compute::best_target(), 1);
  const RowAppend append[] = {{row, 2}};
  auto step = cache.begin(append);
  if (!step) return require(step.error().code == ErrorCode::kExhausted);
  const std::vector<float> numbers(2 * 32, 0.5F);
  std::vector<float> out(2 * 32);
  for (const int layer : {0, 1}) {
    const auto index = static_cast<LayerIndex>(layer);
    cache.append(context, index, *step, {.k = numbers.data(), .v = numbers.data()});
    cache.attend(context, index, *step, {.q = numbers.data(), .out = out.data(), .heads = 1});
  }
  cache.commit(*std::move(step));
  const int64_t least = *cache.minimum_reusable_position(row);
  require(least >= 0 && least <= *cache.length(row));
  require(cache.truncate(row, least).has_value());
}

void adopt(const RowImage& image, uint8_t flags) {
  const KvLayerSpec plain{.kv_heads = 1, .k_dim = 32, .v_dim = 32};
  KvLayerSpec windowed = plain;
  windowed.window = 4;
  windowed.sinks = 1;
  auto cache = KvCache::create({{plain, windowed}}, options(flags));
  require(cache.has_value());
  RowImage taken = image;
  if ((flags & 16) != 0) taken.identity = (*cache)->identity();
  // Books of pages grow with the length that an image claims; whoever adopts one compares it with the
  // context.
  if (taken.length > int64_t{1} << 20) return;
  auto row = (*cache)->adopt(taken);
  if (!row) return require((*cache)->live_bytes() == 0);
  auto again = (*cache)->extract(*row);
  require(again.has_value() && again->length == taken.length);
  require((*cache)->adopt(*again).has_value() || (*cache)->options().budget_bytes > 0);
  use(**cache, *row);
  require((*cache)->filter({}).has_value() && (*cache)->live_bytes() == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const uint8_t flags = data[0];
  const std::span<const uint8_t> rest(data + 1, size - 1);
  std::vector<std::byte> bytes;
  if ((flags & 1) != 0) {
    bytes = framed(rest);
  } else {
    for (const uint8_t byte : rest) bytes.push_back(static_cast<std::byte>(byte));
  }
  const auto image = row_image_from_bytes(bytes);
  if (!image) {
    require(!image.error().message.empty());
    return 0;
  }
  require(to_bytes(*image) == bytes);
  adopt(*image, flags);
  return 0;
}
