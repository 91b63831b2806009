#include "kvern/state.h"
#include "state/api/impl.h"

namespace kvern {

KvRowImage::KvRowImage(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KvRowImage::KvRowImage(const KvRowImage& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
KvRowImage& KvRowImage::operator=(const KvRowImage& other) {
  if (this != &other) impl_ = std::make_unique<Impl>(*other.impl_);
  return *this;
}
KvRowImage::KvRowImage(KvRowImage&&) noexcept = default;
KvRowImage& KvRowImage::operator=(KvRowImage&&) noexcept = default;
KvRowImage::~KvRowImage() = default;

Result<KvRowImage> KvRowImage::from_bytes(std::span<const std::byte> bytes) {
  KVERN_TRY(state::RowImage image, state::row_image_from_bytes(bytes));
  return KvRowImage(std::make_unique<Impl>(Impl{std::move(image)}));
}

int64_t KvRowImage::length() const { return impl_->image.length; }
size_t KvRowImage::bytes() const { return impl_->image.bytes(); }
std::vector<std::byte> KvRowImage::to_bytes() const { return state::to_bytes(impl_->image); }

}  // namespace kvern
