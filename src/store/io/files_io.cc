#include <string>

#include "store/io/block_io.h"

namespace kvern::store {
namespace {

class FilesIo final : public BlockIo {
 public:
  explicit FilesIo(Files& files) : files_(files) {}

  void read(std::span<BlockRead> reads) override {
    for (BlockRead& r : reads) r.status = read_one(r);
  }
  void write(std::span<BlockWrite> writes) override {
    for (BlockWrite& w : writes) w.status = write_one(w);
  }
  std::string description() const override { return "plain reads and writes"; }

 private:
  Status read_one(BlockRead& r) {
    KVERN_TRY(const auto file, open_stored(files_, r.path));
    KVERN_TRY(const uint64_t size, file->size());
    if (size != r.buffer.size()) {
      return fail(
          ErrorCode::kCorrupt,
          "the file has " + std::to_string(size) + " bytes and not " + std::to_string(r.buffer.size()),
          r.path);
    }
    return file->read_at(0, r.buffer.bytes());
  }

  Status write_one(const BlockWrite& w) {
    KVERN_TRY(const auto file, files_.open(w.path, OpenMode::kCreate));
    KVERN_TRY_STATUS(file->write_at(0, w.bytes));
    return file->sync();
  }

  Files& files_;
};

}  // namespace

Result<std::unique_ptr<File>> open_stored(Files& files, const std::string& path) {
  auto file = files.open(path, OpenMode::kRead);
  if (!file && file.error().code == ErrorCode::kInvalidArgument) file.error().code = ErrorCode::kCorrupt;
  return file;
}

std::unique_ptr<BlockIo> make_files_io(Files& files) { return std::make_unique<FilesIo>(files); }

}  // namespace kvern::store
