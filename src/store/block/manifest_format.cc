#include "store/block/manifest_format.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "store/block/checksum.h"
#include "store/block/wire.h"

namespace kvern::store {
namespace {

// As in the file.
struct Header {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t minimum_reader;
  uint64_t file_bytes;
  uint64_t data_begin;
  uint64_t tokens;
  int64_t minimum_reusable;
  int64_t created_seconds;
  uint32_t page;
  uint32_t identity_bytes;
  uint32_t stores;
  uint32_t pieces;
  uint32_t attachments;
  uint32_t checkpoints;  // 0 or 1
  std::array<std::byte, 32> model;
  std::array<std::byte, 32> tokenizer;
  std::array<std::byte, 32> space;
  std::array<std::byte, 32> root;
  std::array<std::byte, kChecksumBytes> checksum;
  std::array<std::byte, 32> reserved;
};
static_assert(sizeof(Header) == 256 && std::is_trivially_copyable_v<Header>);
static_assert(offsetof(Header, page) == 56 && offsetof(Header, model) == 80);
static_assert(offsetof(Header, checksum) == 208 && offsetof(Header, reserved) == 224);

constexpr size_t kChecksumAt = offsetof(Header, checksum);
constexpr size_t kDataAlignment = 64;
constexpr int64_t kMostPositions = int64_t{1} << 32;
constexpr uint32_t kMostPage = 1U << 20;
constexpr uint32_t kInBlock = 0;
constexpr uint32_t kInManifest = 1;

std::unexpected<Error> corrupt(const ContentName& name, std::string what) {
  return fail(ErrorCode::kCorrupt, "not a manifest of a saved prefix: " + std::move(what), name.to_string());
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

// Positions of a store are in pieces; a state that cannot be cut is one piece at the end of the row.
bool store_is_possible(const ManifestStore& s, int64_t tokens) {
  const state::RowStore& store = s.store;
  if (s.kind == StateKind::kRecurrent) {
    return store.bytes_per_position == 0 && store.origin == 0 && store.head_end == 0 &&
           s.held.length == tokens && s.held.tail_begin == 0;
  }
  return store.bytes_per_position > 0 && store.bytes_per_position < uint64_t{1} << 32 && store.origin >= 0 &&
         store.head_end >= store.origin && store.head_end <= kMostPositions && s.held.length >= 0 &&
         s.held.length <= tokens && s.held.tail_begin >= store.origin && s.held.tail_begin <= kMostPositions;
}

std::vector<state::PositionRange> expected_pieces(const ManifestStore& s, uint32_t page) {
  if (s.kind == StateKind::kRecurrent) return {{s.held.length, s.held.length}};
  return state::held_pieces(s.store, s.held, page);
}

bool is_whole_page(const state::PositionRange& range, uint32_t page) { return range.size() == page; }

// Whether the pieces are those that the stores ask for.
bool pieces_fit(const Manifest& m) {
  size_t next = 0;
  for (size_t s = 0; s < m.stores.size(); ++s) {
    for (const state::PositionRange& range : expected_pieces(m.stores[s], m.page)) {
      if (next == m.pieces.size()) return false;
      const ManifestPiece& piece = m.pieces[next++];
      if (piece.store != s || !(piece.positions == range)) return false;
      if (m.stores[s].kind == StateKind::kRecurrent) continue;
      if (piece.block.has_value() != is_whole_page(range, m.page)) return false;
      const size_t bytes = static_cast<size_t>(range.size()) * m.stores[s].store.bytes_per_position;
      if (!piece.block && piece.data.size() != bytes) return false;
    }
  }
  return next == m.pieces.size();
}

bool checkpoint_fits(const Manifest& m) {
  if (!m.checkpoint) return true;
  const Checkpoint& c = *m.checkpoint;
  const auto tokens = std::ssize(m.tokens);
  return c.prompt_tokens >= 1 && c.prompt_tokens <= tokens && c.generated_tokens == tokens - c.prompt_tokens;
}

// What holds of every manifest, whether we made it or somebody else.
bool is_possible(const Manifest& m) {
  const auto tokens = std::ssize(m.tokens);
  if (tokens > kMostPositions || m.page == 0 || m.page > kMostPage || m.minimum_reusable < 0 ||
      m.minimum_reusable > tokens) {
    return false;
  }
  const bool stores =
      std::ranges::all_of(m.stores, [&](const ManifestStore& s) { return store_is_possible(s, tokens); });
  return stores && pieces_fit(m) && checkpoint_fits(m);
}

// Where the data of pieces and attachments comes to lie.
class DataPlan {
 public:
  uint64_t add(size_t bytes) {
    const uint64_t at = end_;
    end_ = (end_ + bytes + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
    return at;
  }
  uint64_t end() const { return end_; }

 private:
  uint64_t end_ = 0;  // from where the data begins
};

void write_body(WireWriter& out, const Manifest& m, DataPlan& plan) {
  out.raw(std::as_bytes(std::span(m.identity)));
  out.raw(std::as_bytes(std::span(m.tokens)));
  for (const ManifestStore& s : m.stores) {
    out.number(s.kind);
    out.number(static_cast<uint32_t>(s.store.encoded));
    for (const int64_t n : {s.store.origin, s.store.head_end, s.held.tail_begin, s.held.length})
      out.number(n);
    out.number(static_cast<uint64_t>(s.store.bytes_per_position));
    out.text(s.store.text);
  }
  for (const ManifestPiece& piece : m.pieces) {
    out.number(piece.store);
    out.number(piece.block ? kInBlock : kInManifest);
    out.number(piece.positions.begin);
    out.number(piece.positions.end);
    if (piece.block) {
      out.raw(piece.block->digest);
    } else {
      out.number(plan.add(piece.data.size()));
      out.number(static_cast<uint64_t>(piece.data.size()));
      out.number(uint64_t{0});
      out.number(uint64_t{0});
    }
  }
  for (const Attachment& a : m.attachments) {
    out.text(a.name);
    out.number(plan.add(a.data.size()));
    out.number(static_cast<uint64_t>(a.data.size()));
  }
  if (!m.checkpoint) return;
  const Checkpoint& c = *m.checkpoint;
  out.raw(c.key);
  out.number(c.prompt_tokens);
  out.number(c.generated_tokens);
  out.number(c.pending_token);
  out.number(static_cast<uint32_t>(c.seed_was_explicit));
  out.number(c.seed);
  out.number(static_cast<uint32_t>(c.extra.size()));
  out.raw(c.extra);
}

// Where the data of pieces and attachments lies in somebody's bytes; each piece may be taken once, in order.
class DataReader {
 public:
  explicit DataReader(std::span<const std::byte> data) : data_(data) {}
  bool take(uint64_t offset, uint64_t bytes, std::vector<std::byte>& out) {
    if (offset != plan_.end() || bytes > data_.size() || offset > data_.size() - bytes) return false;
    plan_.add(static_cast<size_t>(bytes));
    if (plan_.end() > data_.size() || !all_zero(data_.subspan(offset + bytes, plan_.end() - offset - bytes)))
      return false;
    const auto from = data_.subspan(offset, bytes);
    out.assign(from.begin(), from.end());
    return true;
  }
  bool all_taken() const { return plan_.end() == data_.size(); }

 private:
  std::span<const std::byte> data_;
  DataPlan plan_;
};

bool read_store(WireReader& in, ManifestStore& s) {
  s.kind = static_cast<StateKind>(in.number<uint32_t>());
  const auto encoded = in.number<uint32_t>();
  s.store.encoded = encoded == 1;
  s.store.origin = in.number<int64_t>();
  s.store.head_end = in.number<int64_t>();
  s.held.tail_begin = in.number<int64_t>();
  s.held.length = in.number<int64_t>();
  s.store.bytes_per_position = in.number<uint64_t>();
  s.store.text = in.text();
  return in.ok() && encoded <= 1;
}

bool read_piece(WireReader& in, DataReader& data, ManifestPiece& piece) {
  piece.store = in.number<uint32_t>();
  const auto place = in.number<uint32_t>();
  piece.positions.begin = in.number<int64_t>();
  piece.positions.end = in.number<int64_t>();
  if (place == kInBlock) {
    in.array(piece.block.emplace().digest);
    return in.ok();
  }
  const auto offset = in.number<uint64_t>();
  const auto bytes = in.number<uint64_t>();
  const bool zeros = in.number<uint64_t>() == 0 && in.number<uint64_t>() == 0;
  return in.ok() && place == kInManifest && zeros && bytes > 0 && data.take(offset, bytes, piece.data);
}

bool read_attachment(WireReader& in, DataReader& data, Attachment& a) {
  a.name = in.text();
  const auto offset = in.number<uint64_t>();
  const auto bytes = in.number<uint64_t>();
  return in.ok() && data.take(offset, bytes, a.data);
}

bool read_checkpoint(WireReader& in, Checkpoint& c) {
  in.array(c.key);
  c.prompt_tokens = in.number<int64_t>();
  c.generated_tokens = in.number<int64_t>();
  c.pending_token = in.number<int32_t>();
  const auto is_explicit = in.number<uint32_t>();
  c.seed_was_explicit = is_explicit == 1;
  c.seed = in.number<uint64_t>();
  const auto extra = in.raw(in.number<uint32_t>());
  c.extra.assign(extra.begin(), extra.end());
  return in.ok() && is_explicit <= 1;
}

// Reads `count` things, none of which is announced before there are bytes for it.
template <typename T, typename Read>
bool read_all(uint32_t count, std::vector<T>& out, const Read& read) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!read(out.emplace_back())) return false;
  }
  return true;
}

// What is wrong, or an empty text.
std::string read_body(const Header& header, std::span<const std::byte> bytes, Manifest& m) {
  WireReader in(bytes.subspan(sizeof header, header.data_begin - sizeof header));
  DataReader data(bytes.subspan(header.data_begin));
  const auto identity = in.raw(header.identity_bytes);
  m.identity.assign(reinterpret_cast<const char*>(identity.data()), identity.size());
  if (header.tokens > in.left() / sizeof(int32_t)) return "it is too short for its tokens";
  const auto tokens = in.raw(header.tokens * sizeof(int32_t));
  m.tokens.resize(tokens.size() / sizeof(int32_t));
  if (!tokens.empty()) std::memcpy(m.tokens.data(), tokens.data(), tokens.size());
  if (!read_all(header.stores, m.stores, [&](ManifestStore& s) { return read_store(in, s); }))
    return "a store in it is impossible";
  if (!read_all(header.pieces, m.pieces, [&](ManifestPiece& p) { return read_piece(in, data, p); }))
    return "a piece in it is impossible";
  if (!read_all(header.attachments, m.attachments,
                [&](Attachment& a) { return read_attachment(in, data, a); }))
    return "an attachment in it is impossible";
  if (header.checkpoints == 1 && !read_checkpoint(in, m.checkpoint.emplace()))
    return "the checkpoint in it is impossible";
  if (in.left() >= kIoAlignment || !all_zero(in.raw(in.left())) || !data.all_taken())
    return "there is something where nothing may be";
  return "";
}

}  // namespace

state::RowShape Manifest::shape() const {
  state::RowShape shape{.length = static_cast<int64_t>(tokens.size()), .stores = {}};
  for (const ManifestStore& s : stores) shape.stores.push_back(s.held);
  return shape;
}

EncodedManifest encode_manifest(const Manifest& m) {
  KVERN_CHECK(is_possible(m));
  Header header{.magic = kManifestMagic,
                .version = kManifestVersion,
                .minimum_reader = kManifestMinimumWrite,
                .file_bytes = 0,
                .data_begin = 0,
                .tokens = m.tokens.size(),
                .minimum_reusable = m.minimum_reusable,
                .created_seconds = m.created_seconds,
                .page = m.page,
                .identity_bytes = static_cast<uint32_t>(m.identity.size()),
                .stores = static_cast<uint32_t>(m.stores.size()),
                .pieces = static_cast<uint32_t>(m.pieces.size()),
                .attachments = static_cast<uint32_t>(m.attachments.size()),
                .checkpoints = m.checkpoint ? 1U : 0U,
                .model = m.model.digest,
                .tokenizer = m.tokenizer,
                .space = m.space,
                .root = m.root,
                .checksum = {},
                .reserved = {}};
  WireWriter out;
  DataPlan plan;
  out.bytes().resize(sizeof header);
  write_body(out, m, plan);
  out.align(kIoAlignment);
  header.data_begin = out.size();
  header.file_bytes = out.size() + plan.end();
  out.bytes().reserve(header.file_bytes);
  for (const ManifestPiece& piece : m.pieces) {
    out.raw(piece.data);
    out.align(kDataAlignment);
  }
  for (const Attachment& a : m.attachments) {
    out.raw(a.data);
    out.align(kDataAlignment);
  }
  KVERN_CHECK(out.size() == header.file_bytes && out.size() <= kMostManifestBytes);
  std::memcpy(out.bytes().data(), &header, sizeof header);
  const ContentName name = seal(out.bytes(), kChecksumAt);
  return {name, std::move(out.bytes())};
}

Result<Manifest> decode_manifest(const ContentName& name, std::span<const std::byte> bytes,
                                 BlockCheck check) {
  Header header;
  if (bytes.size() < sizeof header) return corrupt(name, "it is cut off");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kManifestMagic) return corrupt(name, "it does not begin as one");
  if (header.version < kManifestMinimumRead || header.minimum_reader > kManifestVersion) {
    return fail(ErrorCode::kUnsupported,
                unknown_version("this manifest", header.version, header.minimum_reader,
                                {.oldest = kManifestMinimumRead, .newest = kManifestVersion}),
                name.to_string());
  }
  if (header.file_bytes != bytes.size() || header.data_begin < sizeof header ||
      header.data_begin % kIoAlignment != 0 || header.data_begin > bytes.size() || header.checkpoints > 1) {
    return corrupt(name, "its sizes contradict each other");
  }
  if (!is_sealed(name, bytes, kChecksumAt))
    return corrupt(name, "its checksum does not agree with its content");
  if (check == BlockCheck::kName && name_of(bytes, kChecksumAt) != name)
    return corrupt(name, "its name is not that of its content");
  Manifest m{.model = {header.model},
             .tokenizer = header.tokenizer,
             .space = header.space,
             .root = header.root,
             .identity = {},
             .created_seconds = header.created_seconds,
             .page = header.page,
             .minimum_reusable = header.minimum_reusable};
  const std::string problem = read_body(header, bytes, m);
  if (!problem.empty()) return corrupt(name, problem);
  for (const ManifestStore& s : m.stores) {
    if (s.kind == StateKind::kPositions || s.kind == StateKind::kRecurrent || s.kind == StateKind::kLatent)
      continue;
    return fail(ErrorCode::kUnsupported,
                "this manifest names state of kind " + std::to_string(static_cast<uint32_t>(s.kind)) +
                    ", which is not known here",
                name.to_string());
  }
  if (!all_zero(header.reserved) || !is_possible(m)) return corrupt(name, "what it says contradicts itself");
  return m;
}

}  // namespace kvern::store
