// Whole files in and out, several at a time.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/files.h"
#include "base/result.h"
#include "store/block/aligned_buffer.h"

namespace kvern::store {

/// A file of known size to read. `status` says how it went.
struct BlockRead {
  std::string path;
  AlignedBuffer buffer;  ///< as large as the file must be; the content where status is Ok
  Status status = Ok{};
};

/// A file to make, or to overwrite, and to make durable; its name is not yet.
struct BlockWrite {
  std::string path;
  /// At an address that is a multiple of kIoAlignment, a multiple of it long, or for files of any size:
  /// anywhere.
  std::span<const std::byte> bytes;
  Status status = Ok{};
};

/// Opens a file of the store to be read. What lies in its place and is none, a directory or a pipe, is damage
/// like any other: kCorrupt.
Result<std::unique_ptr<File>> open_stored(Files& files, const std::string& path);

/// Thread-safe. A file of another size than wanted, or what is no file, is kCorrupt.
class BlockIo {
 public:
  virtual ~BlockIo() = default;
  virtual void read(std::span<BlockRead> reads) = 0;
  virtual void write(std::span<BlockWrite> writes) = 0;
  /// "io_uring, direct" and the like, for people.
  virtual std::string description() const = 0;
};

/// One after the other through `files`, which are borrowed.
std::unique_ptr<BlockIo> make_files_io(Files& files);
/// The best way that the machine has to the operating system's files; for other files make_files_io.
std::unique_ptr<BlockIo> make_block_io(Files& files);

}  // namespace kvern::store
