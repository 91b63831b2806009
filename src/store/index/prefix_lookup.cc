#include "store/index/prefix_lookup.h"

#include <algorithm>
#include <cstring>

#include "store/index/schema.h"

namespace kvern::store {
namespace {

// Entries that share a page but not what goes before it can be as many as a hash collides; entries that
// cannot be cut there, as many as there are. Beyond this many, what the pages before offer is taken.
constexpr int kMostCandidates = 1000;

constexpr char kAfter[] = R"(
SELECT step.next, entry.id, entry.manifest, entry.length, entry.minimum, entry.usable, entry.expires
FROM step JOIN entry ON entry.id = step.entry
WHERE step.link = ?1 AND step.page = ?2 AND step.next >= ?3 ORDER BY step.next, step.entry)";
constexpr char kBefore[] = R"(
SELECT step.next, entry.id, entry.manifest, entry.length, entry.minimum, entry.usable, entry.expires
FROM step JOIN entry ON entry.id = step.entry
WHERE step.link = ?1 AND step.page = ?2 AND step.next < ?3 ORDER BY step.next DESC, step.entry DESC)";
constexpr char kAtLink[] = "SELECT id, manifest, length, minimum, usable, expires FROM entry WHERE link = ?1";
constexpr char kKnown[] = "SELECT 1 FROM link WHERE key = ?1";
constexpr char kContent[] = "SELECT tokens FROM content WHERE entry = ?1";

int64_t common_tokens(std::span<const std::byte> a, std::span<const std::byte> b) {
  const size_t most = std::min(a.size(), b.size());
  const auto differs = std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(most), b.begin());
  return (differs.first - a.begin()) / static_cast<std::ptrdiff_t>(sizeof(int32_t));
}

void read_name(const SqlStatement& statement, int column, ContentName& name) {
  const auto bytes = statement.bytes(column);
  if (bytes.size() == name.digest.size()) std::memcpy(name.digest.data(), bytes.data(), bytes.size());
}

bool expired(int64_t expires, int64_t now) { return expires > 0 && expires <= now; }

}  // namespace

// The rows of a page on one side of the prompt's own tokens, those that share the most first.
struct PrefixLookup::Walk {
  SqlStatement& rows;
  std::span<const std::byte> own;
  bool open = false;
  int64_t common = 0;  // of the present row

  Status advance() {
    KVERN_TRY(open, rows.step());
    if (open) common = common_tokens(rows.bytes(0), own);
    return Ok{};
  }
};

Result<PrefixLookup> PrefixLookup::make(SqlDatabase& database) {
  PrefixLookup lookup;
  KVERN_TRY(lookup.after_, database.prepare(kAfter));
  KVERN_TRY(lookup.before_, database.prepare(kBefore));
  KVERN_TRY(lookup.at_link_, database.prepare(kAtLink));
  KVERN_TRY(lookup.content_, database.prepare(kContent));
  KVERN_TRY(lookup.known_, database.prepare(kKnown));
  return lookup;
}

Result<bool> PrefixLookup::matches(int64_t entry, std::span<const int32_t> tokens) {
  const SqlReset reset(content_);
  KVERN_TRY(const bool row, content_.bind(1, entry).step());
  if (!row) return false;
  const auto own = content_.bytes(0);
  const auto wanted = std::as_bytes(tokens);
  return own.size() >= wanted.size() && std::equal(wanted.begin(), wanted.end(), own.begin());
}

// Takes a candidate that gives more than the best one so far, if it is what the index says.
Status PrefixLookup::consider(const LookupQuery& query, const IndexHit& candidate,
                              std::optional<IndexHit>& best) {
  if (candidate.tokens < 1 || candidate.tokens < candidate.minimum) return Ok{};
  if (best && candidate.tokens <= best->tokens) return Ok{};
  const auto wanted = query.prompt.first(static_cast<size_t>(candidate.tokens));
  KVERN_TRY(const bool same, matches(candidate.entry, wanted));
  if (same) best = candidate;
  return Ok{};
}

Status PrefixLookup::search_page(const LookupQuery& query, int64_t page, std::optional<IndexHit>& best) {
  const auto cap = static_cast<int64_t>(query.prompt.size()) - 1;
  const auto begin = static_cast<size_t>(page * query.page);
  const auto count = std::min(query.prompt.size() - begin, static_cast<size_t>(query.page));
  const auto own = std::as_bytes(query.prompt.subspan(begin, count));
  Walk sides[] = {{after_, own}, {before_, own}};
  const SqlReset reset_after(after_);
  const SqlReset reset_before(before_);
  for (Walk& side : sides) {
    side.rows.bind(1, link_key(query.links[static_cast<size_t>(page)])).bind(2, page).bind(3, own);
    KVERN_TRY_STATUS(side.advance());
  }
  for (int examined = 0; examined < kMostCandidates; ++examined) {
    Walk* side =
        !sides[1].open || (sides[0].open && sides[0].common >= sides[1].common) ? &sides[0] : &sides[1];
    if (!side->open) return Ok{};
    const int64_t common = page * query.page + side->common;
    // What follows shares no more than this one.
    if (std::min(common, cap) < 1 || (best && best->tokens >= std::min(common, cap))) return Ok{};
    IndexHit hit{
        .entry = side->rows.number(1), .length = side->rows.number(3), .minimum = side->rows.number(4)};
    read_name(side->rows, 2, hit.manifest);
    hit.tokens = std::min({common, cap, side->rows.number(5)});
    if (!expired(side->rows.number(6), query.now_seconds)) KVERN_TRY_STATUS(consider(query, hit, best));
    KVERN_TRY_STATUS(side->advance());
  }
  return Ok{};
}

// How many pages of a prompt some entry begins with. An entry that has a page has all pages before it, so
// they need not be asked for one by one.
Result<int64_t> PrefixLookup::known_pages(std::span<const Sha256Digest> links) {
  size_t known = 0;
  size_t unknown = links.size();
  while (known + 1 < unknown) {
    const size_t middle = known + (unknown - known) / 2;
    const SqlReset reset(known_);
    KVERN_TRY(const bool row, known_.bind(1, link_key(links[middle])).step());
    (row ? known : unknown) = middle;
  }
  return static_cast<int64_t>(known);
}

Result<std::optional<IndexHit>> PrefixLookup::longest(const LookupQuery& query) {
  std::optional<IndexHit> best;
  if (query.prompt.empty()) return best;
  KVERN_TRY(int64_t page, known_pages(query.links));
  for (; page >= 0; --page) {
    // The most that entries which part from the prompt in this page or before can give.
    if (best && best->tokens >= (page + 1) * query.page) break;
    KVERN_TRY_STATUS(search_page(query, page, best));
  }
  return best;
}

Result<std::optional<IndexHit>> PrefixLookup::exact(const LookupQuery& query) {
  const auto length = static_cast<int64_t>(query.prompt.size());
  const SqlReset reset(at_link_);
  at_link_.bind(1, link_key(query.links.back()));
  while (true) {
    KVERN_TRY(const bool row, at_link_.step());
    if (!row) return std::optional<IndexHit>();
    if (at_link_.number(2) != length || expired(at_link_.number(5), query.now_seconds)) continue;
    IndexHit hit{.entry = at_link_.number(0), .length = length, .minimum = at_link_.number(3)};
    read_name(at_link_, 1, hit.manifest);
    hit.tokens = std::min(length, at_link_.number(4));
    KVERN_TRY(const bool same, matches(hit.entry, query.prompt));
    if (same) return std::optional(hit);
  }
}

}  // namespace kvern::store
