// Both ways of reading and writing whole files keep one contract, on the operating system's files.
#include "store/io/block_io.h"

#include <algorithm>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/memory_files.h"
#include "store/samples.h"
#include "support/result_matchers.h"
#include "support/temporary_directory.h"

namespace kvern::store {
namespace {

class BlockIoContract : public testing::TestWithParam<std::unique_ptr<BlockIo> (*)(Files&)> {
 protected:
  AlignedBuffer buffer(size_t bytes, uint64_t seed) const {
    AlignedBuffer made(bytes);
    std::ranges::copy(test::sample_bytes(bytes, seed), made.bytes().begin());
    return made;
  }
  std::string path(size_t i) const { return directory_.file(std::to_string(i)); }

  kvern::test::TemporaryDirectory directory_;
  std::unique_ptr<Files> files_ = make_posix_files();
  std::unique_ptr<BlockIo> io_ = GetParam()(*files_);
};

TEST_P(BlockIoContract, WritesAndReadsManyFilesOfAllSizes) {
  const size_t sizes[] = {4096, 8192, 3 << 20, (1 << 20) + 4096, 5000, 1, 4096 * 3 + 17, 40 << 12};
  std::vector<AlignedBuffer> contents;
  std::vector<BlockWrite> writes;
  for (size_t i = 0; i < std::size(sizes); ++i) {
    contents.push_back(buffer(sizes[i], i));
    writes.push_back({.path = path(i), .bytes = contents.back().bytes()});
  }
  io_->write(writes);
  for (const BlockWrite& write : writes) EXPECT_OK(write.status);
  for (const bool cached : {false, true}) {
    std::vector<BlockRead> reads;
    for (size_t i = 0; i < std::size(sizes); ++i) {
      // Plain reads bring a file into the page cache.
      if (cached) {
        EXPECT_TRUE(read_file(*files_, path(i), 1 << 30).has_value());
      }
      reads.push_back({.path = path(i), .buffer = AlignedBuffer(sizes[i])});
    }
    io_->read(reads);
    for (size_t i = 0; i < reads.size(); ++i) {
      ASSERT_OK(reads[i].status);
      EXPECT_TRUE(std::ranges::equal(reads[i].buffer.bytes(), contents[i].bytes())) << i;
    }
  }
  EXPECT_FALSE(io_->description().empty());
}

TEST_P(BlockIoContract, OverwritesAndTakesBytesFromAnywhere) {
  const auto bytes = test::sample_bytes(10000, 1);
  BlockWrite write{.path = path(0), .bytes = std::span(bytes).subspan(3, 4096)};
  io_->write({&write, 1});
  ASSERT_OK(write.status);
  write.bytes = std::span(bytes).subspan(1, 100);
  io_->write({&write, 1});
  ASSERT_OK(write.status);
  EXPECT_EQ(read_file(*files_, path(0), 1 << 20)->size(), 100U);
}

TEST_P(BlockIoContract, SaysWhatIsWrongWithEachFile) {
  AlignedBuffer content = buffer(8192, 1);
  BlockWrite write{.path = path(0), .bytes = content.bytes()};
  io_->write({&write, 1});
  ASSERT_OK(write.status);
  std::vector<BlockRead> reads;
  for (const size_t size : {8192, 4096, 12288, 0})
    reads.push_back({.path = path(0), .buffer = AlignedBuffer(size)});
  reads.push_back({.path = path(1), .buffer = AlignedBuffer(4096)});
  reads.push_back({.path = directory_.path(), .buffer = AlignedBuffer(4096)});
  ASSERT_EQ(::mkfifo(path(2).c_str(), 0600), 0);  // a read must not wait for whoever writes to it
  reads.push_back({.path = path(2), .buffer = AlignedBuffer(4096)});
  io_->read(reads);
  EXPECT_OK(reads[0].status);
  for (const size_t i : {1, 2, 3}) EXPECT_ERROR(reads[i].status, kCorrupt, "8192 bytes");
  EXPECT_ERROR(reads[4].status, kNotFound, "No such file");
  for (const size_t i : {5, 6}) EXPECT_ERROR(reads[i].status, kCorrupt, i == 5 ? "" : "not a regular file");
  BlockWrite nowhere{.path = path(7) + "/x", .bytes = content.bytes()};
  io_->write({&nowhere, 1});
  EXPECT_FALSE(nowhere.status.has_value());
}

TEST_P(BlockIoContract, IsUsedByManyThreads) {
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t round = 0; round < 5; ++round) {
        AlignedBuffer content = buffer(1 << 18, t * 10 + round);
        BlockWrite write{.path = path(t), .bytes = content.bytes()};
        io_->write({&write, 1});
        BlockRead read{.path = path(t), .buffer = AlignedBuffer(1 << 18)};
        io_->read({&read, 1});
        EXPECT_OK(read.status);
        EXPECT_TRUE(std::ranges::equal(read.buffer.bytes(), content.bytes()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Ways, BlockIoContract, testing::Values(&make_files_io, &make_block_io));

TEST(BlockIo, UsesOtherFilesOneAfterTheOther) {
  const auto files = make_memory_files();
  EXPECT_EQ(make_block_io(*files)->description(), make_files_io(*files)->description());
}

}  // namespace
}  // namespace kvern::store
