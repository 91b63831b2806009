// Files of exported prefixes: what is written is read, and nothing else is.
#include "store/transfer/export_format.h"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "store/transfer/transfers.h"
#include "support/result_matchers.h"

namespace kvern::store {
namespace {

using test::Bytes;

constexpr size_t kPage = 64;

// Reads to the end; how many blocks and manifests.
Result<std::pair<int, int>> read_all(const Bytes& bytes) {
  KVERN_TRY(ExportReader reader, ExportReader::open(test::source_of(bytes)));
  std::pair<int, int> counts;
  while (true) {
    KVERN_TRY(const auto record, reader.next());
    if (!record) break;
    ++(record->kind == RecordKind::kBlock ? counts.first : counts.second);
  }
  EXPECT_EQ(reader.taken(), bytes.size());
  return counts;
}

Bytes sample_file() {
  test::Place place;
  place.options.chain.page = kPage;
  const auto store = *place.open();
  static_cast<void>(test::SampleEntries().put(*store));
  return test::exported(*store);
}

Bytes file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(ExportFormat, IsReadAsItWasWritten) {
  const Bytes bytes = sample_file();
  ASSERT_OK_AND_ASSIGN(const auto counts, read_all(bytes));
  // 2 and 1 pages, one of them in common, a page of a window, a page of the third.
  EXPECT_EQ(counts, std::pair(3, 3));
  ASSERT_OK_AND_ASSIGN(const ExportReader reader, ExportReader::open(test::source_of(bytes)));
  EXPECT_EQ(reader.header(), (ExportHeader{.entries = 3, .blocks = 3, .file_bytes = bytes.size()}));
}

TEST(ExportFormat, OfVersionOneOpensForEver) {
  const Bytes bytes = file_bytes(KVERN_TEST_DATA_DIR "/formats/kv-export-1.kvx");
  ASSERT_OK_AND_ASSIGN(const auto counts, read_all(bytes));
  EXPECT_EQ(counts, std::pair(3, 3));
  EXPECT_EQ(bytes, sample_file());
}

// Makes the golden file of a new version: run with --gtest_also_run_disabled_tests.
TEST(ExportFormat, DISABLED_WritesItsGoldenFile) {
  const Bytes bytes = sample_file();
  std::ofstream out(KVERN_TEST_DATA_DIR "/formats/kv-export-1.kvx", std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

TEST(ExportFormat, OfALaterFormatSaysSo) {
  Bytes bytes = sample_file();
  bytes[8] = std::byte{7};
  bytes[12] = std::byte{6};
  EXPECT_ERROR(read_all(bytes), kUnsupported, "has format 7; only format 1 can be read");
  EXPECT_ERROR(read_all(Bytes(100)), kCorrupt, "does not begin as one");
}

TEST(ExportFormat, IsRefusedWithAnyByteChanged) {
  const Bytes good = sample_file();
  for (size_t at = 0; at < good.size(); at += at < 512 ? 1 : 37) {
    Bytes bytes = good;
    bytes[at] ^= std::byte{16};
    EXPECT_FALSE(read_all(bytes).has_value()) << "byte " << at;
  }
}

TEST(ExportFormat, IsRefusedAtEveryOtherLength) {
  const Bytes good = sample_file();
  for (size_t size = 0; size < good.size(); size += size < 256 ? 1 : 61) {
    EXPECT_FALSE(read_all(Bytes(good.begin(), good.begin() + static_cast<ptrdiff_t>(size))).has_value());
  }
  Bytes longer = good;
  longer.push_back({});
  EXPECT_ERROR(read_all(longer), kCorrupt, "behind its end");
}

// Records of a file, with what goes before and behind them.
std::vector<Bytes> records_of(const Bytes& bytes) {
  std::vector<Bytes> parts = {Bytes(bytes.begin(), bytes.begin() + 64)};
  for (size_t at = 64; at < bytes.size();) {
    uint64_t content = 0;
    std::memcpy(&content, bytes.data() + at + 8, sizeof content);
    const size_t size = record_bytes(content);
    parts.emplace_back(bytes.begin() + static_cast<ptrdiff_t>(at),
                       bytes.begin() + static_cast<ptrdiff_t>(at + size));
    at += size;
  }
  return parts;
}

TEST(ExportFormat, IsRefusedWithRecordsLeftOutSwappedOrTwice) {
  const std::vector<Bytes> good = records_of(sample_file());
  const auto joined = [](const std::vector<Bytes>& parts) {
    Bytes all;
    for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  ASSERT_EQ(good.size(), 1 + 6 + 1U);
  ASSERT_OK(read_all(joined(good)));
  for (size_t i = 1; i + 1 < good.size(); ++i) {
    auto parts = good;
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_ERROR(read_all(joined(parts)), kCorrupt, "") << "without " << i;
    parts = good;
    parts.insert(parts.begin() + static_cast<ptrdiff_t>(i), good[i]);
    EXPECT_ERROR(read_all(joined(parts)), kCorrupt, "") << "twice " << i;
    if (i + 2 == good.size()) continue;
    parts = good;
    std::swap(parts[i], parts[i + 1]);
    EXPECT_ERROR(read_all(joined(parts)), kCorrupt, "") << "swapped " << i;
  }
}

TEST(ExportFormat, TakesNoMemoryForWhatOnlyIsPromised) {
  Bytes bytes;
  ExportWriter writer(test::sink_into(bytes));
  ASSERT_OK(writer.begin({.entries = 1, .blocks = 1, .file_bytes = uint64_t{1} << 50}));
  size_t largest = 0;
  const auto source = [&, inner = test::source_of(bytes)](std::span<std::byte> out) {
    largest = std::max(largest, out.size());
    return inner(out);
  };
  Bytes record;
  ExportWriter other(test::sink_into(record));
  ASSERT_OK(other.add(RecordKind::kBlock, {}, {}));
  // A head that says 2^45 bytes, with the checksum that belongs to it.
  const uint64_t promised = uint64_t{1} << 45;
  std::memcpy(record.data() + 8, &promised, sizeof promised);
  const std::span<const std::byte> covered[] = {std::span<const std::byte>(record).first(48)};
  const auto checksum = xxh3_128(covered);
  std::copy(checksum.begin(), checksum.end(), record.begin() + 48);
  bytes.insert(bytes.end(), record.begin(), record.begin() + 64);
  ASSERT_OK_AND_ASSIGN(ExportReader reader, ExportReader::open(source));
  EXPECT_ERROR(reader.next(), kCorrupt, "cut off");
  EXPECT_LE(largest, size_t{8} << 20);
}

}  // namespace
}  // namespace kvern::store
