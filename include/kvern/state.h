// The keys and values of a model's rows, without a model: stored in any type on any layout, read by
// attention, changed in transactions. Needs nothing but the standard library; link kvern::state.
//
//   auto state = kvern::KvState::create({{.kv_heads = 4, .k_dim = 64, .v_dim = 64}}, {.type = "k=h8,v=q4"});
//   auto compute = kvern::Compute::create();
//   const kvern::KvRow row = *state->add_row();
//   auto step = state->begin({{.row = row, .tokens = n}});
//   step->append(*compute, 0, {.k = keys, .v = values});               // each layer: first this,
//   step->attend(*compute, 0, {.q = queries, .out = out, .heads = 8});  // then this, as often as you like
//   step->commit();
//
// Numbers are f32 and dense unless a stride is given; sizes are in floats, memory in bytes. A result depends
// on the query, its position and the stored vectors of its own row, and on nothing else: not on the other
// rows of the step, on how the tokens were cut into steps, on the layout, on threads or on the instruction
// set.
//
// Errors: every function that can fail returns a Result, and then all rows, and an open step, are as they
// were. kInvalidArgument: the call is wrong and would fail again. kNotFound: no such row. kExhausted: the
// budget or the machine has no more memory; it may work later. kCorrupt: bytes that no cache has written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kvern/compute.h"
#include "kvern/result.h"

namespace kvern {

/// One live sequence of a KvState. Never reused within it.
enum class KvRow : uint64_t {};

/// Where positions lie in memory. It changes the cost of growing, forking and joining, never a result
/// (docs/kv-layouts.md).
enum class KvLayout : uint8_t {
  kSlab,   ///< chunks of 256 positions for each row
  kRing,   ///< for windows: a row goes round in a buffer of its own
  kPaged,  ///< pages from a pool, shared by forks until one of them writes
  kPadded  ///< dense tensors [rows, heads, columns], rows aligned at their right ends
};

/// One layer that owns keys and values.
struct KvLayer {
  int64_t kv_heads = 0;  ///< 1 to 65536
  int64_t k_dim = 0;     ///< of one head, 1 to 65536; encoded types ask for multiples of their group
  int64_t v_dim = 0;
  int64_t window = 0;  ///< a token at position p sees (p - window, p], itself included; 0: everything before
  int64_t sinks = 0;   ///< positions [0, sinks) are seen whatever the window
};

/// Precision along a row, beside an encoded type. A token at position p sees position j in full precision
/// when p < quant_start, or j < keep_first, or j > p - keep_last, and in encoded form otherwise. All 0:
/// encoded always.
struct KvPrecision {
  int64_t quant_start = 0;
  int64_t keep_first = 0;
  int64_t keep_last = 0;
  std::string full = "f16";  ///< f32, f16 or bf16
};

struct KvStateOptions {
  /// f32, f16, bf16, fp8; q8, q6, q5, q4, q3, q2; the same with h in place of q: behind a Hadamard rotation;
  /// turbo:k8v3; or one for each side, as in "k=h8,v=q4" (docs/kv-codecs.md).
  std::string type = "f16";
  std::vector<std::string> layer_types{};  ///< empty, or one for each layer in place of `type`
  KvPrecision precision{};
  KvLayout layout = KvLayout::kSlab;
  int64_t page = 64;        ///< positions of a page: 16, 32, 64, 128 or 256
  int64_t slack = 16;       ///< positions behind its window that a row keeps, so that it can be cut back
  size_t budget_bytes = 0;  ///< for the storage of all rows; 0: the machine's
};

/// What a step brings: `tokens` >= 0 new tokens of a row.
struct KvAppend {
  KvRow row{};
  int64_t tokens = 0;
};

/// A row in a step: its new tokens have positions [first, first + tokens) and are tokens
/// [offset, offset + tokens) of the step's arrays.
struct KvStepRow {
  KvRow row{};
  int64_t first = 0;
  int64_t tokens = 0;
  int64_t offset = 0;
};

/// Keys and values of one layer for all tokens of a step; keys as attention wants them, so already rotated by
/// position. Borrowed for the call. Strides are floats from token to token, 0: dense.
struct KvInput {
  std::span<const float> k;  ///< [tokens, kv_heads, k_dim]
  std::span<const float> v;  ///< [tokens, kv_heads, v_dim]
  int64_t k_stride = 0;
  int64_t v_stride = 0;
};

/// Queries and outputs of one layer for all tokens of a step. Borrowed for the call.
struct KvAttention {
  std::span<const float> q;  ///< [tokens, heads, k_dim]
  std::span<float> out;      ///< [tokens, heads, v_dim]
  /// Query heads, a multiple of the layer's kv_heads, at most 65536; consecutive ones share a key/value head.
  int64_t heads = 0;
  float scale = 0.0F;    ///< of the dot products; 0: 1 / sqrt(k_dim)
  float softcap = 0.0F;  ///< not 0: scaled products s become softcap * tanh(s / softcap)
  /// [heads], or empty: a logit of each head that takes its share of the softmax and gives nothing.
  std::span<const float> sink_logits{};
  int64_t q_stride = 0;
  int64_t out_stride = 0;
};

/// Bytes of all rows. live + slack is what was taken from the system.
struct KvUsage {
  size_t live = 0;    ///< belongs to rows; what several rows share is counted once
  size_t shared = 0;  ///< what the sharing saves
  size_t slack = 0;   ///< belongs to no row and waits for the next
};

/// A row outside of any KvState, whatever layout it came from. A value: copies are independent.
class KvRowImage {
 public:
  /// Reads to_bytes(), or a stranger's bytes: kCorrupt says what is wrong. Takes no more memory than the
  /// bytes.
  static Result<KvRowImage> from_bytes(std::span<const std::byte> bytes);
  KvRowImage(const KvRowImage&);
  KvRowImage& operator=(const KvRowImage&);
  KvRowImage(KvRowImage&&) noexcept;
  KvRowImage& operator=(KvRowImage&&) noexcept;
  ~KvRowImage();

  /// Tokens of the row.
  int64_t length() const;
  /// Of the content, in memory.
  size_t bytes() const;
  /// Portable between machines, with a checksum over everything (docs/formats/kv-row.md).
  std::vector<std::byte> to_bytes() const;

 private:
  friend class KvState;
  struct Impl;
  explicit KvRowImage(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// An open transaction of a KvState: storage for the new tokens is reserved while it lives. Destroyed without
/// commit it is rolled back. Belongs to the thread of its KvState, which may be destroyed before it. After
/// commit or rollback every call fails with kInvalidArgument.
class KvStep {
 public:
  KvStep(KvStep&&) noexcept;
  KvStep& operator=(KvStep&&) noexcept;
  ~KvStep();

  /// In the order of the request.
  std::span<const KvStepRow> rows() const;
  /// Of all rows together.
  int64_t tokens() const;
  /// Position of each token in its row, as rotary embeddings need it: [tokens].
  std::span<const int64_t> positions() const;

  /// Encodes keys and values of layer `layer`, counted from 0. Once for each layer.
  Status append(Compute& compute, size_t layer, const KvInput& input);
  /// Attention of the step's queries over the rows: a token at position p sees what the layer's window and
  /// the precision rule say of positions 0..p of its row, in stored form, its own included. Any number of
  /// times after append of that layer, also with queries of other layers or models that share these keys.
  Status attend(Compute& compute, size_t layer, const KvAttention& attention) const;

  /// Makes all new tokens part of their rows.
  Status commit();
  /// Keeps the first keep[i] tokens of row i of rows() and forgets the others. kInvalidArgument when keep is
  /// not [rows] of numbers in [0, tokens], or when something is kept and a layer was not appended to.
  Status commit(std::span<const int64_t> keep);
  /// All rows are as before begin.
  Status rollback();

 private:
  friend class KvState;
  struct Impl;
  explicit KvStep(std::unique_ptr<Impl> impl);
  Status check_open() const;
  std::unique_ptr<Impl> impl_;
};

/// All rows of one model. One thread at a time calls into a KvState and its step; several KvStates are
/// independent. While a step is open, rows can be looked at but not changed (kInvalidArgument). Moved-from:
/// only to be destroyed or assigned to.
class KvState {
 public:
  /// kInvalidArgument names the layer, type or number that is impossible, and what is possible.
  static Result<KvState> create(const std::vector<KvLayer>& layers, const KvStateOptions& options = {});
  KvState(KvState&&) noexcept;
  KvState& operator=(KvState&&) noexcept;
  ~KvState();

  /// An empty row; takes no storage.
  Result<KvRow> add_row();
  /// Gives its storage back, except what other rows share.
  Status remove_row(KvRow row);
  /// Committed tokens.
  Result<int64_t> length(KvRow row) const;
  /// How far back the row can be cut: 0, unless positions have left a window or precision was given up. Never
  /// falls while the row only grows.
  Result<int64_t> minimum_reusable_position(KvRow row) const;
  /// Forgets all tokens from position `length` on. kInvalidArgument when the row is shorter, or below
  /// minimum_reusable_position.
  Status truncate(KvRow row, int64_t length);
  /// A new row with the same contents; they never influence each other.
  Result<KvRow> fork(KvRow row);
  /// Removes all rows but these.
  Status filter(std::span<const KvRow> keep);
  /// Moves all rows of another KvState of the same identity() here: their new names, in the order in which
  /// they were made there. On an error both are as they were.
  Result<std::vector<KvRow>> merge(KvState& from);

  /// The row outside, in the fewest bytes; the row itself stays.
  Result<KvRowImage> extract(KvRow row) const;
  /// extract, then remove_row.
  Result<KvRowImage> evict(KvRow row);
  /// A new row with the contents of an image. kInvalidArgument when it comes from another identity(),
  /// kCorrupt when it contradicts itself.
  Result<KvRow> adopt(const KvRowImage& image);
  /// extract and KvRowImage::to_bytes.
  Result<std::vector<std::byte>> snapshot(KvRow row) const;
  /// KvRowImage::from_bytes and adopt.
  Result<KvRow> restore(std::span<const std::byte> bytes);
  /// What decides the meaning of a row's bytes: sizes, windows, types and precision of all layers, as text.
  /// Layout, page, slack and budget are not part of it.
  std::string identity() const;

  /// Reserves storage for the new tokens of all rows in all layers. kInvalidArgument: a step is open, a row
  /// is named twice, a negative number or a row beyond 2^32 tokens.
  Result<KvStep> begin(const std::vector<KvAppend>& rows);

  size_t layers() const;
  /// Bytes of one token in all layers, encoded.
  size_t bytes_per_token() const;
  /// Bytes that a row of so many tokens holds between steps, if it has only grown and shares nothing.
  /// kInvalidArgument outside of [0, 2^32].
  Result<size_t> projected_bytes(int64_t tokens) const;
  KvUsage usage() const;
  /// Taken from the system, as the allocator counts it; equal to usage().live + usage().slack.
  size_t allocated_bytes() const;

 private:
  friend class KvStep;
  struct Impl;
  explicit KvState(std::shared_ptr<Impl> impl);
  Status check_idle() const;
  std::shared_ptr<Impl> impl_;  // shared with the open step
};

}  // namespace kvern
