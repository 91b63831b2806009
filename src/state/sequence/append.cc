#include "state/sequence/append.h"

#include "state/sequence/kv_cache.h"

namespace kvern::state {
namespace {

// One side of the layer: k or v, dense or strided.
struct SideSource {
  KvSide side;
  const float* data;
  int64_t stride;
};

void encode_row(const AttendSource& target, const SideSource& source, const AttendRow& row,
                const CodecKernels& kernels) {
  const SideGeometry& geometry = target.geometry.side(source.side);
  const int64_t end = row.first + row.tokens;
  for (int64_t head = 0; head < target.geometry.kv_heads; ++head) {
    for (int64_t p = row.first; p < end;) {
      const EncodedRun run = target.layout.run(row.slot, {target.layer, head, source.side}, p, end);
      const float* from = source.data + (row.offset + p - row.first) * source.stride + head * geometry.dim;
      kernels.encode({from, source.stride, geometry.dim}, run);
      p += run.count;
    }
  }
}

}  // namespace

void encode_step(compute::Context& context, const AttendSource& target, const AppendArgs& args) {
  const LayerGeometry& g = target.geometry;
  const SideSource sides[2] = {
      {KvSide::kKey, args.k, args.k_stride != 0 ? args.k_stride : g.kv_heads * g.key.dim},
      {KvSide::kValue, args.v, args.v_stride != 0 ? args.v_stride : g.kv_heads * g.value.dim}};
  for (const SideSource& source : sides) {
    const CodecKernels& kernels = g.side(source.side).codec->kernels(context.target());
    for (const AttendRow& row : target.rows) encode_row(target, source, row, kernels);
  }
}

}  // namespace kvern::state
