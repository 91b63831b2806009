#include "base/hash.h"

#include <cstring>
#include <string_view>
#include <utility>

#include <openssl/evp.h>
#include <xxhash.h>

#include "base/check.h"

namespace kvern {

struct Sha256::Impl {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

// libcrypto fails here only when out of memory or built without SHA-256; neither is a caller's to handle.
Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  KVERN_CHECK(impl_->context != nullptr);
  KVERN_CHECK(EVP_DigestInit_ex(impl_->context.get(), EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> data) {
  KVERN_CHECK(EVP_DigestUpdate(impl_->context.get(), data.data(), data.size()) == 1);
}

Sha256Digest Sha256::finish() {
  Sha256Digest digest;
  unsigned int size = 0;
  KVERN_CHECK(
      EVP_DigestFinal_ex(impl_->context.get(), reinterpret_cast<unsigned char*>(digest.data()), &size) == 1);
  KVERN_CHECK(size == digest.size());
  KVERN_CHECK(EVP_DigestInit_ex(impl_->context.get(), EVP_sha256(), nullptr) == 1);
  return digest;
}

Sha256Digest sha256(std::span<const std::byte> data) {
  Sha256 hash;
  hash.update(data);
  return hash.finish();
}

uint64_t xxh3_64(std::span<const std::byte> data) { return XXH3_64bits(data.data(), data.size()); }

Xxh3Digest128 xxh3_128(std::span<const std::span<const std::byte>> parts) {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  const std::unique_ptr<XXH3_state_t, Free> state(XXH3_createState());
  KVERN_CHECK(state != nullptr && XXH3_128bits_reset(state.get()) == XXH_OK);
  for (const auto& part : parts) {
    KVERN_CHECK(XXH3_128bits_update(state.get(), part.data(), part.size()) == XXH_OK);
  }
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state.get()));
  Xxh3Digest128 digest;
  std::memcpy(digest.data(), canonical.digest, digest.size());
  return digest;
}

std::string to_hex(std::span<const std::byte> data) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(data.size() * 2);
  for (const std::byte byte : data) {
    text += kDigits[std::to_integer<size_t>(byte >> 4)];
    text += kDigits[std::to_integer<size_t>(byte & std::byte{15})];
  }
  return text;
}

}  // namespace kvern
