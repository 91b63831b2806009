#include "store/disk/entry_parts.h"

#include <algorithm>
#include <utility>

namespace kvern::store {
namespace {

PackedBlock pack_block(const BlockInfo& info, const PieceSource& source) {
  BlockBuilder block(info, static_cast<size_t>(info.positions.size()) * info.bytes_per_position);
  source.read(info.store, info.positions, block.payload());
  const ContentName name = block.finish();
  return {.name = name, .first = info.positions.begin, .bytes = block.take()};
}

}  // namespace

Result<Manifest> pack_entry(const NewEntry& entry, const PackOptions& options,
                            const std::function<Status(PackedBlock)>& take) {
  const PrefixIdentity& identity = entry.space->identity;
  Manifest m{.model = identity.model,
             .tokenizer = identity.tokenizer,
             .space = entry.space->names,
             .root = entry.space->root,
             .identity = identity.cache,
             .created_seconds = options.created_seconds,
             .page = static_cast<uint32_t>(options.page),
             .minimum_reusable = entry.minimum_reusable,
             .tokens = entry.tokens,
             .stores = entry.stores,
             .attachments = entry.attachments,
             .checkpoint = entry.checkpoint};
  for (uint32_t s = 0; s < m.stores.size(); ++s) {
    const ManifestStore& store = m.stores[s];
    if (store.kind == StateKind::kRecurrent) {
      ManifestPiece piece{.store = s, .positions = {store.held.length, store.held.length}};
      piece.data.resize(entry.uncut_bytes.at(s));
      entry.pieces->read(s, piece.positions, piece.data);
      m.pieces.push_back(std::move(piece));
      continue;
    }
    for (const state::PositionRange& range : state::held_pieces(store.store, store.held, options.page)) {
      if (entry.between_pieces) entry.between_pieces();
      ManifestPiece& piece = m.pieces.emplace_back(ManifestPiece{.store = s, .positions = range});
      if (range.size() == options.page) {
        PackedBlock block = pack_block(block_info_of(m, m.pieces.size() - 1), *entry.pieces);
        piece.block = block.name;
        KVERN_TRY_STATUS(take(std::move(block)));
      } else {
        piece.data.resize(static_cast<size_t>(range.size()) * store.store.bytes_per_position);
        entry.pieces->read(s, range, piece.data);
      }
    }
  }
  return m;
}

bool has_identity(const Manifest& m, const PrefixSpace& space) {
  return m.model == space.identity.model && m.tokenizer == space.identity.tokenizer &&
         m.space == space.names && m.root == space.root && m.identity == space.identity.cache;
}

bool is_entry_of(const Manifest& m, const WantedEntry& wanted) {
  const auto count = static_cast<size_t>(wanted.tokens);
  const bool same_tokens =
      count <= m.tokens.size() && count <= wanted.prompt.size() &&
      std::equal(wanted.prompt.begin(), wanted.prompt.begin() + wanted.tokens, m.tokens.begin());
  return has_identity(m, wanted.space) && same_tokens && m.minimum_reusable <= wanted.tokens &&
         m.page == wanted.page;
}

BlockInfo block_info_of(const Manifest& m, size_t index) {
  const ManifestPiece& piece = m.pieces.at(index);
  const ManifestStore& s = m.stores.at(piece.store);
  return {.model = m.model,
          .codec = sha256(std::as_bytes(std::span(m.identity))),
          .space = m.space,
          .kind = s.kind,
          .store = piece.store,
          .positions = piece.positions,
          .bytes_per_position = s.store.bytes_per_position,
          .geometry = s.store.text};
}

std::string_view difference(const BlockInfo& block, const BlockInfo& wanted) {
  if (block.model != wanted.model) return "of another model";
  if (block.codec != wanted.codec) return "of another type of keys and values";
  if (block.space != wanted.space) return "of another client or adapter";
  if (block.kind != wanted.kind || block.store != wanted.store || block.geometry != wanted.geometry ||
      block.bytes_per_position != wanted.bytes_per_position)
    return "of other layers";
  return "of other positions";
}

Error no_good(const ContentName& entry) {
  return {.code = ErrorCode::kCorrupt,
          .message = "what was computed from it is no number, and without it is one",
          .where = entry.to_string()};
}

size_t block_bytes_of(const Manifest& m, size_t index) {
  const ManifestPiece& piece = m.pieces.at(index);
  const state::RowStore& store = m.stores.at(piece.store).store;
  const auto payload = static_cast<size_t>(piece.positions.size()) * store.bytes_per_position;
  return block_file_bytes({.geometry = store.text}, payload);
}

void for_entries_of(std::span<const int32_t> tokens,
                    const std::function<Result<std::optional<IndexHit>>(std::span<const int32_t>)>& find,
                    const std::function<void(const ContentName&)>& put_away) {
  // The last token of a prompt is never looked for.
  std::vector<int32_t> longer(tokens.begin(), tokens.end());
  longer.push_back(-1);
  std::optional<ContentName> last;
  while (true) {
    const auto hit = find(longer);
    if (!hit || !*hit || (*hit)->tokens != std::ssize(tokens) || (*hit)->manifest == last) return;
    last = (*hit)->manifest;
    put_away(*last);
  }
}

}  // namespace kvern::store
