// Rows of real caches through a disk: every type, layout and rule that the conformance suite draws.
#include "store/row/saved_row.h"

#include "conformance/product.h"
#include "conformance/world.h"

#include <random>

#include <gtest/gtest.h>

#include "store/entries.h"
#include "store/tier/disk_tier.h"
#include "support/result_matchers.h"

namespace kvern::store {
namespace {

using conformance::Product;
using conformance::WorldSpec;
using state::KvCache;
using state::RowId;
using std::chrono::steady_clock;

const auto kForEver = steady_clock::now() + std::chrono::hours(24);

compute::Context& context() {
  static compute::Context made(*compute::best_target(), 1);
  return made;
}

void grow(KvCache& cache, RowId row, int64_t tokens, std::mt19937& random) {
  const state::RowAppend append[] = {{row, tokens}};
  auto step = cache.begin(append);
  ASSERT_OK(step);
  std::uniform_real_distribution<float> number(-2.0F, 2.0F);
  for (size_t l = 0; l < cache.spec().layers.size(); ++l) {
    const state::KvLayerSpec& layer = cache.spec().layers[l];
    std::vector<float> k(static_cast<size_t>(tokens * layer.kv_heads * layer.k_dim));
    std::vector<float> v(static_cast<size_t>(tokens * layer.kv_heads * layer.v_dim));
    for (float& x : k) x = number(random);
    for (float& x : v) x = number(random);
    cache.append(context(), static_cast<state::LayerIndex>(l), *step, {.k = k.data(), .v = v.data()});
  }
  cache.commit(*std::move(step));
}

std::shared_ptr<const PrefixSpace> space_of(const KvCache& cache) {
  PrefixIdentity identity = test::sample_space().identity;
  identity.cache = cache.identity();
  return std::make_shared<const PrefixSpace>(make_prefix_space(identity));
}

Result<std::optional<RowRestore::Row>> restore(KvCache& cache, TierHit hit) {
  RowRestore restore(cache, std::move(hit));
  for (bool more = true; more;) {
    KVERN_TRY(more, restore.step(5000));
    if (more) restore.wait(kForEver);
  }
  return restore.finish();
}

// Saves a row, drops its cache, brings back as much of it as a prompt shares.
void travel(const WorldSpec& spec, uint32_t seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  auto options = spec.options;
  for (auto& o : options) o.budget_bytes = 0;
  options[1].slack = options[0].slack;
  auto home = *KvCache::create({spec.layers}, options[0]);
  const RowId row = home->add_row();
  grow(*home, row, 1 + draw(150), random);
  grow(*home, row, 1 + draw(40), random);
  const int64_t length = *home->length(row);
  const int64_t minimum = *home->minimum_reusable_position(row);
  const int64_t shared = std::max<int64_t>(1, minimum + draw(length - minimum + 1));
  const auto tokens = test::tokens_of(length, seed);
  test::Place place;
  ASSERT_OK_AND_ASSIGN(auto store, place.open());
  const auto space = space_of(*home);
  const RowId cut = *home->fork(row);
  ASSERT_OK(home->truncate(cut, shared));
  const auto expected = to_bytes(*home->extract(cut));
  {
    DiskTier tier(*store, place.log, {});
    ASSERT_OK_AND_ASSIGN(NewEntry entry, entry_of_row(*home, row, space, tokens));
    ASSERT_TRUE(tier.offer(std::move(entry)));
    grow(*home, row, 3, random);  // while it is saved
    ASSERT_TRUE(tier.flush(kForEver).durable) << place.log.text();
  }
  home.reset();
  store.reset();
  ASSERT_OK_AND_ASSIGN(store, place.open());
  DiskTier tier(*store, place.log, {});
  auto abroad = *KvCache::create({spec.layers}, options[1]);
  std::vector<int32_t> prompt(tokens.begin(), tokens.begin() + shared);
  prompt.push_back(50001);
  auto hit = tier.lookup(space_of(*abroad), prompt, 0);
  ASSERT_TRUE(hit.has_value());
  EXPECT_EQ(hit->tokens, shared);
  ASSERT_OK_AND_ASSIGN(const auto restored, restore(*abroad, *std::move(hit)));
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->tokens, shared);
  EXPECT_EQ(to_bytes(*abroad->extract(restored->row)), expected);
}

TEST(SavedRow, OfEveryKindComesBackInEveryLayout) {
  const Product product;
  for (uint64_t script = 0; script < product.cells(); script += 29) {
    const auto place = product.place(script);
    SCOPED_TRACE(testing::Message() << "script " << script << ": " << product.types()[place.type].name
                                    << " in " << to_string(place.layout) << ", rule "
                                    << static_cast<int>(place.policy));
    travel(product.draw(place, script), static_cast<uint32_t>(script));
    if (testing::Test::HasFailure()) return;
  }
}

class OneRow : public testing::Test {
 protected:
  static constexpr state::KvLayerSpec kPlain{.kv_heads = 1, .k_dim = 8, .v_dim = 8};

  std::unique_ptr<KvCache> cache(size_t budget = 0) {
    state::KvOptions options{.types = {{.kind = state::CodecKind::kF16}, {.kind = state::CodecKind::kF16}},
                             .layout = state::LayoutKind::kPaged,
                             .page = 16};
    options.budget_bytes = budget;
    return *KvCache::create({{kPlain}}, options);
  }
  void save() {
    auto home = cache();
    const RowId row = home->add_row();
    grow(*home, row, 100, random_);
    DiskTier tier(*store_, place_.log, {});
    space_ = space_of(*home);
    ASSERT_OK_AND_ASSIGN(NewEntry entry, entry_of_row(*home, row, space_, tokens_));
    ASSERT_TRUE(tier.offer(std::move(entry)));
    ASSERT_TRUE(tier.flush(kForEver).durable);
  }
  std::vector<int32_t> prompt() const {
    auto prompt = tokens_;
    prompt.push_back(1);
    return prompt;
  }

  test::Place place_;
  std::unique_ptr<DiskStore> store_ = *place_.open();
  std::shared_ptr<const PrefixSpace> space_;
  std::vector<int32_t> tokens_ = test::tokens_of(100, 1);
  std::mt19937 random_{3};
};

TEST_F(OneRow, IsAsLongAsItsWholePieces) {
  save();
  ASSERT_OK_AND_ASSIGN(const Manifest m, store_->manifest(store_->list()->front().manifest));
  ASSERT_OK(place_.files->remove("kv/blocks/" + m.pieces[3].block->to_string()));
  DiskTier tier(*store_, place_.log, {});
  auto to = cache();
  ASSERT_OK_AND_ASSIGN(const auto restored, restore(*to, *tier.lookup(space_, prompt(), 0)));
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->tokens, 48);
  EXPECT_EQ(*to->length(restored->row), 48);
  ASSERT_OK(to->remove_row(restored->row));
  EXPECT_EQ(to->live_bytes(), 0U);
}

TEST_F(OneRow, ThatFindsNoRoomLeavesNothing) {
  save();
  DiskTier tier(*store_, place_.log, {});
  auto to = cache(1000);
  EXPECT_ERROR(restore(*to, *tier.lookup(space_, prompt(), 0)), kExhausted, "");
  EXPECT_EQ(to->live_bytes(), 0U);
}

TEST_F(OneRow, MayFindRoomLater) {
  save();
  DiskTier tier(*store_, place_.log, {});
  auto to = cache();
  RowRestore restore(*to, *tier.lookup(space_, prompt(), 0));
  restore.wait(kForEver);
  to->fail_allocations_after(0);
  EXPECT_ERROR(restore.step(5000), kExhausted, "");
  EXPECT_FALSE(restore.holds_storage());
  to->fail_allocations_after();
  for (bool more = true; more;) {
    ASSERT_OK_AND_ASSIGN(more, restore.step(5000));
    if (more) restore.wait(kForEver);
  }
  EXPECT_GT(restore.copied_bytes(), 0U);
  ASSERT_OK_AND_ASSIGN(const auto row, restore.finish());
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->tokens, 100);
}

TEST_F(OneRow, IsNoneWhenNothingHasArrivedYet) {
  save();
  DiskTier tier(*store_, place_.log, {.restores = {.threads = 1, .ahead_bytes = 1, .batch_bytes = 1}});
  auto to = cache();
  RowRestore restore(*to, *tier.lookup(space_, prompt(), 0));
  ASSERT_OK_AND_ASSIGN(const auto row, restore.finish());
  EXPECT_FALSE(row.has_value());
  EXPECT_EQ(to->live_bytes(), 0U);
}

TEST_F(OneRow, WithoutItsManifestIsAMiss) {
  save();
  DiskTier tier(*store_, place_.log, {});
  ASSERT_OK(place_.files->remove("kv/manifests/" + store_->list()->front().manifest.to_string()));
  auto to = cache();
  ASSERT_OK_AND_ASSIGN(const auto restored, restore(*to, *tier.lookup(space_, prompt(), 0)));
  EXPECT_FALSE(restored.has_value());
  EXPECT_FALSE(tier.lookup(space_, prompt(), 0).has_value());
}

TEST_F(OneRow, MustHoldTheTokensThatItIsSaidTo) {
  auto home = cache();
  const RowId row = home->add_row();
  grow(*home, row, 5, random_);
  EXPECT_ERROR(entry_of_row(*home, row, space_of(*home), tokens_), kInvalidArgument, "100");
}

}  // namespace
}  // namespace kvern::store
