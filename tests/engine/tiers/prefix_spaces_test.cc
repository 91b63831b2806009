#include "engine/tiers/prefix_spaces.h"

#include <set>

#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "compute/numerics.h"
#include "engine/support/engines.h"
#include "engine/support/generation.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

Sha256Digest root_of(EngineOptions options) {
  const auto engine = test::open_bundled(std::move(options));
  EXPECT_OK(engine);
  const auto identity = prefix_identity(**engine);
  EXPECT_OK(identity);
  return store::make_prefix_space(*identity).root;
}

TEST(PrefixSpaces_identity, is_that_of_what_decides_the_bytes_of_rows_and_of_nothing_else) {
  const Sha256Digest plain = root_of({});
  EXPECT_EQ(plain, root_of({.threads = 1, .context_tokens = 77, .chunk_tokens = 3}));
  EXPECT_EQ(plain, root_of({.kv = {.layout = "slab"}}));
  EXPECT_EQ(plain, root_of({.kv = {.page = 16}}));
  std::set<Sha256Digest> others = {plain};
  for (const KvSettings& kv :
       {KvSettings{.type = "q8"}, {.type = "h4"}, {.type = "k=q8,v=q4"}, {.type = "q8", .keep_first = 32}}) {
    EXPECT_TRUE(others.insert(root_of({.kv = kv})).second) << kv.type;
  }
  // The same model with other weights in its files.
  EXPECT_TRUE(others.insert(root_of({.model_path = kvern::test::source_file(test::kBundledFolder)})).second);
}

// Bits that change without a new kNumericsVersion would let one build go on from rows of another, and give
// what neither computes alone. Who changes them on purpose raises the version and writes the new hashes here.
TEST(PrefixSpaces_identity, has_a_version_for_the_bits_of_results) {
  struct Golden {
    const char* type;
    uint64_t hash;
  };
  EXPECT_EQ(compute::kNumericsVersion, 2);
  for (const Golden& golden :
       {Golden{"f16", 8802727289312238595U}, Golden{"fp8", 1784327501888166754U},
        Golden{"q8", 1843591975026799856U}, Golden{"h6", 8540117624530442495U},
        Golden{"k=q5,v=q3", 2324798797589033143U}, Golden{"h4", 17087056418875217391U}}) {
    EngineOptions options{.context_tokens = 256, .chunk_tokens = 64};
    options.kv.type = golden.type;
    ASSERT_OK_AND_ASSIGN(const auto engine, test::open_bundled(options));
    const auto sink = test::run_cold(*engine, test::request_for(test::tokens_of(1, 100), 4));
    EXPECT_EQ(sink->choices.at(0).hashes.back(), golden.hash) << golden.type;
  }
}

TEST(PrefixSpaces_identity, knows_a_model_without_a_tokenizer) {
  const auto files = make_memory_files();
  ASSERT_OK(test::write_synthetic(*files));
  ASSERT_OK_AND_ASSIGN(const auto engine, Engine::open(*files, {.model_path = "/model.gguf", .threads = 1}));
  ASSERT_OK_AND_ASSIGN(const auto identity, prefix_identity(*engine));
  EXPECT_NE(identity.model.digest, Sha256Digest());
}

TEST(PrefixSpaces, gives_each_namespace_its_own_and_makes_it_once) {
  PrefixSpaces spaces(store::PrefixIdentity{.cache = "a cache\n"});
  const auto nobody = spaces.of("");
  const auto alice = spaces.of("alice");
  EXPECT_NE(nobody->root, alice->root);
  EXPECT_EQ(alice->identity.tenant, "alice");
  EXPECT_EQ(alice->identity.cache, "a cache\n");
  EXPECT_EQ(spaces.of("alice"), alice);
  EXPECT_EQ(spaces.size(), 2U);
}

TEST(PrefixSpaces, forgets_the_one_that_was_used_least) {
  PrefixSpaces spaces(store::PrefixIdentity{});
  const auto first = spaces.of("0");
  const auto second = spaces.of("1");
  for (size_t i = 2; i <= PrefixSpaces::kMost; ++i) {
    spaces.of(std::to_string(i));
    if (i == 5) spaces.of("0");
  }
  EXPECT_EQ(spaces.size(), PrefixSpaces::kMost);
  EXPECT_EQ(spaces.of("0"), first);
  const auto again = spaces.of("1");
  EXPECT_NE(again, second);
  EXPECT_EQ(again->root, second->root);
}

}  // namespace
}  // namespace kvern::engine
