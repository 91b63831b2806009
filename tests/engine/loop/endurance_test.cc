// What grows with time alone shows only after a long one.
#include <cstddef>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "engine/loop/batch.h"
#include "engine/support/engines.h"
#include "engine/support/generation.h"
#include "support/result_matchers.h"

namespace kvern::engine {
namespace {

using test::request_for;
using test::run_all;
using test::tokens_of;

/// Receives and forgets.
class Nobody final : public GenerationSink {
 public:
  void on_token(TokenEvent) override {}
  void on_choice_end(ChoiceEnd) override {}
  void on_end(const RequestEnd&) override {}
  void on_error(const Error& error) override { ADD_FAILURE() << error.to_string(); }
};

// Bytes of the process that are allocated and not given back; 0 where nobody counts them.
size_t heap_bytes() {
#ifdef __GLIBC__
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

// Case B58: two rows decode, for 200,000 steps. As one ends, the next joins.
TEST(Endurance, B58_two_rows_decode_for_two_hundred_thousand_steps_in_flat_memory) {
  const auto files = make_memory_files();
  ASSERT_OK(test::write_synthetic(*files));
  EngineOptions options{.model_path = "/model.gguf", .threads = 1, .context_tokens = 64};
  options.kv.page = 16;
  options.kv_budget_bytes = size_t{1} << 20;
  ASSERT_OK_AND_ASSIGN(const auto engine, Engine::open(*files, options));
  const auto clock = make_system_clock();
  LoopOptions loop{.max_rows = 2};
  loop.prefix.max_bytes = engine->kv().projected_bytes(64);
  Batch batch(*engine, *clock, loop);
  const auto nobody = std::make_shared<Nobody>();
  size_t most_kv = 0;
  size_t most_heap = 0;
  uint64_t next = 0;
  while (batch.stats().steps < 200'000) {
    while (batch.stats().running + batch.waiting() < 2) {
      ServiceRequest request =
          request_for(tokens_of(next % 50, 4 + next % 5, 50), 40 + static_cast<int64_t>(next % 16));
      request.generate.hash_logits = false;
      request.client = std::to_string(next % 10);
      ++next;
      ASSERT_OK(batch.submit(std::move(request), nobody));
    }
    batch.step();
    const uint64_t steps = batch.stats().steps;
    if (steps <= 10'000) {
      most_kv = std::max(most_kv, engine->kv().allocated_bytes());
      most_heap = std::max(most_heap, heap_bytes());
    } else if (steps % 50 == 0) {
      ASSERT_LE(engine->kv().allocated_bytes(), most_kv) << "after " << steps << " steps";
      // Where a table or a list grows once more than before, that is no growth with time.
      ASSERT_LE(heap_bytes(), most_heap + (size_t{16} << 10)) << "after " << steps << " steps";
    }
  }
  batch.cancel_all();
  run_all(batch);
  EXPECT_LE(engine->kv().live_bytes(), loop.prefix.max_bytes);
}

}  // namespace
}  // namespace kvern::engine
