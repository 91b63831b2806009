// Requests that are served one after the other, or side by side, with kept prefixes and no model: the keys
// and values of a token are a function of all tokens up to it, so a row that continues a wrong beginning
// attends to something else than a cold one.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "engine/prefix/prefix_cache.h"
#include "state/sequence/kv_cache.h"

namespace kvern::engine::test {

using Tokens = std::vector<int32_t>;

/// `count` tokens that follow from the seed.
inline Tokens some_tokens(uint32_t seed, int64_t count) {
  std::mt19937 random(seed);
  Tokens tokens(static_cast<size_t>(count));
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % 1000);
  return tokens;
}

inline Tokens joined(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline state::KvLayerSpec layer_of(int64_t window, int64_t dim = 64) {
  return {.kv_heads = 1, .k_dim = dim, .v_dim = dim, .window = window};
}

/// A cache of rows whose tokens are known.
class TokenRows {
 public:
  TokenRows(const state::KvSpec& spec, const state::KvOptions& options)
      : context_(*compute::best_target(), 1), kv_(std::move(state::KvCache::create(spec, options)).value()) {}

  state::KvCache& kv() { return *kv_; }

  /// Appends the tokens of `all` from the row's length up to `end`.
  bool grow(state::RowId row, std::span<const int32_t> all, int64_t end) {
    const int64_t first = *kv_->length(row);
    const state::RowAppend append{row, end - first};
    auto step = kv_->begin({&append, 1});
    if (!step) return false;
    for (size_t layer = 0; layer < kv_->spec().layers.size(); ++layer) {
      make_inputs(layer, all.first(static_cast<size_t>(end)), first);
      kv_->append(context_, static_cast<state::LayerIndex>(layer), *step, {.k = k_.data(), .v = v_.data()});
    }
    kv_->commit(*std::move(step));
    return true;
  }

  /// What a token behind the row sees in all layers; the row stays as it is.
  std::vector<float> look(state::RowId row) {
    const state::RowAppend append{row, 1};
    auto step = kv_->begin({&append, 1});
    KVERN_CHECK(step.has_value());
    std::vector<float> seen;
    for (size_t layer = 0; layer < kv_->spec().layers.size(); ++layer) {
      const auto dim = static_cast<size_t>(kv_->spec().layers[layer].k_dim);
      std::vector<float> query(dim, 0.25F);
      for (size_t i = 0; i < dim; i += 3) query[i] = -0.5F;
      std::vector<float> out(static_cast<size_t>(kv_->spec().layers[layer].v_dim));
      const auto index = static_cast<state::LayerIndex>(layer);
      kv_->append(context_, index, *step, {.k = query.data(), .v = query.data()});
      kv_->attend(context_, index, *step, {.q = query.data(), .out = out.data(), .heads = 1, .scale = 0.5F});
      seen.insert(seen.end(), out.begin(), out.end());
    }
    kv_->rollback(*std::move(step));
    return seen;
  }

 private:
  void make_inputs(size_t layer, std::span<const int32_t> tokens, int64_t first) {
    const state::KvLayerSpec& spec = kv_->spec().layers[layer];
    const auto dim = static_cast<size_t>(spec.k_dim);
    const auto count = static_cast<size_t>(std::ssize(tokens) - first);
    k_.resize(count * dim);
    v_.resize(count * dim);
    uint64_t history = layer + 1;
    for (size_t p = 0; p < tokens.size(); ++p) {
      history = (history ^ static_cast<uint64_t>(tokens[p])) * 0x9e3779b97f4a7c15ULL + p;
      if (std::cmp_less(p, first)) continue;
      uint64_t state = history;
      const size_t at = (p - static_cast<size_t>(first)) * dim;
      for (size_t i = 0; i < dim; ++i) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        k_[at + i] = static_cast<float>(static_cast<int32_t>(state >> 32)) * 0x1p-31F;
        v_[at + i] = static_cast<float>(static_cast<int32_t>(state >> 16)) * 0x1p-31F;
      }
    }
  }

  compute::Context context_;
  std::unique_ptr<state::KvCache> kv_;
  std::vector<float> k_;
  std::vector<float> v_;
};

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

struct Served {
  int64_t reused = 0;
  int64_t computed = 0;
  int64_t common = 0;
  int64_t chunks = 0;
  std::vector<float> seen;  // behind the prompt
};

/// A prefix cache over rows, and what a loop does with both.
class PrefixScene {
 public:
  struct Options {
    state::KvSpec spec{{layer_of(0)}};
    state::KvOptions kv{};
    PrefixOptions prefix{.max_bytes = size_t{1} << 30, .snapshot_tokens = 256};
    int64_t chunk = 512;
  };
  explicit PrefixScene(const Options& options)
      : options_(options),
        rows_(options.spec, poisoned(options.kv)),
        prefixes_(std::make_unique<PrefixCache>(rows_.kv(), options.prefix)) {}

  PrefixCache& prefixes() { return *prefixes_; }
  state::KvCache& kv() { return rows_.kv(); }
  TokenRows& rows() { return rows_; }

  /// The prompt of a request, computed; its row runs.
  struct Request {
    std::string name_space;
    state::RowId row{};
    Tokens tokens;  // what the row holds
    Served served;
  };
  Request start(const Tokens& prompt, const std::string& name_space = "") {
    auto hit = prefixes_->take(name_space, prompt);
    KVERN_CHECK(hit.has_value());
    Request request{.name_space = name_space, .row = hit->row, .tokens = prompt, .served = {}};
    request.served.reused = hit->tokens;
    request.served.common = hit->common;
    const int64_t size = std::ssize(prompt);
    for (int64_t at = hit->tokens; at < size; ++request.served.chunks) {
      const int64_t end = std::min(prefixes_->chunk_end(name_space, prompt, at), at + options_.chunk);
      KVERN_CHECK(at < end && rows_.grow(hit->row, prompt, end));
      at = end;
      prefixes_->running(name_space, hit->row, std::span(prompt).first(static_cast<size_t>(at)));
      prefixes_->snapshot(name_space, hit->row, prompt);
    }
    request.served.computed = size - hit->tokens;
    request.served.seen = rows_.look(hit->row);
    return request;
  }
  void generate(Request& request, const Tokens& answer) {
    for (const int32_t token : answer) {
      request.tokens.push_back(token);
      KVERN_CHECK(rows_.grow(request.row, request.tokens, std::ssize(request.tokens)));
      prefixes_->running(request.name_space, request.row, request.tokens);
    }
  }
  void end(const Request& request) { prefixes_->put(request.name_space, request.tokens, request.row); }

  Served serve(const Tokens& prompt, const Tokens& answer = {}, const std::string& name_space = "") {
    Request request = start(prompt, name_space);
    generate(request, answer);
    end(request);
    return request.served;
  }

  /// Whether a request saw what it sees in a fresh cache, in one chunk.
  bool as_cold(const Tokens& prompt, const Served& served) const {
    state::KvOptions kv = poisoned(options_.kv);
    kv.layout = state::LayoutKind::kSlab;
    kv.budget_bytes = 0;
    TokenRows cold(options_.spec, kv);
    const state::RowId row = cold.kv().add_row();
    KVERN_CHECK(cold.grow(row, prompt, std::ssize(prompt)));
    return same_bits(cold.look(row), served.seen);
  }

 private:
  static state::KvOptions poisoned(state::KvOptions options) {
    options.poison = true;
    return options;
  }

  Options options_;
  TokenRows rows_;
  std::unique_ptr<PrefixCache> prefixes_;
};

}  // namespace kvern::engine::test
