#include "store/transfer/export_entries.h"

#include <unordered_set>
#include <utility>
#include <vector>

#include "store/block/manifest_format.h"

namespace kvern::store {
namespace {

using Names = std::unordered_set<ContentName, ContentNameHash>;

/// An entry and those of its blocks that no entry before it has.
struct PlannedEntry {
  ContentName manifest;
  std::vector<ContentName> blocks;
};

struct Plan {
  ExportHeader header{.file_bytes = export_frame_bytes()};
  std::vector<PlannedEntry> entries;
};

Status plan_entry(DiskStore& store, const ContentName& name, Names& seen, Plan& plan) {
  KVERN_TRY(const AlignedBuffer bytes, store.manifest_file(name));
  KVERN_TRY(const Manifest manifest, decode_manifest(name, bytes.bytes()));
  PlannedEntry& entry = plan.entries.emplace_back(PlannedEntry{.manifest = name, .blocks = {}});
  for (size_t i = 0; i < manifest.pieces.size(); ++i) {
    const ManifestPiece& piece = manifest.pieces[i];
    if (!piece.block || !seen.insert(*piece.block).second) continue;
    plan.header.file_bytes += record_bytes(block_bytes_of(manifest, i));
    ++plan.header.blocks;
    entry.blocks.push_back(*piece.block);
  }
  plan.header.file_bytes += record_bytes(bytes.size());
  ++plan.header.entries;
  return Ok{};
}

}  // namespace

Result<TransferReport> export_entries(DiskStore& store, std::span<const ContentName> entries,
                                      const ByteSink& sink, const Progress& progress) {
  Plan plan;
  Names seen;
  for (const ContentName& name : entries) {
    if (seen.insert(name).second) KVERN_TRY_STATUS(plan_entry(store, name, seen, plan));
  }
  ExportWriter writer(sink);
  const auto go_on = [&]() -> Status {
    if (!progress ||
        progress(static_cast<int64_t>(writer.written()), static_cast<int64_t>(plan.header.file_bytes)))
      return Ok{};
    return fail(ErrorCode::kCancelled, "the export was interrupted");
  };
  KVERN_TRY_STATUS(writer.begin(plan.header));
  for (const PlannedEntry& entry : plan.entries) {
    for (const ContentName& block : entry.blocks) {
      KVERN_TRY(const AlignedBuffer bytes, store.block_file(block));
      KVERN_TRY_STATUS(writer.add(RecordKind::kBlock, block, bytes.bytes()));
      KVERN_TRY_STATUS(go_on());
    }
    KVERN_TRY(const AlignedBuffer bytes, store.manifest_file(entry.manifest));
    KVERN_TRY_STATUS(writer.add(RecordKind::kManifest, entry.manifest, bytes.bytes()));
    KVERN_TRY_STATUS(go_on());
  }
  KVERN_TRY_STATUS(writer.end());
  return TransferReport{
      .entries = plan.header.entries, .blocks = plan.header.blocks, .bytes = plan.header.file_bytes};
}

}  // namespace kvern::store
