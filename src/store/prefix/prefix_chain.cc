#include "store/prefix/prefix_chain.h"

#include <bit>
#include <cstring>

#include "base/check.h"

namespace kvern::store {

static_assert(std::endian::native == std::endian::little, "tokens are hashed as memory holds them");

std::vector<Sha256Digest> prefix_chain(const Sha256Digest& root, std::span<const int32_t> tokens,
                                       const ChainOptions& options) {
  KVERN_CHECK(options.page > 0);
  const auto page = static_cast<size_t>(options.page);
  std::vector<Sha256Digest> links = {root};
  links.reserve(tokens.size() / page + 1);
  std::vector<std::byte> bytes(root.size() + page * sizeof(int32_t));
  for (size_t at = 0; at + page <= tokens.size(); at += page) {
    std::memcpy(bytes.data(), links.back().data(), root.size());
    std::memcpy(bytes.data() + root.size(), tokens.data() + at, page * sizeof(int32_t));
    links.push_back(options.hash(bytes));
  }
  return links;
}

}  // namespace kvern::store
