#include "model/fingerprint.h"

#include <cstring>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace kvern::model {
namespace {

constexpr size_t kWholeBytes = size_t{64} << 10;
constexpr size_t kPageBytes = size_t{4} << 10;
constexpr size_t kPages = 16;

using Bytes = std::span<const std::byte>;

void update(Sha256& hash, std::string_view text) { hash.update(std::as_bytes(std::span(text))); }

Sha256Digest sample(Bytes bytes) {
  if (bytes.size() <= kWholeBytes) return sha256(bytes);
  Sha256 hash;
  const size_t last = bytes.size() - kPageBytes;
  for (size_t i = 0; i < kPages; ++i) {
    // i * last would overflow only for tensors beyond 2^60 bytes.
    hash.update(bytes.subspan(i * last / (kPages - 1), kPageBytes));
  }
  return hash.finish();
}

ModelFingerprint combine(const TensorSource& source, const ModelConfig& config, std::string_view content,
                         std::span<const Sha256Digest> digests) {
  Sha256 hash;
  // Lengths before each part keep one part's end from passing for another's beginning.
  const std::string facts = config_facts(config);
  update(hash, fmt::format("kvern model 1\ncontent={}\nfacts {}\n{}", content, facts.size(), facts));
  for (size_t i = 0; i < digests.size(); ++i) {
    const StoredTensor& tensor = source.list()[i];
    update(hash, fmt::format("tensor {} {} {} {}\n", tensor.name.size(), tensor.name, type_name(tensor),
                             shape_text(tensor.shape)));
    hash.update(digests[i]);
  }
  return ModelFingerprint{hash.finish()};
}

}  // namespace

Result<ModelFingerprint> sampled_fingerprint(const TensorSource& source, const ModelConfig& config) {
  KVERN_TRY_STATUS(source.check_unchanged());
  std::vector<Sha256Digest> digests;
  digests.reserve(source.list().size());
  for (const StoredTensor& tensor : source.list()) digests.push_back(sample(tensor.bytes));
  return combine(source, config, "sampled", digests);
}

Result<ModelFingerprint> full_fingerprint(const TensorSource& source, const ModelConfig& config,
                                          compute::ThreadPool& pool) {
  KVERN_TRY_STATUS(source.check_unchanged());
  std::vector<Sha256Digest> digests(source.list().size());
  pool.run(static_cast<int64_t>(digests.size()), [&](int64_t i, int) {
    digests[static_cast<size_t>(i)] = sha256(source.list()[static_cast<size_t>(i)].bytes);
  });
  return combine(source, config, "full", digests);
}

}  // namespace kvern::model
