#include "store/transfer/import_entries.h"

#include <algorithm>
#include <string>
#include <utility>

#include "store/block/manifest_format.h"
#include "store/disk/entry_parts.h"

namespace kvern::store {
namespace {

Status check_welcome(const ContentName& name, const Manifest& manifest, const ImportOptions& options) {
  if (options.model && manifest.model != *options.model) {
    return fail(ErrorCode::kInvalidArgument,
                "this prefix is of the model " + manifest.model.to_string() + ", and wanted is one of " +
                    options.model->to_string(),
                name.to_string());
  }
  if (!options.space || has_identity(manifest, *options.space)) return Ok{};
  if (manifest.root != options.space->root) {
    return fail(
        ErrorCode::kInvalidArgument,
        "this prefix is of the same model, but of another tokenizer, type of keys and values, adapter "
        "or client: it belongs to " +
            to_hex(manifest.root) + ", and wanted is one of " + to_hex(options.space->root),
        name.to_string());
  }
  return fail(ErrorCode::kInvalidArgument, "what this prefix says of whose it is contradicts itself",
              name.to_string());
}

Status check_tokens(const ContentName& name, const Manifest& manifest, int64_t vocabulary) {
  const auto& tokens = manifest.tokens;
  const auto bad =
      std::ranges::find_if(tokens, [&](int32_t token) { return token < 0 || token >= vocabulary; });
  if (bad == tokens.end()) return Ok{};
  return fail(ErrorCode::kInvalidArgument,
              "token " + std::to_string(bad - tokens.begin()) + " of this prefix is " + std::to_string(*bad) +
                  ", and ids of tokens are 0 to " + std::to_string(vocabulary - 1),
              name.to_string());
}

}  // namespace

Result<IncomingReport> import_entries(DiskStore& store, const ByteSource& source,
                                      const ImportOptions& options, const Progress& progress) {
  KVERN_TRY(ExportReader reader, ExportReader::open(source));
  KVERN_TRY(IncomingEntries incoming, IncomingEntries::begin(store));
  while (true) {
    KVERN_TRY(auto record, reader.next());
    if (!record) break;
    if (record->kind == RecordKind::kBlock) {
      KVERN_TRY_STATUS(incoming.add_block(record->name, record->content));
    } else {
      KVERN_TRY(const Manifest manifest, decode_manifest(record->name, record->content));
      KVERN_TRY_STATUS(check_welcome(record->name, manifest, options));
      KVERN_TRY_STATUS(check_tokens(record->name, manifest, options.vocabulary));
      KVERN_TRY_STATUS(incoming.add_manifest(record->name, std::move(record->content)));
    }
    if (progress &&
        !progress(static_cast<int64_t>(reader.taken()), static_cast<int64_t>(reader.header().file_bytes)))
      return fail(ErrorCode::kCancelled, "the import was interrupted");
  }
  return incoming.commit(options.pinned);
}

}  // namespace kvern::store
