#include "conformance/product.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>

#include "state/codec/registry.h"

namespace kvern::conformance {
namespace {

using state::CodecKind;
using state::KvType;
using state::LayoutKind;

constexpr std::array kLayoutKinds = {LayoutKind::kSlab, LayoutKind::kRing, LayoutKind::kPaged,
                                     LayoutKind::kPadded};
constexpr std::array<const char*, 9> kPolicyNames = {"all",  "win",   "win+s", "start", "first",
                                                     "last", "p+w+s", "cap",   "sinkl"};

bool is_float(const KvType& type) {
  return type.kind == CodecKind::kF32 || type.kind == CodecKind::kF16 || type.kind == CodecKind::kBF16;
}

// Well mixed bits of a number.
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::vector<TypeRow> make_types() {
  std::vector<TypeRow> rows;
  for (const state::Codec* codec : state::all_codecs()) {
    KvType type{.kind = codec->kind, .bits = codec->bits, .group = codec->group};
    if (codec->kind == CodecKind::kTurboKey || codec->kind == CodecKind::kTurboValue) type.group = 0;
    const bool key = codec->kind != CodecKind::kTurboValue;
    const bool value = codec->kind != CodecKind::kTurboKey;
    if (codec->kind == CodecKind::kTurboValue) type.rotation = state::Rotation::kSignedHadamard;
    rows.push_back({std::string(codec->name), type, key, value});
    if (codec->kind != CodecKind::kAffine) continue;
    type.rotation = state::Rotation::kHadamard;
    rows.push_back({std::string(codec->name) + "+h", type, key, value});
  }
  return rows;
}

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  int64_t number(int64_t below) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(below)); }
  bool one_in(int64_t n) { return number(n) == 0; }
  int64_t of(std::initializer_list<int64_t> values) {
    return *(values.begin() + number(static_cast<int64_t>(values.size())));
  }

 private:
  std::mt19937_64 random_;
};

// Head sizes that fit the type, small ones more often; with many rows the smallest.
int64_t draw_dim(Draw& draw, const KvType& type, int64_t rows) {
  std::vector<int64_t> fitting;
  for (const int64_t dim : {8, 16, 20, 32, 40, 64, 96, 128}) {
    if (resolve(type, dim)) fitting.push_back(dim);
  }
  if (rows > 6 || draw.one_in(2)) return fitting.front();
  const auto few = std::min<int64_t>(3, std::ssize(fitting));
  return fitting[static_cast<size_t>(draw.number(draw.one_in(6) ? std::ssize(fitting) : few))];
}

void draw_window(Draw& draw, state::KvLayerSpec& layer, bool with_sinks) {
  layer.window = draw.of({1, 2, 3, 5, 8, 8, 13, 33, 64, 100});
  if (with_sinks) layer.sinks = draw.of({1, 2, 4, 4, 17, 70});
}

state::KvPrecision draw_precision(Draw& draw, Policy policy) {
  state::KvPrecision precision;
  const auto some = [&] { return draw.of({1, 2, 3, 5, 8, 16, 30, 64, 70}); };
  const bool any = policy == Policy::kPrecisionWindowSinks;
  if (policy == Policy::kStart || (any && draw.one_in(2))) precision.quant_start = some() + draw.number(3);
  if (policy == Policy::kFirst || (any && draw.one_in(2))) precision.keep_first = some();
  if (policy == Policy::kLast || (any && draw.one_in(2)) || (any && !precision.mixed())) {
    precision.keep_last = some();
  }
  if (precision.mixed()) {
    constexpr std::array kFull = {CodecKind::kF16, CodecKind::kF16, CodecKind::kBF16, CodecKind::kF32};
    precision.full.kind = kFull[static_cast<size_t>(draw.number(4))];
  }
  return precision;
}

void draw_layers(Draw& draw, const Place& place, WorldSpec& spec) {
  const bool few = place.rows <= 6;
  state::KvLayerSpec layer{.kv_heads = draw.of({1, 1, 2, 2, few ? 3 : 1}),
                           .k_dim = draw_dim(draw, spec.options[0].types.k, place.rows),
                           .v_dim = draw_dim(draw, spec.options[0].types.v, place.rows)};
  if (place.policy == Policy::kWindow) draw_window(draw, layer, false);
  if (place.policy == Policy::kWindowSinks || place.policy == Policy::kPrecisionWindowSinks)
    draw_window(draw, layer, true);
  spec.layers.push_back(layer);
  if (!draw.one_in(3)) return;
  // A second layer of the same group, or one of a group of its own.
  if (draw.one_in(2)) {
    layer.window = 0;
    layer.sinks = 0;
    if (draw.one_in(2)) draw_window(draw, layer, draw.one_in(2));
    layer.kv_heads = 1;
  }
  spec.layers.push_back(layer);
}

// Enough for what scripts do, mostly; the pools of pages take a part of it at once.
size_t draw_budget(Draw& draw, const Place& place, const WorldSpec& spec) {
  size_t token = 0;
  for (const state::KvLayerSpec& layer : spec.layers) {
    token += static_cast<size_t>(layer.kv_heads * (layer.k_dim + layer.v_dim)) * 6;
  }
  const auto rows = static_cast<size_t>(place.rows);
  return token * (draw.one_in(8) ? 200 * rows + 600 : 1200 * rows + 4000);
}

}  // namespace

Product::Product() : types_(make_types()) {
  for (const compute::CpuTarget target : compute::compiled_targets()) {
    if (compute::is_supported(target)) targets_.push_back(target);
  }
  counts_.resize(cells());
  seen_.resize(full());
}

uint64_t Product::combinations() const {
  return static_cast<uint64_t>(kMostRows) * static_cast<uint64_t>(kMostThreads) * targets_.size();
}

// A round visits the cells in an order that mixes types, layouts and policies; it gives each another
// combination of rows, threads and instruction set.
Place Product::place(uint64_t script) const {
  constexpr uint64_t kStride = 1009;  // a prime that is no divisor of the number of cells
  Place place{.round = script / cells()};
  const uint64_t cell = (script % cells() * kStride + 7 * place.round) % cells();
  place.policy = static_cast<Policy>(cell % kPolicies);
  place.layout = kLayoutKinds[cell / kPolicies % kLayouts];
  place.type = cell / (kPolicies * kLayouts);
  const uint64_t combination = (place.round * 37 + mixed(cell)) % combinations();
  place.rows = 1 + static_cast<int64_t>(combination % static_cast<uint64_t>(kMostRows));
  place.threads = 1 + static_cast<int>(combination / static_cast<uint64_t>(kMostRows) %
                                       static_cast<uint64_t>(kMostThreads));
  place.target = targets_[combination / static_cast<uint64_t>(kMostRows * kMostThreads)];
  return place;
}

WorldSpec Product::draw(const Place& place, uint64_t script) const {
  Draw draw(mixed(script + 1));
  const TypeRow& row = types_[place.type];
  WorldSpec spec;
  state::KvOptions& home = spec.options[kHome];
  home.precision = draw_precision(draw, place.policy);
  const bool as_key = row.key && (!row.value || place.round % 2 == 0);
  std::vector<KvType> others;
  for (const TypeRow& other : types_) {
    const bool fits = as_key ? other.value : other.key;
    const bool mixes = !home.precision.mixed() || !is_float(row.type) || !is_float(other.type);
    if (fits && mixes) others.push_back(other.type);
  }
  const KvType other = others[static_cast<size_t>(draw.number(std::ssize(others)))];
  home.types = as_key ? state::KvTypes{row.type, other} : state::KvTypes{other, row.type};
  home.layout = place.layout;
  home.page = draw.of({16, 16, 32, 64, 128, 256});
  home.slack = draw.of({0, 0, 1, 4, 16});
  home.poison = true;
  draw_layers(draw, place, spec);
  home.budget_bytes = draw_budget(draw, place, spec);
  state::KvOptions& abroad = spec.options[kAbroad] = home;
  abroad.layout = kLayoutKinds[static_cast<size_t>(draw.number(4))];
  abroad.page = draw.of({16, 32, 64, 128, 256});
  abroad.slack = draw.of({0, 1, 4, 16});
  spec.group = draw.of({1, 1, 2, 3, place.rows > 6 ? 1 : 7});
  if (place.policy == Policy::kSoftcap) spec.softcap = draw.one_in(2) ? 0.5F : 30.0F;
  spec.sink_logits = place.policy == Policy::kSinkLogits;
  return spec;
}

void Product::count(const Place& place) {
  const size_t layout =
      static_cast<size_t>(std::ranges::find(kLayoutKinds, place.layout) - kLayoutKinds.begin());
  const uint64_t cell = (place.type * kLayouts + layout) * kPolicies + static_cast<size_t>(place.policy);
  ++counts_[cell];
  ++rows_[place.rows];
  ++on_[{place.threads, std::string(compute::to_string(place.target))}];
  const auto target = static_cast<uint64_t>(std::ranges::find(targets_, place.target) - targets_.begin());
  const uint64_t combination =
      (target * kMostThreads + static_cast<uint64_t>(place.threads - 1)) * static_cast<uint64_t>(kMostRows) +
      static_cast<uint64_t>(place.rows - 1);
  const uint64_t index = cell * combinations() + combination;
  if (!seen_[index]) ++places_seen_;
  seen_[index] = true;
  ++scripts_;
}

uint64_t Product::skipped() const {
  auto skipped = static_cast<uint64_t>(std::ranges::count(counts_, 0U));
  skipped += static_cast<uint64_t>(kMostRows) - rows_.size();
  skipped += static_cast<uint64_t>(kMostThreads) * targets_.size() - on_.size();
  return skipped + (scripts_ >= full() ? full() - places_seen_ : 0);
}

std::string Product::table() const {
  std::string text(16, ' ');
  char number[80];
  for (const LayoutKind layout : kLayoutKinds) {
    std::snprintf(number, sizeof number, " | %-53s", std::string(to_string(layout)).c_str());
    text += number;
  }
  text += "\n" + std::string(16, ' ');
  for (size_t l = 0; l < kLayouts; ++l) {
    text += " |";
    for (const char* policy : kPolicyNames) {
      std::snprintf(number, sizeof number, "%6s", policy);
      text += number;
    }
  }
  text += "\n";
  for (size_t t = 0; t < types_.size(); ++t) {
    std::snprintf(number, sizeof number, "%-16s", types_[t].name.c_str());
    text += number;
    for (size_t l = 0; l < kLayouts; ++l) {
      text += " |";
      for (size_t p = 0; p < kPolicies; ++p) {
        std::snprintf(number, sizeof number, "%6llu",
                      static_cast<unsigned long long>(counts_[(t * kLayouts + l) * kPolicies + p]));
        text += number;
      }
    }
    text += "\n";
  }
  text += "rows:";
  for (const auto& [rows, count] : rows_) text += " " + std::to_string(rows) + ":" + std::to_string(count);
  text += "\nthreads and instruction sets:";
  for (const auto& [where, count] : on_) {
    text += " " + std::to_string(where.first) + "x" + where.second + ":" + std::to_string(count);
  }
  return text + "\nplaces of the full product (cells x rows x threads x instruction sets): " +
         std::to_string(places_seen_) + " of " + std::to_string(full()) + "\n";
}

}  // namespace kvern::conformance
