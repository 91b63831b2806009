#include "compute/context.h"

#include <algorithm>
#include <new>

#include "base/check.h"

namespace kvern::compute {
namespace {
constexpr std::align_val_t kAlignment{64};
}

void Scratch::Free::operator()(std::byte* p) const { ::operator delete(p, kAlignment); }

std::byte* Scratch::get(size_t bytes) {
  if (bytes > size_) {
    const size_t grown = std::max(bytes, size_ + size_ / 2);
    data_.reset();
    data_.reset(static_cast<std::byte*>(::operator new(grown, kAlignment)));
    size_ = grown;
  }
  return data_.get();
}

Context::Context(CpuTarget target, int threads)
    : target_(target), pool_(threads), thread_scratch_(static_cast<size_t>(threads)) {
  KVERN_CHECK(is_supported(target));
}

}  // namespace kvern::compute
