#include "state/sequence/append.h"

#include <algorithm>
#include <vector>

#include "state/planted_fault.h"

namespace kvern::state {
namespace {

// Positions [begin, end) of one tile of a row, one head and side. New ones come from `from`, those before the
// step from storage in full precision.
struct Piece {
  const AttendRow* row = nullptr;
  StreamId stream;
  int64_t begin = 0;
  int64_t end = 0;
};

class StepEncoder {
 public:
  StepEncoder(compute::Context& context, const AttendSource& target, const AppendArgs& args)
      : context_(context), target_(target) {
    const LayerGeometry& g = target.geometry();
    sources_[0] = {args.k, args.k_stride != 0 ? args.k_stride : g.kv_heads * g.key.dim};
    sources_[1] = {args.v, args.v_stride != 0 ? args.v_stride : g.kv_heads * g.value.dim};
  }

  void run() {
    for (const AttendRow& row : target_.rows) {
      if (begins_to_be_encoded(row) && !planted(Fault::kOldPositionsNotEncoded)) add_old_pieces(row);
      add_range(row, row.first, row.first + row.tokens);
    }
    context_.pool().run(std::ssize(pieces_), [this](int64_t i, int thread) {
      encode(pieces_[static_cast<size_t>(i)], context_.thread_scratch(thread));
    });
  }

 private:
  struct Source {
    const float* data = nullptr;
    int64_t stride = 0;
  };

  static int64_t next_tile(int64_t position) { return (position / kTile + 1) * kTile; }

  // Whether the row's earlier positions exist in full precision only, and this step asks for their encoded
  // form.
  bool begins_to_be_encoded(const AttendRow& row) const {
    const KvView& view = target_.view;
    return view.mixed && row.first < view.quant_start &&
           target_.stores[0].layout->held(row.slots[0]).length > 0;
  }

  // The positions before the step that the encoded form holds: sinks, then the window.
  void add_old_pieces(const AttendRow& row) {
    const KvView& view = target_.view;
    const int64_t sinks_end = view.window == 0 ? view.keep_first : std::max(view.keep_first, view.sinks);
    const int64_t tail = target_.stores[0].layout->held(row.slots[0]).tail_begin;
    add_range(row, view.keep_first, std::min(sinks_end, row.first));
    add_range(row, std::max(tail, sinks_end), row.first);
  }

  void add_range(const AttendRow& row, int64_t begin, int64_t end) {
    for (; begin < end; begin = next_tile(begin)) add_pieces(row, begin, std::min(end, next_tile(begin)));
  }

  void add_pieces(const AttendRow& row, int64_t begin, int64_t end) {
    for (const KvSide side : {KvSide::kKey, KvSide::kValue}) {
      for (int64_t head = 0; head < target_.geometry().kv_heads; ++head) {
        pieces_.push_back({&row, {target_.stores[0].layer, head, side}, begin, end});
      }
    }
  }

  void encode(const Piece& piece, compute::Scratch& scratch) const {
    const SideGeometry& geometry = target_.geometry().side(piece.stream.side);
    const int64_t width = padded(geometry.dim);
    auto* vectors = reinterpret_cast<float*>(
        scratch.get(static_cast<size_t>(kTile * width) * sizeof(float) + kTile * full_record_bytes(piece)));
    auto* rounded = reinterpret_cast<std::byte*>(vectors + kTile * width);
    const int64_t first_new = std::clamp(piece.row->first, piece.begin, piece.end);
    load_new(piece, first_new, vectors + (first_new - piece.begin) * width);
    if (target_.view.mixed) {
      store(piece, KvForm::kFull, {first_new, piece.end}, vectors + (first_new - piece.begin) * width);
      load_old(piece, first_new, vectors);
      round(piece, {first_new, piece.end}, vectors + (first_new - piece.begin) * width, rounded);
    }
    store(piece, KvForm::kEncoded, {piece.begin, piece.end}, vectors);
  }

  size_t full_record_bytes(const Piece& piece) const {
    return target_.view.mixed ? target_.store(KvForm::kFull).side(piece.stream.side).bytes() : 0;
  }

  // New vectors of positions [first, piece.end), rotated as the layer stores them: [count, padded(dim)].
  void load_new(const Piece& piece, int64_t first, float* out) const {
    const SideGeometry& geometry = target_.geometry().side(piece.stream.side);
    const Source& source = sources_[static_cast<size_t>(piece.stream.side)];
    const int64_t width = padded(geometry.dim);
    for (int64_t p = first; p < piece.end; ++p) {
      const int64_t offset = planted(Fault::kTokensOfOtherRow) ? 0 : piece.row->offset;
      const int64_t token = offset + p - piece.row->first;
      const float* from = source.data + token * source.stride + piece.stream.kv_head * geometry.dim;
      std::copy_n(from, geometry.dim, out + (p - first) * width);
    }
    if (geometry.rotation != Rotation::kNone) {
      rotation_kernels(geometry.rotation, context_.target())
          .forward({out, piece.end - first, width, geometry.dim});
    }
  }

  // Vectors of positions [piece.begin, end) from full precision.
  void load_old(const Piece& piece, int64_t end, float* out) const {
    if (piece.begin >= end) return;
    const SideGeometry& geometry = target_.store(KvForm::kFull).side(piece.stream.side);
    RunList runs;
    collect(piece, KvForm::kFull, {piece.begin, end}, runs);
    for (const EncodedRun& run : EncodedRuns(runs)) {
      geometry.codec->kernels(context_.target()).decode(geometry.shape(), run, out);
      out += run.count * padded(geometry.dim);
    }
  }

  // New vectors as full precision gives them back.
  struct Range {
    int64_t begin;
    int64_t end;
  };
  void round(const Piece& piece, const Range& range, float* vectors, std::byte* memory) const {
    if (range.begin >= range.end) return;
    const SideGeometry& geometry = target_.store(KvForm::kFull).side(piece.stream.side);
    const CodecKernels& kernels = geometry.codec->kernels(context_.target());
    const EncodedRun run{.planes = {memory}, .count = range.end - range.begin};
    kernels.encode({vectors, padded(geometry.dim), geometry.shape()}, run);
    kernels.decode(geometry.shape(), run, vectors);
  }

  // Encodes the part of `range` that the form's layout holds.
  void store(const Piece& piece, KvForm form, const Range& range, const float* vectors) const {
    const AttendStore& store = target_.store(form);
    const SideGeometry& geometry = store.side(piece.stream.side);
    const Held held = store.layout->held(piece.row->slots[static_cast<size_t>(form)]);
    const bool skips_first = form == KvForm::kEncoded && target_.view.mixed;
    const int64_t begin = std::max(range.begin, skips_first ? target_.view.keep_first : 0);
    const int64_t end = std::min(range.end, held.length);
    if (begin >= end) return;
    RunList runs;
    collect(piece, form, {begin, end}, runs);
    const float* from = vectors + (begin - range.begin) * padded(geometry.dim);
    for (const EncodedRun& run : EncodedRuns(runs)) {
      geometry.codec->kernels(context_.target()).encode({from, padded(geometry.dim), geometry.shape()}, run);
      from += run.count * padded(geometry.dim);
    }
  }

  void collect(const Piece& piece, KvForm form, const Range& range, RunList& runs) const {
    const RowSlot slot = piece.row->slots[static_cast<size_t>(form)];
    target_.store(form).layout->collect(slot, piece.stream, range.begin, range.end, runs);
  }

  compute::Context& context_;
  const AttendSource& target_;
  std::array<Source, 2> sources_;
  std::vector<Piece> pieces_;
};

}  // namespace

void encode_step(compute::Context& context, const AttendSource& target, const AppendArgs& args) {
  StepEncoder(context, target, args).run();
}

}  // namespace kvern::state
