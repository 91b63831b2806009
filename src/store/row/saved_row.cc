#include "store/row/saved_row.h"

#include <algorithm>
#include <utility>

namespace kvern::store {
namespace {

class PinnedPieces final : public PieceSource {
 public:
  explicit PinnedPieces(state::RowPin pin) : pin_(std::move(pin)) {}
  void read(size_t store, const state::PositionRange& range, std::span<std::byte> out) const override {
    pin_.read(store, range, out);
  }

 private:
  state::RowPin pin_;
};

}  // namespace

Result<NewEntry> entry_of_row(state::KvCache& cache, state::RowId row,
                              std::shared_ptr<const PrefixSpace> space, std::vector<int32_t> tokens) {
  KVERN_TRY(state::RowPin pin, cache.pin(row));
  const state::RowShape& shape = pin.shape();
  if (shape.length != std::ssize(tokens)) {
    return fail(ErrorCode::kInvalidArgument, "a row of " + std::to_string(shape.length) +
                                                 " tokens is said to hold " + std::to_string(tokens.size()));
  }
  KVERN_TRY(const int64_t minimum, cache.minimum_reusable_position(shape));
  NewEntry entry{.space = std::move(space), .tokens = std::move(tokens), .minimum_reusable = minimum};
  for (size_t s = 0; s < shape.stores.size(); ++s)
    entry.stores.push_back({StateKind::kPositions, pin.stores()[s], shape.stores[s]});
  entry.uncut_bytes.resize(entry.stores.size());
  entry.pieces = std::make_shared<PinnedPieces>(std::move(pin));
  return entry;
}

RowRestore::RowRestore(state::KvCache& cache, TierHit hit) : cache_(cache), hit_(std::move(hit)) {}
RowRestore::~RowRestore() = default;

// Room for the row as it will be, once it is known what the entry holds.
Status RowRestore::begin() {
  const state::RowShape* shape = hit_.restore->shape({});
  if (shape == nullptr) return Ok{};
  KVERN_TRY(const state::RowShape cut, cache_.shape_after_cut(*shape, hit_.tokens));
  KVERN_TRY(state::RowDraft draft, cache_.draft(cut));
  draft_.emplace(std::move(draft));
  return Ok{};
}

Result<bool> RowRestore::step(size_t most_bytes) {
  if (!draft_) KVERN_TRY_STATUS(begin());
  for (size_t copied = 0; draft_ && copied < most_bytes;) {
    const auto piece = hit_.restore->take();
    if (!piece) break;
    KVERN_TRY_STATUS(draft_->write(piece->store, piece->positions, piece->bytes));
    copied += piece->bytes.size();
    copied_bytes_ += piece->bytes.size();
  }
  return !hit_.restore->finished();
}

Result<std::optional<RowRestore::Row>> RowRestore::finish() {
  if (!draft_) return std::optional<Row>();
  const int64_t tokens = std::min({hit_.tokens, hit_.restore->until(), draft_->complete_until()});
  KVERN_TRY(const int64_t minimum, cache_.minimum_reusable_position(draft_->shape()));
  if (tokens < 1 || tokens < minimum) {
    draft_.reset();
    return std::optional<Row>();
  }
  auto row = draft_->finish(tokens);
  draft_.reset();
  KVERN_TRY(const state::RowId made, std::move(row));
  return std::optional(Row{made, tokens});
}

}  // namespace kvern::store
