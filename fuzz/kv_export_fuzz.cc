// Files of exported prefixes: any bytes, or, by the first byte, bytes whose header and record heads get the
// checksums that belong to them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "base/hash.h"
#include "store/transfer/export_format.h"

namespace {

using namespace kvern;
using namespace kvern::store;

constexpr size_t kHead = 64;
constexpr size_t kChecksumAt = 48;

void require(bool holds) {
  if (!holds) std::abort();
}

void seal_head(std::span<std::byte> head) {
  const std::span<const std::byte> covered[] = {head.first(kChecksumAt)};
  const auto checksum = xxh3_128(covered);
  std::ranges::copy(checksum, head.begin() + kChecksumAt);
}

// Follows the records as far as they go.
void seal_all(std::span<std::byte> bytes) {
  if (bytes.size() < kHead) return;
  const uint64_t size = bytes.size();
  std::memcpy(bytes.data() + 24, &size, sizeof size);
  seal_head(bytes.first(kHead));
  size_t at = kHead;
  while (bytes.size() - at >= kHead) {
    seal_head(bytes.subspan(at, kHead));
    uint64_t content = 0;
    std::memcpy(&content, bytes.data() + at + 8, sizeof content);
    if (content > bytes.size() || record_bytes(content) > bytes.size() - at) return;
    at += record_bytes(content);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span(data + 1, size - 1));
  std::vector<std::byte> bytes(rest.begin(), rest.end());
  if ((data[0] & 1) != 0) seal_all(bytes);
  size_t at = 0;
  auto reader = ExportReader::open([&](std::span<std::byte> out) -> Status {
    if (out.size() > bytes.size() - at) return fail(ErrorCode::kCorrupt, "cut off");
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), out.size(), out.begin());
    at += out.size();
    return Ok{};
  });
  if (!reader) {
    require(!reader.error().message.empty());
    return 0;
  }
  // What is read is within the file, and ends only when all sums came out.
  while (true) {
    const auto record = reader->next();
    require(reader->taken() == at && at <= bytes.size());
    if (!record || !*record) {
      if (record) require(at == reader->header().file_bytes);
      return 0;
    }
  }
}
