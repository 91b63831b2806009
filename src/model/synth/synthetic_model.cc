#include "model/synth/synthetic_model.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "compute/threads/pool.h"
#include "model/printable.h"
#include "model/synth/quantize.h"
#include "model/synth/synthetic_tensors.h"
#include "model/synth/vocabulary.h"

namespace kvern::model {
namespace {

using compute::DType;

// Elements that one task makes and encodes at a time: 256 KiB of floats stay in a core's cache.
constexpr int64_t kTaskElements = int64_t{1} << 16;
// Bytes of encoded rows that are gathered before they are written.
constexpr size_t kBatchBytes = size_t{8} << 20;

// llama_ftype of llama.h: what most of the file's tensors are.
uint32_t file_type(DType type) {
  switch (type) {
    case DType::kF32:
      return 0;
    case DType::kF16:
      return 1;
    case DType::kQ4_0:
      return 2;
    case DType::kQ4_1:
      return 3;
    case DType::kQ8_0:
      return 7;
    case DType::kQ5_0:
      return 8;
    case DType::kQ5_1:
      return 9;
    case DType::kQ4_K:
      return 14;
    case DType::kQ5_K:
      return 16;
    case DType::kQ6_K:
      return 18;
    case DType::kBF16:
      return 32;
    case DType::kAffine4:
    case DType::kAffine8:
      break;
  }
  return 0;
}

DType stored_type(const SynthTensor& tensor, DType wanted) {
  if (tensor.shape.size() == 1) return DType::kF32;
  for (const DType type : {wanted, DType::kQ8_0})
    if (tensor.shape.back() % compute::traits(type).block_elements == 0) return type;
  return DType::kF16;
}

std::string preset_names() {
  std::string names;
  for (const SynthPreset& preset : synth_presets())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", preset.name);
  return names;
}

// Makes the rows of one tensor after the other and hands them to the writer.
class TensorMaker {
 public:
  TensorMaker(GgufWriter& writer, const SynthOptions& options)
      : writer_(writer), options_(options), pool_(options.threads) {
    scratch_.resize(static_cast<size_t>(options.threads));
  }

  Status write(const SynthTensor& tensor, DType type, uint64_t index) {
    if (!tensor.values.empty()) return writer_.write(std::as_bytes(std::span(tensor.values)));
    const int64_t cols = tensor.shape.back();
    const int64_t rows = tensor.shape.size() == 1 ? 1 : tensor.shape.front();
    const size_t stride = compute::row_bytes(type, cols);
    const int64_t batch_rows = std::max<int64_t>(1, static_cast<int64_t>(kBatchBytes / stride));
    for (int64_t first = 0; first < rows; first += batch_rows) {
      if (options_.is_cancelled && options_.is_cancelled())
        return fail(ErrorCode::kCancelled, "interrupted before it was complete", options_.path);
      const int64_t count = std::min(batch_rows, rows - first);
      encoded_.resize(static_cast<size_t>(count) * stride);
      encode(tensor, type, {.seed = options_.seed, .tensor = index}, {first, count});
      KVERN_TRY_STATUS(writer_.write(encoded_));
    }
    return Ok{};
  }

 private:
  struct Rows {
    int64_t first;
    int64_t count;
  };

  // Rows [first, first + count) into encoded_.
  void encode(const SynthTensor& tensor, DType type, RandomKey key, Rows rows) {
    const int64_t cols = tensor.shape.back();
    const size_t stride = compute::row_bytes(type, cols);
    const int64_t step = std::max<int64_t>(1, kTaskElements / cols);
    pool_.run((rows.count + step - 1) / step, [&](int64_t task, int thread) {
      std::vector<float>& row = scratch_[static_cast<size_t>(thread)];
      row.resize(static_cast<size_t>(cols));
      for (int64_t r = task * step; r < std::min(rows.count, (task + 1) * step); ++r) {
        fill_random(key, static_cast<uint64_t>((rows.first + r) * cols), tensor.distribution, row);
        encode_row(type, row, std::span(encoded_).subspan(static_cast<size_t>(r) * stride, stride));
      }
    });
  }

  GgufWriter& writer_;
  const SynthOptions& options_;
  compute::ThreadPool pool_;
  std::vector<std::vector<float>> scratch_;  // one row for each thread
  std::vector<std::byte> encoded_;
};

Result<SynthReport> write_file(Files& files, const SynthPreset& preset, const SynthOptions& options,
                               const std::string& path) {
  SynthReport report;
  GgufWriter writer;
  add_synth_metadata(preset, writer);
  writer.add_u32("general.file_type", file_type(options.type));
  add_vocabulary(make_synth_vocabulary(preset.vocab), preset.pretokenizer, writer);
  const std::vector<SynthTensor> tensors = synth_tensors(preset);
  for (const SynthTensor& tensor : tensors) {
    const DType type = stored_type(tensor, options.type);
    if (type != options.type && tensor.shape.size() > 1) report.fallbacks.push_back({tensor.name, type});
    writer.add_tensor(tensor.name, type, tensor.shape);
    report.parameters +=
        static_cast<uint64_t>(tensor.shape.front() * (tensor.shape.size() > 1 ? tensor.shape.back() : 1));
  }
  KVERN_TRY_STATUS(writer.begin(files, path));
  TensorMaker maker(writer, options);
  for (size_t i = 0; i < tensors.size(); ++i)
    KVERN_TRY_STATUS(maker.write(tensors[i], stored_type(tensors[i], options.type), i));
  KVERN_TRY(report.bytes, writer.finish());
  return report;
}

}  // namespace

Result<SynthReport> write_synthetic_model(Files& files, const SynthOptions& options) {
  const SynthPreset* preset = find_synth_preset(options.preset);
  if (preset == nullptr)
    return fail(ErrorCode::kInvalidArgument, fmt::format("there is no preset {}; there are {}",
                                                         printable(options.preset), preset_names()));
  if (options.type == DType::kAffine4 || options.type == DType::kAffine8)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a GGUF file cannot hold {}", compute::traits(options.type).name));
  if (options.threads < 1)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} threads", options.threads));
  const auto kind = files.kind(options.path);
  if (kind && *kind == FileKind::kDirectory)
    return fail(ErrorCode::kInvalidArgument, "is a directory, not a file", options.path);
  if (kind && *kind == FileKind::kSpecial) return write_file(files, *preset, options, options.path);
  const std::string partial = options.path + ".part";
  auto report = write_file(files, *preset, options, partial);
  Status renamed = report ? files.rename(partial, options.path) : Status(Ok{});
  if (report && renamed) return report;
  static_cast<void>(files.remove(partial));
  return std::unexpected(report ? renamed.error() : report.error());
}

}  // namespace kvern::model
