// Rows that are saved and restored in pieces: on every type, layout and rule that the conformance suite
// draws.
#include "conformance/product.h"
#include "conformance/world.h"

#include <map>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "state/sequence/piece.h"
#include "support/result_matchers.h"

namespace kvern::state {
namespace {

using conformance::Place;
using conformance::Product;
using conformance::WorldSpec;

compute::Context& context() {
  static compute::Context made(*compute::best_target(), 1);
  return made;
}

// A cache of the suite's whose rows get random numbers.
class Cache {
 public:
  Cache(const std::vector<KvLayerSpec>& layers, const KvOptions& options, uint32_t seed)
      : layers_(layers), cache_(*KvCache::create({layers}, options)), random_(seed) {}

  KvCache& operator*() { return *cache_; }
  KvCache* operator->() { return cache_.get(); }

  void grow(RowId row, int64_t tokens) {
    const RowAppend append[] = {{row, tokens}};
    auto step = cache_->begin(append);
    ASSERT_OK(step);
    std::uniform_real_distribution<float> number(-2.0F, 2.0F);
    for (size_t l = 0; l < layers_.size(); ++l) {
      std::vector<float> k(static_cast<size_t>(tokens * layers_[l].kv_heads * layers_[l].k_dim));
      std::vector<float> v(static_cast<size_t>(tokens * layers_[l].kv_heads * layers_[l].v_dim));
      for (float& x : k) x = number(random_);
      for (float& x : v) x = number(random_);
      cache_->append(context(), static_cast<LayerIndex>(l), *step, {.k = k.data(), .v = v.data()});
    }
    cache_->commit(*std::move(step));
  }
  // A number in [0, end).
  int64_t draw(int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(random_); }

 private:
  std::vector<KvLayerSpec> layers_;
  std::unique_ptr<KvCache> cache_;
  std::mt19937 random_;
};

std::vector<std::byte> bytes_of(KvCache& cache, RowId row) { return to_bytes(*cache.extract(row)); }

std::vector<std::byte> read(const RowPin& pin, size_t store, const PositionRange& range) {
  std::vector<std::byte> bytes(static_cast<size_t>(range.size()) * pin.stores()[store].bytes_per_position);
  pin.read(store, range, bytes);
  return bytes;
}

// All pieces that `shape` asks for, from the pin into a draft.
void carry(const RowPin& pin, RowDraft& draft, int64_t page) {
  for (size_t s = 0; s < pin.stores().size(); ++s) {
    for (const PositionRange& piece : held_pieces(pin.stores()[s], draft.shape().stores[s], page)) {
      EXPECT_LT(draft.complete_until(), draft.shape().length);
      ASSERT_OK(draft.write(s, piece, read(pin, s, piece)));
    }
  }
}

// A row goes from one layout to another in pieces, also cut on the way; its cache goes on meanwhile.
void travel(const WorldSpec& spec, uint32_t seed) {
  Cache home(spec.layers, spec.options[0], seed);
  KvOptions options = spec.options[1];
  options.slack = spec.options[0].slack;  // so that a cut keeps the same positions
  Cache abroad(spec.layers, options, seed);
  const RowId row = home->add_row();
  home.grow(row, 1 + home.draw(150));
  if (home.draw(2) == 0) home.grow(row, 1 + home.draw(40));

  const RowId cut = *home->fork(row);
  const int64_t minimum = *home->minimum_reusable_position(row);
  const int64_t length = minimum + home.draw(*home->length(row) - minimum + 1);
  ASSERT_OK(home->truncate(cut, length));

  ASSERT_OK_AND_ASSIGN(RowPin pin, home->pin(row));
  EXPECT_EQ(pin.shape(), *home->shape(row));
  // The row may remember that more was dropped than could be missed.
  EXPECT_LE(*home->minimum_reusable_position(pin.shape()), minimum);
  ASSERT_OK_AND_ASSIGN(const RowShape shape, home->shape_after_cut(pin.shape(), length));
  EXPECT_EQ(shape, *home->shape(cut));
  const auto whole_bytes = bytes_of(*home, row);
  const auto cut_bytes = bytes_of(*home, cut);

  ASSERT_OK(home->truncate(row, minimum));
  home.grow(row, 20);  // over what the pin holds
  ASSERT_OK(home->remove_row(row));

  ASSERT_OK_AND_ASSIGN(RowDraft draft, abroad->draft(shape));
  carry(pin, draft, 16 << home.draw(4));
  EXPECT_EQ(draft.complete_until(), length);
  ASSERT_OK_AND_ASSIGN(const RowId arrived, draft.finish(length));
  EXPECT_EQ(bytes_of(*abroad, arrived), cut_bytes);
  EXPECT_LE(*abroad->minimum_reusable_position(arrived), *home->minimum_reusable_position(cut));

  // The cut row out of the pieces of the whole one.
  ASSERT_OK_AND_ASSIGN(RowDraft parts, abroad->draft(shape));
  for (size_t s = 0; s < pin.stores().size(); ++s) {
    for (const PositionRange& piece : held_pieces(pin.stores()[s], pin.shape().stores[s], 64))
      ASSERT_OK(parts.write(s, piece, read(pin, s, piece)));
  }
  ASSERT_OK_AND_ASSIGN(const RowId from_parts, parts.finish(length));
  EXPECT_EQ(bytes_of(*abroad, from_parts), cut_bytes);

  // The whole row, but its last pieces are lost.
  ASSERT_OK_AND_ASSIGN(RowDraft whole, abroad->draft(pin.shape()));
  carry(pin, whole, 64);
  ASSERT_OK_AND_ASSIGN(const RowId complete, whole.finish(length));
  EXPECT_EQ(bytes_of(*abroad, complete), cut_bytes);
  ASSERT_OK_AND_ASSIGN(RowDraft again, abroad->draft(pin.shape()));
  carry(pin, again, 64);
  ASSERT_OK_AND_ASSIGN(const RowId all, again.finish(pin.shape().length));
  EXPECT_EQ(bytes_of(*abroad, all), whole_bytes);
  ASSERT_OK(abroad->filter({}));
  EXPECT_EQ(abroad->live_bytes(), 0U);
}

TEST(Pieces, CarryRowsOfEveryKindBetweenAllLayouts) {
  const Product product;
  for (uint64_t script = 0; script < product.cells(); ++script) {
    const Place place = product.place(script);
    WorldSpec spec = product.draw(place, script);
    for (KvOptions& options : spec.options) options.budget_bytes = 0;
    SCOPED_TRACE(testing::Message() << "script " << script << ": " << product.types()[place.type].name
                                    << " in " << to_string(place.layout) << ", rule "
                                    << static_cast<int>(place.policy));
    travel(spec, static_cast<uint32_t>(script));
    if (testing::Test::HasFailure()) return;
  }
}

constexpr KvType kQ4{.kind = CodecKind::kAffine, .bits = 4, .group = 32};
constexpr KvLayerSpec kPlain{.kv_heads = 2, .k_dim = 32, .v_dim = 32};
constexpr KvLayerSpec kWindowed{.kv_heads = 1, .k_dim = 32, .v_dim = 32, .window = 8, .sinks = 2};
constexpr LayoutKind kLayouts[] = {LayoutKind::kSlab, LayoutKind::kRing, LayoutKind::kPaged,
                                   LayoutKind::kPadded};

KvOptions options(LayoutKind layout) {
  return {.types = {kQ4, kQ4}, .layout = layout, .page = 16, .slack = 4, .poison = true};
}

TEST(Pieces, AreTheSameBytesInEveryLayoutAndPhase) {
  std::map<std::pair<size_t, int64_t>, std::vector<std::byte>> first;
  for (const LayoutKind layout : kLayouts) {
    for (const int64_t chunk : {300, 7}) {  // a ring that grows by chunks has other phases
      Cache cache({kPlain, kWindowed}, options(layout), 5);
      const RowId row = cache->add_row();
      // The same numbers whatever the chunks: all tokens of a step are equal here.
      const std::vector<float> numbers(static_cast<size_t>(300 * 64), 0.25F);
      for (int64_t done = 0; done < 300;) {
        const int64_t tokens = std::min(chunk, 300 - done);
        const RowAppend append[] = {{row, tokens}};
        auto step = cache->begin(append);
        ASSERT_OK(step);
        for (const int l : {0, 1}) {
          cache->append(context(), static_cast<LayerIndex>(l), *step,
                        {.k = numbers.data(), .v = numbers.data()});
        }
        cache->commit(*std::move(step));
        done += tokens;
      }
      ASSERT_OK_AND_ASSIGN(const RowPin pin, cache->pin(row));
      for (size_t s = 0; s < pin.stores().size(); ++s) {
        for (const PositionRange& piece : held_pieces(pin.stores()[s], pin.shape().stores[s], 64)) {
          const auto bytes = read(pin, s, piece);
          const auto [known, added] = first.try_emplace({s, piece.begin}, bytes);
          EXPECT_EQ(known->second, bytes) << to_string(layout) << " " << piece.begin;
        }
      }
    }
  }
  EXPECT_EQ(first.size(), 5U + 2U);  // five pages; two sinks and the window, which lies in one page
}

TEST(Pieces, OfAPagedRowAreReadWhileTheCacheGoesOn) {
  Cache cache({kPlain, kWindowed}, options(LayoutKind::kPaged), 9);
  const RowId row = cache->add_row();
  cache.grow(row, 150);
  const auto expected = bytes_of(*cache, row);
  const size_t live = cache->live_bytes();
  auto pin = cache->pin(row);
  ASSERT_OK(pin);
  EXPECT_EQ(cache->live_bytes(), live);
  Cache to({kPlain, kWindowed}, options(LayoutKind::kSlab), 9);
  std::map<std::pair<size_t, int64_t>, std::vector<std::byte>> pieces;
  const RowShape shape = pin->shape();
  std::thread saver([&, pin = *std::move(pin)] {
    for (size_t s = 0; s < pin.stores().size(); ++s) {
      for (const PositionRange& piece : held_pieces(pin.stores()[s], shape.stores[s], 16))
        pieces[{s, piece.begin}] = read(pin, s, piece);
    }
  });
  ASSERT_OK(cache->truncate(row, 148));
  for (int i = 0; i < 200; ++i) cache.grow(row, 1);
  ASSERT_OK(cache->remove_row(row));
  saver.join();
  cache->drop_released_pins();
  EXPECT_EQ(cache->live_bytes(), 0U);
  ASSERT_OK_AND_ASSIGN(RowDraft draft, to->draft(shape));
  for (size_t s = 0; s < to->stores().size(); ++s) {
    for (const PositionRange& piece : held_pieces(to->stores()[s], shape.stores[s], 16))
      ASSERT_OK(draft.write(s, piece, pieces.at({s, piece.begin})));
  }
  ASSERT_OK_AND_ASSIGN(const RowId arrived, draft.finish(150));
  EXPECT_EQ(bytes_of(*to, arrived), expected);
}

TEST(Pieces, ThatDoNotBelongToTheRowAreRefused) {
  Cache cache({kPlain, kWindowed}, options(LayoutKind::kSlab), 1);
  const RowId row = cache->add_row();
  cache.grow(row, 100);
  const RowShape shape = *cache->shape(row);
  ASSERT_OK_AND_ASSIGN(RowDraft draft, cache->draft(shape));
  const std::vector<std::byte> page(16 * cache->stores()[0].bytes_per_position);
  EXPECT_OK(draft.write(0, {0, 16}, page));
  EXPECT_ERROR(draft.write(0, {0, 15}, page), kInvalidArgument, "does not belong");
  EXPECT_ERROR(draft.write(0, {16, 16}, {}), kInvalidArgument, "does not belong");
  EXPECT_ERROR(draft.write(2, {0, 16}, page), kInvalidArgument, "does not belong");
  // Of what the row does not hold nothing is taken: beyond its end, and between the sinks and the window.
  EXPECT_OK(draft.write(0, {96, 112}, page));
  EXPECT_OK(draft.write(0, {-16, 0}, page));
  const std::vector<std::byte> some(4 * cache->stores()[1].bytes_per_position);
  EXPECT_OK(draft.write(1, {40, 44}, some));
  EXPECT_EQ(draft.complete_until(), 0);  // the sinks are missing
  EXPECT_ERROR(draft.finish(100), kInvalidArgument, "lacks positions");
}

TEST(Pieces, OfDraftsThatAreGivenUpLeaveNothing) {
  for (const LayoutKind layout : kLayouts) {
    Cache cache({kPlain, kWindowed}, options(layout), 1);
    const RowId row = cache->add_row();
    cache.grow(row, 100);
    const RowShape shape = *cache->shape(row);
    const size_t live = cache->live_bytes();
    {
      ASSERT_OK_AND_ASSIGN(const RowDraft draft, cache->draft(shape));
    }
    EXPECT_EQ(cache->live_bytes(), live);
    for (size_t allowed = 0;; ++allowed) {
      cache->fail_allocations_after(allowed);
      auto draft = cache->draft(shape);
      cache->fail_allocations_after();
      if (draft) break;
      EXPECT_ERROR(draft, kExhausted, "");
      EXPECT_EQ(cache->live_bytes(), live) << to_string(layout);
    }
  }
}

TEST(Pieces, OfAShapeThatContradictsItselfAreRefused) {
  Cache cache({kPlain, kWindowed}, options(LayoutKind::kPaged), 1);
  const RowId row = cache->add_row();
  cache.grow(row, 100);
  const RowShape good = *cache->shape(row);
  const auto refused = [&](const auto& change) {
    RowShape shape = good;
    change(shape);
    EXPECT_ERROR(cache->draft(shape), kCorrupt, "contradicts");
    EXPECT_ERROR(cache->minimum_reusable_position(shape), kCorrupt, "contradicts");
  };
  refused([](RowShape& s) { s.length = -1; });
  refused([](RowShape& s) { s.length = 99; });
  refused([](RowShape& s) { s.length = int64_t{1} << 62; });
  refused([](RowShape& s) { s.stores.pop_back(); });
  refused([](RowShape& s) { s.stores.emplace_back(); });
  refused([](RowShape& s) { ++s.stores[0].length; });
  refused([](RowShape& s) { s.stores[0].tail_begin = 3; });
  refused([](RowShape& s) { s.stores[1].tail_begin = 99; });
  refused([](RowShape& s) { s.stores[1].tail_begin = 1; });
  EXPECT_ERROR(cache->shape_after_cut(good, 101), kInvalidArgument, "cannot be cut");
  EXPECT_ERROR(cache->shape_after_cut(good, 90), kInvalidArgument, "cannot be cut");
  EXPECT_OK(cache->shape_after_cut(good, 96));
}

TEST(Pieces, SayWhatAStoreIs) {
  Cache cache({kPlain, kPlain, kWindowed}, options(LayoutKind::kSlab), 1);
  const std::vector<RowStore> stores = cache->stores();
  ASSERT_EQ(stores.size(), 2U);
  EXPECT_EQ(stores[0].text, "layers=0-1 heads=2 k=32:q4g32 v=32:q4g32\n");
  EXPECT_EQ(stores[1].text, "layers=2 heads=1 k=32:q4g32 v=32:q4g32\n");
  EXPECT_EQ(stores[1].head_end, 2);
}

}  // namespace
}  // namespace kvern::state
