// Manifests: any bytes, or, by the first byte, bytes whose checksum and sizes are put right. What is read can
// be written, and reads as the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "store/block/checksum.h"
#include "store/block/manifest_format.h"

namespace {

using namespace kvern;
using namespace kvern::store;

constexpr size_t kChecksumAt = 208;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span(data + 1, size - 1));
  std::vector<std::byte> bytes(rest.begin(), rest.end());
  ContentName name;
  if ((data[0] & 1) != 0 && bytes.size() >= 256) {
    const uint64_t file_bytes = bytes.size();
    std::memcpy(bytes.data() + 16, &file_bytes, sizeof file_bytes);
    name = seal(bytes, kChecksumAt);
  }
  const auto manifest = decode_manifest(name, bytes, BlockCheck::kName);
  if (!manifest) {
    require(!manifest.error().message.empty());
    return 0;
  }
  const EncodedManifest again = encode_manifest(*manifest);
  require(again.bytes.size() == bytes.size());
  const auto twice = decode_manifest(again.name, again.bytes, BlockCheck::kName);
  require(twice.has_value());
  require(encode_manifest(*twice).bytes == again.bytes);
  return 0;
}
