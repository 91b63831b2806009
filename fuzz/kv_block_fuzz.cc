// Blocks: any bytes, or, with an odd first byte, bytes whose checksum is put right. What is read is written
// back as it was.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "store/block/block_format.h"
#include "store/block/checksum.h"

namespace {

using namespace kvern;
using namespace kvern::store;

constexpr size_t kChecksumAt = 160;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // Files are whole sectors; a short input stands for one that ends with zeros.
  AlignedBuffer buffer(io_round_up(size - 1));
  const std::span<std::byte> bytes = buffer.bytes();
  std::ranges::fill(bytes, std::byte{0});
  std::ranges::copy(std::as_bytes(std::span(data + 1, size - 1)), bytes.begin());
  ContentName name;
  const bool sealed = (data[0] & 1) != 0 && bytes.size() >= kChecksumAt + kChecksumBytes;
  if (sealed) name = seal(bytes, kChecksumAt);
  const auto view = decode_block(name, bytes, BlockCheck::kName);
  if (!view) {
    require(!view.error().message.empty());
    return 0;
  }
  require(sealed);
  BlockBuilder again(view->info, view->payload.size());
  std::ranges::copy(view->payload, again.payload().begin());
  again.finish();
  require(again.bytes().size() == bytes.size());
  // All but the versions and the checksum: which writer made it is not kept.
  require(std::ranges::equal(again.bytes().first(8), bytes.first(8)));
  require(
      std::ranges::equal(again.bytes().subspan(16, kChecksumAt - 16), bytes.subspan(16, kChecksumAt - 16)));
  constexpr size_t kBehind = kChecksumAt + kChecksumBytes;
  require(std::ranges::equal(again.bytes().subspan(kBehind), bytes.subspan(kBehind)));
  return 0;
}
