// Hashes against published values.
#include "base/hash.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace kvern {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string sha256_hex(std::string_view text) { return to_hex(sha256(bytes_of(text))); }

TEST(Sha256, gives_the_digests_of_the_standard) {
  // FIPS 180-4 examples, as published by NIST (csrc.nist.gov, "SHA256.pdf"), and the empty message.
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, does_not_depend_on_how_the_data_is_cut) {
  const std::string text(1000, 'a');
  for (const size_t cut : {0, 1, 55, 56, 63, 64, 65, 999, 1000}) {
    Sha256 hash;
    hash.update(bytes_of(text).first(cut));
    hash.update(bytes_of(text).subspan(cut));
    EXPECT_EQ(to_hex(hash.finish()), sha256_hex(text)) << cut;
  }
}

TEST(Sha256, is_as_new_after_finish_and_can_be_moved) {
  Sha256 first;
  first.update(bytes_of("something"));
  static_cast<void>(first.finish());
  Sha256 second = std::move(first);
  second.update(bytes_of("abc"));
  EXPECT_EQ(to_hex(second.finish()), sha256_hex("abc"));
}

TEST(Xxh3, gives_the_published_values) {
  // xxhash's own sanity check (github.com/Cyan4973/xxHash, tests/sanity_test_vectors.h): XXH3_64bits of
  // nothing, seed 0.
  EXPECT_EQ(xxh3_64({}), 0x2D06800538D394C2u);
  EXPECT_NE(xxh3_64(bytes_of("a")), xxh3_64(bytes_of("b")));
}

TEST(ToHex, writes_two_digits_a_byte) {
  EXPECT_EQ(to_hex({}), "");
  EXPECT_EQ(to_hex(bytes_of(std::string("\x00\x09\x0a\xff", 4))), "00090aff");
}

TEST(ModelFingerprint, is_equal_when_its_digest_is) {
  const ModelFingerprint a{sha256(bytes_of("a"))};
  EXPECT_EQ(a, ModelFingerprint{sha256(bytes_of("a"))});
  EXPECT_NE(a, ModelFingerprint{sha256(bytes_of("b"))});
  EXPECT_EQ(a.to_string(), sha256_hex("a"));
}

TEST(Xxh3, gives_the_published_digest_of_nothing_in_128_bits) {
  // What `xxhsum -H2` prints for an empty file.
  EXPECT_EQ(to_hex(xxh3_128({})), "99aa06d3014798d86001c324468d497f");
}

TEST(Xxh3, of_128_bits_does_not_depend_on_how_the_data_is_cut) {
  const std::string text(1000, 'a');
  const std::span<const std::byte> whole[] = {bytes_of(text)};
  for (const size_t cut : {0, 1, 63, 64, 240, 999, 1000}) {
    const std::span<const std::byte> parts[] = {bytes_of(text).first(cut), bytes_of(text).subspan(cut)};
    EXPECT_EQ(xxh3_128(parts), xxh3_128(whole)) << cut;
  }
}

}  // namespace
}  // namespace kvern
