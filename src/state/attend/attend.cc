#include "state/attend/attend.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "state/attend/block.h"

namespace kvern::state {
namespace {

// Tokens of one row that a task handles together: their queries share each load (and decoding) of keys and
// values.
constexpr int64_t kBlockTokens = 32;

}  // namespace

void attend(compute::Context& context, const AttendSource& source, const AttendArgs& args) {
  const LayerGeometry& g = source.geometry;
  KVERN_CHECK(args.heads > 0 && args.heads % g.kv_heads == 0);
  std::vector<AttendBlock> blocks;
  for (const AttendRow& row : source.rows) {
    for (int64_t t = 0; t < row.tokens; t += kBlockTokens) {
      for (int64_t head = 0; head < g.kv_heads; ++head) {
        blocks.push_back({&row, head, t, std::min(row.tokens, t + kBlockTokens)});
      }
    }
  }
  const BlockAttention block_attention(context, source, args);
  context.pool().run(std::ssize(blocks), [&](int64_t i, int thread) {
    block_attention.run(blocks[static_cast<size_t>(i)], context.thread_scratch(thread));
  });
}

}  // namespace kvern::state
