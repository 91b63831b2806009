#include "conformance/world.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include "base/check.h"

namespace kvern::conformance {
namespace {

using state::KvCache;
using state::RowId;
using state::Step;

bool is_float(const state::KvType& type) {
  return type.kind == state::CodecKind::kF32 || type.kind == state::CodecKind::kF16 ||
         type.kind == state::CodecKind::kBF16;
}

constexpr size_t kPool = size_t{1} << 20;

// Normal numbers, made once: every input is some of them in a row.
const std::vector<float>& pool() {
  static const std::vector<float> numbers = [] {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> made(kPool);
    for (float& number : made) number = normal(random);
    return made;
  }();
  return numbers;
}

int64_t window_begin(const state::KvLayerSpec& layer, int64_t position) {
  return layer.window == 0 ? 0 : std::max<int64_t>(0, position - layer.window + 1);
}

}  // namespace

World::World(const WorldSpec& spec, compute::Context& context, uint32_t seed)
    : spec_(spec), context_(context), random_(seed) {
  for (size_t place : {kHome, kAbroad}) {
    auto made = KvCache::create({spec.layers}, spec.options[place]);
    expect(made.has_value(), made ? "" : "no cache: " + made.error().message);
    if (made) caches_[place] = *std::move(made);
  }
  const state::KvOptions& options = spec.options[kHome];
  mixed_ = options.precision.mixed() && !(is_float(options.types.k) && is_float(options.types.v));
  if (problem_.empty()) {
    expect(caches_[0]->identity() == caches_[1]->identity(), "the identity depends on the layout");
  }
}

void World::expect(bool holds, const std::string& what) {
  if (!holds && problem_.empty()) problem_ = what;
}

std::vector<std::vector<std::byte>> World::images() const {
  std::vector<std::vector<std::byte>> all;
  for (const Row& row : rows_) all.push_back(to_bytes(*caches_[row.place]->extract(row.id)));
  return all;
}

template <typename Operation>
bool World::attempt(size_t place, const Operation& operation) {
  KvCache& cache = *caches_[place];
  const bool injected = fail_after_ != kNoFailure;
  const auto before = injected ? images() : std::vector<std::vector<std::byte>>{};
  const state::LayoutUsage usage = cache.usage();
  if (injected) cache.fail_allocations_after(static_cast<size_t>(std::exchange(fail_after_, kNoFailure)));
  auto result = operation();
  cache.fail_allocations_after();
  lacked_memory_[place] |= injected;
  if (result) return true;
  expect(result.error().code == ErrorCode::kExhausted, "an operation fails: " + result.error().message);
  // A page that was copied before it could be written stays copied; a ring that cannot get its smaller buffer
  // back keeps the larger one, until a later operation finds memory for it.
  const state::LayoutUsage now = cache.usage();
  const bool ring = cache.options().layout == state::LayoutKind::kRing;
  if (!ring) {
    expect(now.live + now.shared == usage.live + usage.shared,
           "an operation that lacked memory changed what rows hold");
  } else {
    expect(now.live >= usage.live || ring_has_larger_[place],
           "an operation that lacked memory changed what rows hold");
    ring_has_larger_[place] |= now.live > usage.live;
  }
  if (injected) expect(images() == before, "an operation that lacked memory changed a row");
  lacked_memory_[place] = true;
  return false;
}

int64_t World::minimum(size_t row) const {
  const auto found = caches_[rows_[row].place]->minimum_reusable_position(rows_[row].id);
  return found.value_or(0);
}

void World::add_row() {
  const state::KvOptions& options = spec_.options[kHome];
  Row row{.id = caches_[kHome]->add_row(), .layers = {}, .tails = {}};
  for (const state::KvLayerSpec& layer : spec_.layers) {
    row.layers.emplace_back(layer, options.types, options.precision);
    row.tails.push_back(0);
  }
  rows_.push_back(std::move(row));
}

void World::remove(size_t row) {
  const RowId id = rows_[row].id;
  KvCache& cache = *caches_[rows_[row].place];
  expect(cache.remove_row(id).has_value(), "a row cannot be removed");
  expect(!cache.length(id).has_value(), "a removed row still has a length");
  rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(row));
}

void World::fork(size_t row) {
  Row copy = rows_[row];
  const bool forked = attempt(copy.place, [&]() -> Result<RowId> {
    auto id = caches_[copy.place]->fork(copy.id);
    if (id) copy.id = *id;
    return id;
  });
  if (forked) rows_.push_back(std::move(copy));
}

void World::truncate(size_t row, int64_t length) {
  Row& target = rows_[row];
  const int64_t before = target.layers[0].length();
  expect(caches_[target.place]->truncate(target.id, length).has_value(), "a legal cut is refused");
  for (auto& layer : target.layers) layer.truncate(length);
  if (length < before) target.only_grown = false;
  closed(target);
}

void World::move(size_t row, size_t place, bool through_bytes) {
  Row& moved = rows_[row];
  auto image = caches_[moved.place]->extract(moved.id);
  expect(image.has_value(), "a row cannot be extracted");
  if (!image) return;
  expect(image->length == moved.layers[0].length(), "an image has another length than its row");
  if (through_bytes) {
    const std::vector<std::byte> bytes = to_bytes(*image);
    image = state::row_image_from_bytes(bytes);
    expect(image.has_value() && to_bytes(*image) == bytes, "the bytes of an image do not give it back");
    if (!image) return;
  }
  RowId adopted{};
  const bool fits = attempt(place, [&]() -> Result<RowId> {
    auto id = caches_[place]->adopt(*image);
    if (id) adopted = *id;
    return id;
  });
  if (!fits) return;
  const auto again = caches_[place]->extract(adopted);
  expect(again.has_value() && to_bytes(*again) == to_bytes(*image), "an adopted row has other bytes");
  expect(caches_[moved.place]->remove_row(moved.id).has_value(), "an extracted row cannot be removed");
  if (place != moved.place) moved.native = false;
  moved.id = adopted;
  moved.place = place;
}

void World::merge() {
  std::vector<size_t> movers;
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].place == kAbroad) movers.push_back(i);
  }
  std::ranges::sort(movers, {}, [&](size_t i) { return to_int(rows_[i].id); });
  std::vector<RowId> ids;
  const bool merged = attempt(kHome, [&]() -> Result<std::vector<RowId>> {
    auto made = caches_[kHome]->merge(*caches_[kAbroad]);
    if (made) ids = *made;
    return made;
  });
  if (!merged) return;
  expect(ids.size() == movers.size(), "a merge moves another number of rows");
  expect(caches_[kAbroad]->live_bytes() == 0, "a merged cache still holds rows");
  for (size_t i = 0; i < std::min(ids.size(), movers.size()); ++i) {
    Row& row = rows_[movers[i]];
    row.id = ids[i];
    row.place = kHome;
    row.native = false;
  }
}

void World::filter(size_t place, const std::vector<size_t>& keep) {
  std::vector<RowId> ids;
  for (const size_t row : keep) ids.push_back(rows_[row].id);
  expect(caches_[place]->filter(ids).has_value(), "a filter is refused");
  std::vector<Row> left;
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].place != place || std::ranges::find(keep, i) != keep.end()) left.push_back(rows_[i]);
  }
  rows_ = std::move(left);
}

const float* World::numbers(int64_t count) {
  KVERN_CHECK(static_cast<size_t>(count) < kPool);
  random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
  return pool().data() + (random_ >> 33) % (kPool - static_cast<size_t>(count));
}

World::Inputs World::inputs(size_t layer, int64_t tokens, bool read) {
  const state::KvLayerSpec& spec = spec_.layers[layer];
  return {.q = numbers(read ? tokens * heads(layer) * spec.k_dim : 0),
          .k = numbers(tokens * spec.kv_heads * spec.k_dim),
          .v = numbers(tokens * spec.kv_heads * spec.v_dim),
          .scale = 0.3F,
          .sinks = spec_.sink_logits ? numbers(heads(layer)) : nullptr};
}

void World::step(const StepPlan& plan) {
  const size_t place = plan.brings.empty() ? kHome : rows_[plan.brings[0].row].place;
  KvCache& cache = *caches_[place];
  std::vector<state::RowAppend> appends;
  for (const Bring& bring : plan.brings) appends.push_back({rows_[bring.row].id, bring.tokens});
  std::vector<Step> opened;
  const bool fits = attempt(place, [&]() -> Status {
    auto begun = cache.begin(appends);
    if (!begun) return std::unexpected(std::move(begun).error());
    opened.push_back(*std::move(begun));
    return Ok{};
  });
  if (!fits) return;
  Step step = std::move(opened[0]);
  layer_inputs_.clear();
  for (size_t l = 0; l < spec_.layers.size(); ++l)
    layer_inputs_.push_back(inputs(l, step.tokens(), plan.attends > 0));
  advance(step, plan);
  for (size_t l = 0; l < spec_.layers.size(); ++l) {
    const Inputs& in = layer_inputs_[l];
    cache.append(context_, static_cast<state::LayerIndex>(l), step, {.k = in.k, .v = in.v});
    if (plan.attends > 0) attend(step, l, plan, in);
  }
  for (int i = 1; i < plan.attends; ++i) {
    for (size_t l = 0; l < spec_.layers.size(); ++l) {
      Inputs other = inputs(l, step.tokens(), true);
      other.scale = 0.5F;
      attend(step, l, plan, other);
    }
  }
  finish(std::move(step), plan);
}

void World::advance(const Step& step, const StepPlan& plan) {
  for (size_t i = 0; i < plan.brings.size(); ++i) {
    Row& row = rows_[plan.brings[i].row];
    expect(to_int(step.rows()[i].first) == row.layers[0].length(), "a step begins at a wrong position");
    for (size_t l = 0; l < row.layers.size(); ++l) {
      const state::KvLayerSpec& layer = spec_.layers[l];
      for (int64_t t = 0; t < plan.brings[i].tokens; ++t) {
        const int64_t token = step.rows()[i].offset + t;
        row.layers[l].append(layer_inputs_[l].k + token * layer.kv_heads * layer.k_dim,
                             layer_inputs_[l].v + token * layer.kv_heads * layer.v_dim);
      }
    }
  }
}

void World::attend(const Step& step, size_t layer, const StepPlan& plan, const Inputs& in) {
  const size_t place = plan.brings.empty() ? kHome : rows_[plan.brings[0].row].place;
  out_.assign(static_cast<size_t>(step.tokens() * heads(layer) * spec_.layers[layer].v_dim), -1.0F);
  caches_[place]->attend(context_, static_cast<state::LayerIndex>(layer), step,
                         {.q = in.q,
                          .out = out_.data(),
                          .heads = heads(layer),
                          .scale = in.scale,
                          .softcap = spec_.softcap,
                          .sink_logits = in.sinks});
  compare(step, layer, plan, in);
}

void World::compare(const Step& step, size_t layer, const StepPlan& plan, const Inputs& in) {
  const state::KvLayerSpec& spec = spec_.layers[layer];
  expected_.resize(static_cast<size_t>(spec.v_dim));
  for (size_t i = 0; i < plan.brings.size(); ++i) {
    const reference::KvReferenceRow& row = rows_[plan.brings[i].row].layers[layer];
    const state::StepRow& in_step = step.rows()[i];
    for (int64_t t = 0; t < in_step.tokens && problem_.empty(); ++t) {
      const int64_t position = row.length() - in_step.tokens + t;
      expect(step.positions()[static_cast<size_t>(in_step.offset + t)] == position,
             "a token has a wrong position");
      for (int64_t head = 0; head < heads(layer); ++head) {
        const int64_t index = (in_step.offset + t) * heads(layer) + head;
        row.attend(in.q + index * spec.k_dim, head / spec_.group, position,
                   {in.scale, spec_.softcap, in.sinks == nullptr ? nullptr : in.sinks + head},
                   expected_.data());
        expect(std::memcmp(out_.data() + index * spec.v_dim, expected_.data(),
                           expected_.size() * sizeof(float)) == 0,
               "other bits in layer " + std::to_string(layer) + ", row " +
                   std::to_string(plan.brings[i].row) + ", position " + std::to_string(position) + ", head " +
                   std::to_string(head));
      }
    }
  }
  compared_tokens_ += step.tokens();
}

void World::finish(Step step, const StepPlan& plan) {
  KvCache& cache = *caches_[plan.brings.empty() ? kHome : rows_[plan.brings[0].row].place];
  std::vector<int64_t> keep;
  for (const Bring& bring : plan.brings) keep.push_back(plan.end == StepEnd::kCommit ? bring.keep : 0);
  if (plan.end == StepEnd::kRollback) {
    cache.rollback(std::move(step));
  } else if (plan.end == StepEnd::kCommit) {
    const bool all = std::ranges::all_of(plan.brings, [](const Bring& b) { return b.keep == b.tokens; });
    if (all) {
      cache.commit(std::move(step));
    } else {
      cache.commit(std::move(step), keep);
    }
  } else {
    const Step abandoned = std::move(step);
  }
  for (size_t i = 0; i < plan.brings.size(); ++i) {
    Row& row = rows_[plan.brings[i].row];
    for (auto& layer : row.layers) layer.truncate(layer.length() - plan.brings[i].tokens + keep[i]);
    closed(row);
  }
}

// What a window forgets when the row's length becomes known: all but what the next token sees after a cut by
// the slack.
void World::closed(Row& row) {
  const int64_t slack = spec_.options[row.place].slack;
  for (size_t l = 0; l < row.tails.size(); ++l) {
    const int64_t next = std::max<int64_t>(0, row.layers[0].length() - slack - 1);
    row.tails[l] = std::max(row.tails[l], window_begin(spec_.layers[l], next));
  }
}

// The smallest length whose next token finds its window.
int64_t World::expected_minimum(const Row& row) const {
  const int64_t length = row.layers[0].length();
  int64_t minimum = 0;
  for (size_t l = 0; l < row.tails.size(); ++l) {
    const state::KvLayerSpec& layer = spec_.layers[l];
    if (layer.window == 0 || row.tails[l] <= layer.sinks) continue;
    minimum = std::max(minimum, std::min(length, row.tails[l] + layer.window - 1));
  }
  return minimum;
}

void World::check_row(Row& row) {
  const KvCache& cache = *caches_[row.place];
  const int64_t length = row.layers[0].length();
  expect(cache.length(row.id).value_or(-1) == length, "a row has another length than it should");
  const int64_t minimum = cache.minimum_reusable_position(row.id).value_or(-1);
  if (row.only_grown && row.native) {
    expect(minimum == cache.projected_minimum_reusable_position(length),
           "minimum_reusable_position of a row that only grew is not what was projected");
  }
  if (!mixed_) {
    expect(minimum == expected_minimum(row), "minimum_reusable_position of a row of " +
                                                 std::to_string(length) + " is " + std::to_string(minimum) +
                                                 ", not " + std::to_string(expected_minimum(row)));
    return;
  }
  expect(minimum >= 0 && minimum <= length, "an impossible minimum_reusable_position");
  if (!row.only_grown || !row.native) return;
  expect(minimum >= row.last_minimum, "minimum_reusable_position fell while the row grew");
  row.last_minimum = minimum;
  const state::KvOptions& options = spec_.options[row.place];
  const int64_t start = length >= options.precision.quant_start ? options.precision.quant_start : 0;
  expect(minimum <= std::max({int64_t{0}, length - options.slack - 1, start}),
         "a row of " + std::to_string(length) + " cannot be cut back by its slack, only to " +
             std::to_string(minimum));
}

void World::check_books(size_t place) {
  const KvCache& cache = *caches_[place];
  const state::LayoutUsage usage = cache.usage();
  expect(usage.live + usage.slack == cache.allocated_bytes(), "the books differ from the allocator");
  std::vector<state::RowId> all;
  for (const Row& row : rows_) {
    if (row.place == place) all.push_back(row.id);
  }
  expect(cache.live_bytes_of(all).value_or(0) == usage.live, "all rows together are not what is live");
  size_t projected = 0;
  bool native = !lacked_memory_[place];
  bool only_grown = true;
  for (const Row& row : rows_) {
    if (row.place != place) continue;
    projected += cache.projected_bytes(row.layers[0].length());
    native &= row.native;
    only_grown &= row.only_grown;
  }
  if (!native) return;
  expect(usage.live + usage.shared <= projected, "rows hold more than was projected");
  if (only_grown) expect(usage.live + usage.shared == projected, "rows hold less than was projected");
}

void World::check() {
  for (Row& row : rows_) check_row(row);
  for (const size_t place : {kHome, kAbroad}) check_books(place);
}

void World::refused(size_t row) {
  const Row& target = rows_[row];
  KvCache& cache = *caches_[target.place];
  const int64_t length = target.layers[0].length();
  const auto before = images();
  const auto refuses = [&](const auto& result, const char* what) {
    expect(!result && result.error().code != ErrorCode::kExhausted, what);
  };
  refuses(cache.truncate(target.id, length + 1), "a cut beyond the end passes");
  refuses(cache.truncate(target.id, -1), "a cut to less than nothing passes");
  if (const int64_t least = minimum(row); least > 0) {
    refuses(cache.truncate(target.id, least - 1), "a cut below minimum_reusable_position passes");
  }
  const state::RowAppend twice[] = {{target.id, 1}, {target.id, 2}};
  refuses(cache.begin(twice), "a step names a row twice");
  const state::RowAppend negative[] = {{target.id, -1}};
  refuses(cache.begin(negative), "a step brings less than nothing");
  const auto nobody = static_cast<RowId>(UINT64_MAX);
  refuses(cache.fork(nobody), "nobody is forked");
  const RowId half_known[] = {target.id, nobody};
  refuses(cache.filter(half_known), "a filter keeps nobody");
  auto image = *cache.extract(target.id);
  image.length += 1;
  if (!image.stores.empty()) refuses(cache.adopt(image), "an image that contradicts itself is adopted");
  image.length -= 1;
  image.identity += " ";
  refuses(cache.adopt(image), "an image of another model is adopted");
  expect(images() == before, "a refused call changed a row");
}

}  // namespace kvern::conformance
