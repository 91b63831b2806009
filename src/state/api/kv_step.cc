#include <cmath>
#include <utility>

#include "kvern/state.h"
#include "state/api/impl.h"

namespace kvern {
namespace {

constexpr int64_t kMaxHeads = 65536;

// An array of `tokens` records of `width` floats that lie `stride` apart (0: dense), as a caller gave it.
struct Records {
  const char* name;
  size_t size;  // floats that there are
  int64_t tokens;
  int64_t width;
  int64_t stride;
};

Status check(const Records& records) {
  const int64_t stride = records.stride == 0 ? records.width : records.stride;
  if (stride < records.width) {
    return fail(ErrorCode::kInvalidArgument,
                "a stride of " + std::to_string(records.stride) + " floats is shorter than a token's " +
                    std::to_string(records.width),
                records.name);
  }
  if (records.tokens == 0) return Ok{};
  const auto width = static_cast<size_t>(records.width);
  const auto gaps = static_cast<size_t>(records.tokens - 1);
  if (records.size >= width && gaps <= (records.size - width) / static_cast<size_t>(stride)) return Ok{};
  return fail(ErrorCode::kInvalidArgument,
              std::to_string(records.size) + " floats are too few for " + std::to_string(records.tokens) +
                  " tokens of " + std::to_string(records.width),
              records.name);
}

Status check(const KvAttention& attention, const state::KvLayerSpec& layer, int64_t tokens) {
  const int64_t heads = attention.heads;
  if (heads < 1 || heads > kMaxHeads || heads % layer.kv_heads != 0) {
    return fail(ErrorCode::kInvalidArgument,
                std::to_string(heads) + " query heads are no multiple of " + std::to_string(layer.kv_heads) +
                    " key/value heads, or more than 65536",
                "heads");
  }
  if (!attention.sink_logits.empty() && attention.sink_logits.size() != static_cast<size_t>(heads)) {
    return fail(ErrorCode::kInvalidArgument, "one logit for each query head, or none", "sink_logits");
  }
  KVERN_TRY_STATUS(check({"q", attention.q.size(), tokens, heads * layer.k_dim, attention.q_stride}));
  return check({"out", attention.out.size(), tokens, heads * layer.v_dim, attention.out_stride});
}

Status no_such_layer(size_t layer, size_t layers) {
  return fail(ErrorCode::kInvalidArgument,
              "the state has layers 0 to " + std::to_string(layers - 1) + " and no such",
              "layer " + std::to_string(layer));
}

}  // namespace

KvStep::Impl::Impl(std::shared_ptr<KvState::Impl> owner, state::Step opened)
    : state(std::move(owner)), step(std::move(opened)), appended(state->cache->spec().layers.size()) {
  for (const state::StepRow& row : step->rows()) {
    rows.push_back({.row = static_cast<KvRow>(row.row),
                    .first = to_int(row.first),
                    .tokens = row.tokens,
                    .offset = row.offset});
  }
  state->step_open = true;
}

void KvStep::Impl::end() {
  if (!step) return;
  step.reset();
  state->step_open = false;
}

KvStep::KvStep(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KvStep::KvStep(KvStep&&) noexcept = default;
KvStep& KvStep::operator=(KvStep&&) noexcept = default;
KvStep::~KvStep() = default;

std::span<const KvStepRow> KvStep::rows() const { return impl_->rows; }
int64_t KvStep::tokens() const { return impl_->step ? impl_->step->tokens() : 0; }
std::span<const int64_t> KvStep::positions() const {
  return impl_->step ? impl_->step->positions() : std::span<const int64_t>();
}

Status KvStep::check_open() const {
  if (impl_->step) return Ok{};
  return fail(ErrorCode::kInvalidArgument, "this step was committed or rolled back; begin another one");
}

Status KvStep::append(Compute& compute, size_t layer, const KvInput& input) {
  KVERN_TRY_STATUS(check_open());
  if (layer >= impl_->appended.size()) return no_such_layer(layer, impl_->appended.size());
  if (impl_->appended[layer]) {
    return fail(ErrorCode::kInvalidArgument, "the step has keys and values of this layer already",
                "layer " + std::to_string(layer));
  }
  const state::KvLayerSpec& spec = impl_->layer(layer);
  KVERN_TRY_STATUS(check({"k", input.k.size(), tokens(), spec.kv_heads * spec.k_dim, input.k_stride}));
  KVERN_TRY_STATUS(check({"v", input.v.size(), tokens(), spec.kv_heads * spec.v_dim, input.v_stride}));
  impl_->state->cache->append(
      compute.impl_->context, static_cast<state::LayerIndex>(layer), *impl_->step,
      {.k = input.k.data(), .v = input.v.data(), .k_stride = input.k_stride, .v_stride = input.v_stride});
  impl_->appended[layer] = true;
  return Ok{};
}

Status KvStep::attend(Compute& compute, size_t layer, const KvAttention& attention) const {
  KVERN_TRY_STATUS(check_open());
  if (layer >= impl_->appended.size()) return no_such_layer(layer, impl_->appended.size());
  if (!impl_->appended[layer]) {
    return fail(ErrorCode::kInvalidArgument, "append the step's keys and values of this layer first",
                "layer " + std::to_string(layer));
  }
  const state::KvLayerSpec& spec = impl_->layer(layer);
  KVERN_TRY_STATUS(check(attention, spec, tokens()));
  const float scale =
      attention.scale == 0.0F ? 1.0F / std::sqrt(static_cast<float>(spec.k_dim)) : attention.scale;
  impl_->state->cache->attend(
      compute.impl_->context, static_cast<state::LayerIndex>(layer), *impl_->step,
      {.q = attention.q.data(),
       .out = attention.out.data(),
       .heads = attention.heads,
       .scale = scale,
       .softcap = attention.softcap,
       .sink_logits = attention.sink_logits.empty() ? nullptr : attention.sink_logits.data(),
       .q_stride = attention.q_stride,
       .out_stride = attention.out_stride});
  return Ok{};
}

Status KvStep::commit() {
  std::vector<int64_t> keep;
  for (const KvStepRow& row : impl_->rows) keep.push_back(row.tokens);
  return commit(keep);
}

Status KvStep::commit(std::span<const int64_t> keep) {
  KVERN_TRY_STATUS(check_open());
  if (keep.size() != impl_->rows.size()) {
    return fail(ErrorCode::kInvalidArgument, "commit takes one number for each row of the step", "keep");
  }
  bool keeps = false;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i] < 0 || keep[i] > impl_->rows[i].tokens) {
      return fail(
          ErrorCode::kInvalidArgument,
          std::to_string(keep[i]) + " of " + std::to_string(impl_->rows[i].tokens) + " tokens cannot be kept",
          "row " + std::to_string(static_cast<uint64_t>(impl_->rows[i].row)));
    }
    keeps |= keep[i] > 0;
  }
  for (size_t layer = 0; keeps && layer < impl_->appended.size(); ++layer) {
    if (impl_->appended[layer]) continue;
    return fail(ErrorCode::kInvalidArgument, "the step has no keys and values of this layer yet",
                "layer " + std::to_string(layer));
  }
  impl_->state->cache->commit(*std::exchange(impl_->step, std::nullopt), keep);
  impl_->state->step_open = false;
  return Ok{};
}

Status KvStep::rollback() {
  KVERN_TRY_STATUS(check_open());
  impl_->end();
  return Ok{};
}

}  // namespace kvern
