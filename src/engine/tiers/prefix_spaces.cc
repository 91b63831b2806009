#include "engine/tiers/prefix_spaces.h"

#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "compute/numerics.h"
#include "model/fingerprint.h"

namespace kvern::engine {
namespace {

void add(Sha256& hash, std::string_view text) {
  // Lengths keep one part's end from passing for another's beginning.
  const std::string size = fmt::format("{} ", text.size());
  hash.update(std::as_bytes(std::span(size)));
  hash.update(std::as_bytes(std::span(text)));
}

/// What ids stand for. Rows depend on ids alone, so how text is cut into them need not be part of it.
Sha256Digest vocabulary_digest(const text::Tokenizer* tokenizer) {
  Sha256 hash;
  add(hash, "kvern vocabulary 1");
  if (tokenizer == nullptr) return hash.finish();
  for (size_t id = 0; id < tokenizer->vocab_size(); ++id) {
    const auto token = static_cast<text::TokenId>(id);
    add(hash, tokenizer->token_text(token));
    add(hash, tokenizer->is_special(token) ? "special" : "");
  }
  return hash.finish();
}

bool depends_on_context(const compute::RopeConfig& rope) {
  return rope.scaling == compute::RopeScaling::kDynamicNtk || rope.scaling == compute::RopeScaling::kLongRope;
}

}  // namespace

Result<store::PrefixIdentity> prefix_identity(const Engine& engine) {
  const model::ModelConfig& config = engine.model().config();
  store::PrefixIdentity identity;
  KVERN_TRY(identity.model, model::sampled_fingerprint(*engine.model().opened().source, config));
  identity.tokenizer = vocabulary_digest(engine.tokenizer());
  identity.cache = engine.kv().identity() + fmt::format("numerics={}\n", compute::kNumericsVersion);
  if (depends_on_context(config.rope) || (config.local_rope && depends_on_context(*config.local_rope)))
    identity.cache += fmt::format("rope context={}\n", config.rope.context);
  return identity;
}

Status set_identity(TierOptions& options, const Engine& engine) {
  KVERN_TRY(options.identity, prefix_identity(engine));
  options.identity_holds = [&engine] { return engine.check_weights().has_value(); };
  return Ok{};
}

std::shared_ptr<const store::PrefixSpace> PrefixSpaces::of(std::string_view name_space) {
  if (const auto found = known_.find(name_space); found != known_.end()) {
    order_.splice(order_.begin(), order_, found->second);
    return order_.front();
  }
  if (known_.size() >= kMost) {
    known_.erase(order_.back()->identity.tenant);
    order_.pop_back();
  }
  store::PrefixIdentity identity = identity_;
  identity.tenant = name_space;
  order_.push_front(
      std::make_shared<const store::PrefixSpace>(store::make_prefix_space(std::move(identity))));
  known_.emplace(order_.front()->identity.tenant, order_.begin());
  return order_.front();
}

}  // namespace kvern::engine
