#include "state/sequence/group.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "state/planted_fault.h"

namespace kvern::state {
namespace {

// Of the store of encoded positions: those that the rule always keeps in full precision are not among them.
StoreSpec encoded_spec(const KvView& view, Geometry geometry, int64_t slack) {
  StoreSpec spec{.geometry = std::move(geometry)};
  spec.origin = view.mixed ? view.keep_first : 0;
  spec.head_end = std::max(spec.origin, view.window == 0 ? 0 : view.sinks);
  spec.tail = view.window == 0 ? 0 : view.window + slack;
  return spec;
}

// Of the store of full precision.
StoreSpec full_spec(const KvView& view, Geometry geometry, int64_t slack) {
  StoreSpec spec{.geometry = std::move(geometry)};
  const bool before_start = view.quant_start > 0;
  if (view.window == 0) {
    spec.head_end = view.keep_first;
  } else {
    spec.head_end = before_start ? view.sinks : std::min(view.keep_first, view.sinks);
  }
  const int64_t window = view.window + slack;
  spec.tail = view.keep_last + slack;
  // Sinks that the window has left are seen in full precision while they are recent.
  if (view.window > 0 && view.sinks == 0) spec.tail = std::min(spec.tail, window);
  if (before_start || view.keep_first > spec.head_end) {
    spec.tail = view.window == 0 ? 0 : std::max(spec.tail, window);
  }
  return spec;
}

}  // namespace

KvGroup::KvGroup(Config config, const KvOptions& options, MemoryAccount& account)
    : config_(std::move(config)), slack_(options.slack) {
  const LayoutOptions layout{.kind = options.layout, .page = options.page, .poison = options.poison};
  const KvView& view = config_.view;
  const auto make = [&](KvForm f, StoreSpec spec) {
    const auto index = static_cast<size_t>(f);
    specs_[index] = std::move(spec);
    layouts_[index] = make_layout(layout, specs_[index], account);
  };
  make(KvForm::kEncoded, encoded_spec(view, config_.encoded, slack_));
  if (view.mixed) make(KvForm::kFull, full_spec(view, config_.full, slack_));
}

GroupSlots KvGroup::add_row() {
  GroupSlots slots{};
  for (size_t f = 0; f < kKvForms; ++f) {
    if (layouts_[f] != nullptr) slots[f] = layouts_[f]->add_row();
  }
  return slots;
}

void KvGroup::remove_row(const GroupSlots& slots) {
  for (size_t f = 0; f < kKvForms; ++f) {
    if (layouts_[f] != nullptr) layouts_[f]->remove_row(slots[f]);
  }
}

// The first position of the tail that tokens after a row of `length` tokens may see in a form.
int64_t KvGroup::needed_from(KvForm f, int64_t length, bool encoded) const {
  const KvView& view = config_.view;
  const int64_t window = view.window_begin(length);
  if (f == KvForm::kEncoded || !encoded) return window;
  const int64_t recent = length - view.keep_last + 1;
  int64_t from = std::max(window, recent);
  // What lies in the head is there anyway.
  const int64_t head_end = spec(f).head_end;
  if (view.window > 0 && view.keep_first > head_end && window < view.keep_first) from = window;
  if (view.window > 0 && view.sinks > head_end && recent < view.sinks)
    from = std::min(from, std::max<int64_t>(0, recent));
  return from;
}

Held KvGroup::held_after(KvForm f, int64_t length) const {
  const KvView& view = config_.view;
  const int64_t origin = spec(f).origin;
  const bool is_encoded = encoded(length);
  if (length == 0 || layout(f) == nullptr || (f == KvForm::kEncoded && !is_encoded)) return {origin, 0};
  Held held{.tail_begin = origin, .length = length};
  // What the next token and those after a cut by the slack need; an encoded row is never cut to where it was
  // not. Without a window nothing leaves the encoded form, and nothing the full form before the start.
  int64_t shortest = std::max<int64_t>(0, length - slack_ - 1);
  if (view.mixed && is_encoded) shortest = std::max(shortest, view.quant_start);
  int64_t from = needed_from(f, shortest, is_encoded);
  if (planted(Fault::kDroppedEarly)) ++from;
  if (planted(Fault::kDroppedLate) && from > 0) --from;
  if (f == KvForm::kFull && is_encoded && view.keep_last == 0)
    held.length = std::min(length, view.keep_first);
  held.tail_begin = std::max(origin, std::min(from, held.length));
  return held;
}

bool KvGroup::complete(KvForm f, const Held& held, int64_t length) const {
  const int64_t origin = spec(f).origin;
  const Held grown = held_after(f, length);
  if (held.length != grown.length || held.tail_begin < origin) return false;
  if (held.length == 0) return held.tail_begin == origin;
  const int64_t from = needed_from(f, length, encoded(length));
  return held.tail_begin <= std::max(origin, std::min(from, held.length));
}

// How long the store of full precision is during a step.
int64_t KvGroup::full_length(const Growth& growth, int64_t held) const {
  const KvView& view = config_.view;
  if (view.keep_last > 0) return growth.end;
  const int64_t most =
      growth.first < view.quant_start ? std::max(view.keep_first, view.quant_start) : view.keep_first;
  return std::max(held, std::min(growth.end, most));
}

Held KvGroup::held_during(KvForm f, const Growth& growth) const {
  const Held before = held_after(f, growth.first);
  if (layout(f) == nullptr || growth.end == 0) return before;
  if (f == KvForm::kFull) return {before.tail_begin, full_length(growth, before.length)};
  if (!encoded(growth.end)) return before;
  if (growth.first > 0 && encoded(growth.first)) return {before.tail_begin, growth.end};
  // A row that reaches the start is encoded as a whole.
  return {std::max(spec(f).origin, needed_from(f, growth.first, true)), growth.end};
}

void KvGroup::add_turns(int64_t step, std::vector<int64_t>& turns) const {
  const KvView& view = config_.view;
  // A step ends so far behind the position that decides what is dropped (held_after).
  const int64_t behind = step + slack_;
  for (const int64_t head : {int64_t{0}, view.sinks, view.keep_first}) {
    turns.push_back(head + 1);
    if (view.window > 0) turns.push_back(head + view.window + behind);
    if (view.mixed) turns.push_back(head + view.keep_last + behind);
  }
  // Both forms are there in the step that reaches the start, and then one.
  if (view.mixed)
    turns.insert(turns.end(), {view.quant_start, view.quant_start + step, view.quant_start + behind + 1});
}

Status KvGroup::open_encoded(RowSlot slot, const Growth& growth) {
  Layout& layout = form(KvForm::kEncoded);
  if (growth.end == 0 || !encoded(growth.end)) return Ok{};
  if (growth.first > 0 && encoded(growth.first)) return layout.extend(slot, growth.end);
  return layout.assign(slot, held_during(KvForm::kEncoded, growth));
}

Status KvGroup::open(const GroupSlots& slots, const Growth& growth) {
  KVERN_TRY_STATUS(open_encoded(slot(slots, KvForm::kEncoded), growth));
  if (!config_.view.mixed) return Ok{};
  Layout& full = form(KvForm::kFull);
  const RowSlot full_slot = slot(slots, KvForm::kFull);
  auto opened = full.extend(full_slot, full_length(growth, full.held(full_slot).length));
  if (!opened) undo_encoded(slot(slots, KvForm::kEncoded), growth.first);
  return opened;
}

// Without dropping anything: a row that was adopted may hold more than one that grew here.
void KvGroup::undo_encoded(RowSlot slot, int64_t length) {
  form(KvForm::kEncoded).cut(slot, length == 0 || !encoded(length) ? 0 : length);
}

void KvGroup::undo(const GroupSlots& slots, int64_t length) {
  undo_encoded(slot(slots, KvForm::kEncoded), length);
  if (!config_.view.mixed) return;
  form(KvForm::kFull).cut(slot(slots, KvForm::kFull), held_after(KvForm::kFull, length).length);
}

void KvGroup::close_encoded(RowSlot slot, int64_t length) {
  Layout& layout = form(KvForm::kEncoded);
  if (length == 0 || !encoded(length)) {
    layout.cut(slot, 0);
    return;
  }
  layout.cut(slot, length);
  const int64_t before = layout.held(slot).tail_begin;
  int64_t tail_begin = std::max(before, held_after(KvForm::kEncoded, length).tail_begin);
  if (planted(Fault::kDropsOneEachStep)) tail_begin = std::min(tail_begin, before + 1);
  layout.drop(slot, tail_begin);
}

void KvGroup::close(const GroupSlots& slots, const Growth& growth, int64_t length) {
  KVERN_DCHECK(growth.first <= length && length <= growth.end);
  close_encoded(slot(slots, KvForm::kEncoded), length);
  if (!config_.view.mixed) return;
  Layout& full = form(KvForm::kFull);
  const RowSlot full_slot = slot(slots, KvForm::kFull);
  const Held target = held_after(KvForm::kFull, length);
  if (!planted(Fault::kOneFormCut) || growth.first > length) full.cut(full_slot, target.length);
  full.drop(full_slot, std::max(full.held(full_slot).tail_begin, target.tail_begin));
}

void KvGroup::cut(const GroupSlots& slots, int64_t before, int64_t length) {
  close(slots, {.first = length, .end = before}, length);
}

int64_t KvGroup::minimum_length(const GroupSlots& slots, int64_t length) const {
  std::array<Held, kKvForms> held{};
  for (const KvForm f : {KvForm::kEncoded, KvForm::kFull}) {
    if (layout(f) != nullptr) held[static_cast<size_t>(f)] = form(f).held(slot(slots, f));
  }
  return minimum_length(held, length);
}

int64_t KvGroup::minimum_length_after(int64_t length) const {
  return minimum_length({held_after(KvForm::kEncoded, length), held_after(KvForm::kFull, length)}, length);
}

int64_t KvGroup::minimum_length(const std::array<Held, kKvForms>& held, int64_t length) const {
  const KvView& view = config_.view;
  const bool is_encoded = encoded(length);
  const auto fits = [&](int64_t n) {
    if (n == length || planted(Fault::kForbiddenCutPasses)) return true;
    if (view.mixed && is_encoded && n < view.quant_start) return false;
    for (const KvForm f : {KvForm::kEncoded, KvForm::kFull}) {
      if (layout(f) == nullptr) continue;
      const int64_t tail_begin = held[static_cast<size_t>(f)].tail_begin;
      if (tail_begin > spec(f).head_end && needed_from(f, n, is_encoded) < tail_begin) return false;
    }
    return true;
  };
  int64_t low = 0;
  int64_t high = length;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (fits(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

Status KvGroup::fork(const GroupSlots& from, const GroupSlots& to) {
  KVERN_TRY_STATUS(form(KvForm::kEncoded).fork(from[0], to[0]));
  if (!config_.view.mixed) return Ok{};
  auto forked = form(KvForm::kFull).fork(from[1], to[1]);
  if (!forked) form(KvForm::kEncoded).cut(to[0], 0);
  return forked;
}

}  // namespace kvern::state
