#include "state/layout/layout.h"

#include "base/check.h"
#include "state/layout/slab.h"

namespace kvern::state {

std::unique_ptr<Layout> make_layout(const LayoutOptions& options, const Geometry& geometry,
                                    MemoryAccount& account) {
  switch (options.kind) {
    case LayoutKind::kSlab:
      return std::make_unique<SlabLayout>(geometry, account, options.poison);
  }
  KVERN_CHECK(false);
  return nullptr;
}

}  // namespace kvern::state
