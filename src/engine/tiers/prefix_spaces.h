// Whose state this engine's rows are: the identities of its namespaces.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "engine/load/engine.h"
#include "engine/tiers/tier_options.h"
#include "store/prefix/prefix_space.h"

namespace kvern::engine {

/// Of the weights (a sample of them, see model::sampled_fingerprint), the vocabulary and the cache, with the
/// context where rope scaling depends on it; nobody's, no adapter. Fails when the model's file has changed.
Result<store::PrefixIdentity> prefix_identity(const Engine& engine);

/// The former, and that it holds as long as the model's files are what they were.
Status set_identity(TierOptions& options, const Engine& engine);

/// Makes the hashes of each namespace once, as long as they are not too many. One thread.
class PrefixSpaces {
 public:
  explicit PrefixSpaces(store::PrefixIdentity identity) : identity_(std::move(identity)) {}

  std::shared_ptr<const store::PrefixSpace> of(std::string_view name_space);
  size_t size() const { return known_.size(); }

  static constexpr size_t kMost = 1024;

 private:
  using Order = std::list<std::shared_ptr<const store::PrefixSpace>>;  // the last used first

  store::PrefixIdentity identity_;
  Order order_;
  std::unordered_map<std::string_view, Order::iterator> known_;  // the names are the spaces' own
};

}  // namespace kvern::engine
