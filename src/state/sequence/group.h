// The layers of a cache that keep the same positions of a row, and their storage.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "state/account/memory.h"
#include "state/attend/attend.h"
#include "state/sequence/kv_spec.h"

namespace kvern::state {

/// A row's storage in a group, by KvForm.
using GroupSlots = std::array<RowSlot, kKvForms>;

/// New tokens of a row: it grows from `first` to `end` tokens.
struct Growth {
  int64_t first = 0;
  int64_t end = 0;
};

/// One window, one precision rule, some layers. Rows are kept in encoded form, in full precision, or in both,
/// as the rule asks; what no later token of a row can see is dropped when a step is closed, except `slack`
/// positions. One thread.
class KvGroup {
 public:
  /// `layers` are indexes into spec.layers; their types fit. The account outlives the group.
  struct Config {
    KvView view;
    std::vector<int32_t> layers;
    Geometry encoded;
    Geometry full;  ///< empty unless view.mixed
  };
  KvGroup(Config config, const KvOptions& options, MemoryAccount& account);

  GroupSlots add_row();
  void remove_row(const GroupSlots& slots);
  /// Storage for a step that brings tokens to a row of growth.first; kExhausted changes nothing.
  Status open(const GroupSlots& slots, const Growth& growth);
  /// Takes back the storage of open() for a row of `length` tokens, which then holds what it held.
  void undo(const GroupSlots& slots, int64_t length);
  /// Ends a step: the row now has `length` tokens, growth.first <= length <= growth.end.
  void close(const GroupSlots& slots, const Growth& growth, int64_t length);
  /// Cuts a row of `before` tokens to `length` >= minimum_length(slots, before).
  void cut(const GroupSlots& slots, int64_t before, int64_t length);
  /// How far a row of `length` tokens can be cut so that its next token still finds all that it sees.
  int64_t minimum_length(const GroupSlots& slots, int64_t length) const;
  /// The same of a row that holds so much in each form.
  int64_t minimum_length(const std::array<Held, kKvForms>& held, int64_t length) const;
  /// minimum_length of a row that has grown to `length` tokens without ever being cut.
  int64_t minimum_length_after(int64_t length) const;
  /// Gives the new row `to` what `from` holds; kExhausted leaves `to` empty.
  Status fork(const GroupSlots& from, const GroupSlots& to);

  const KvView& view() const { return config_.view; }
  const std::vector<int32_t>& layers() const { return config_.layers; }
  /// The geometry of a form; layers are in the order of layers().
  const Geometry& geometry(KvForm form) const {
    return form == KvForm::kEncoded ? config_.encoded : config_.full;
  }
  /// Null for the full form where there is none.
  Layout* layout(KvForm form) const { return layouts_[static_cast<size_t>(form)].get(); }
  /// Whether a row of so many tokens is kept in encoded form (beside what the rule keeps in full precision).
  bool encoded(int64_t length) const { return !config_.view.mixed || length >= config_.view.quant_start; }
  /// What the layout of a form stores.
  const StoreSpec& spec(KvForm form) const { return specs_[static_cast<size_t>(form)]; }
  /// Whether a row of `length` tokens that holds so much in a form has all that its next token sees.
  bool complete(KvForm form, const Held& held, int64_t length) const;
  /// What a row holds in a form once it has grown to `length` tokens without ever being cut.
  Held held_after(KvForm form, int64_t length) const;
  /// What such a row holds in a form while a step is open.
  Held held_during(KvForm form, const Growth& growth) const;
  /// Adds the lengths at the ends of steps of `step` tokens between which what a row holds in a form only
  /// grows, only shrinks, or moves on as it is.
  void add_turns(int64_t step, std::vector<int64_t>& turns) const;

 private:
  Layout& form(KvForm f) const { return *layouts_[static_cast<size_t>(f)]; }
  RowSlot slot(const GroupSlots& slots, KvForm f) const { return slots[static_cast<size_t>(f)]; }
  int64_t needed_from(KvForm f, int64_t length, bool encoded) const;
  int64_t full_length(const Growth& growth, int64_t held) const;
  Status open_encoded(RowSlot slot, const Growth& growth);
  void undo_encoded(RowSlot slot, int64_t length);
  void close_encoded(RowSlot slot, int64_t length);

  Config config_;
  int64_t slack_;
  std::array<std::unique_ptr<Layout>, kKvForms> layouts_;
  std::array<StoreSpec, kKvForms> specs_;
};

}  // namespace kvern::state
