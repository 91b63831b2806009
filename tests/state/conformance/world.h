// Two caches of the same rows' keys and values between which rows travel, and beside them one slow reference
// row for each of their rows. Every operation is checked against what the references, the books and the
// contracts of KvCache say; the first thing that is wrong is kept as a text.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compute/context.h"
#include "state/sequence/kv_cache.h"
#include "support/reference/kv_reference.h"

namespace kvern::conformance {

/// The places where a row may live: caches of one identity, with different layouts, pages and slacks.
inline constexpr size_t kHome = 0;
inline constexpr size_t kAbroad = 1;

struct WorldSpec {
  std::vector<state::KvLayerSpec> layers;
  std::array<state::KvOptions, 2> options;  ///< of home and abroad
  int64_t group = 1;                        ///< query heads that share a key/value head
  float softcap = 0.0F;
  bool sink_logits = false;
};

/// What a row brings to a step and how much of it stays.
struct Bring {
  size_t row = 0;
  int64_t tokens = 0;
  int64_t keep = 0;
};

enum class StepEnd : uint8_t { kCommit, kRollback, kAbandon };

struct StepPlan {
  std::vector<Bring> brings;  ///< rows of one cache
  int attends = 1;            ///< reads of each layer; those after the first have other queries
  StepEnd end = StepEnd::kCommit;
};

class World {
 public:
  /// No allocation fails.
  static constexpr int64_t kNoFailure = -1;

  World(const WorldSpec& spec, compute::Context& context, uint32_t seed);

  /// Empty while all is right.
  const std::string& problem() const { return problem_; }
  size_t rows() const { return rows_.size(); }
  int64_t length(size_t row) const { return rows_[row].layers[0].length(); }
  size_t place(size_t row) const { return rows_[row].place; }
  int64_t minimum(size_t row) const;
  state::KvCache& cache(size_t place) { return *caches_[place]; }

  /// Let the next operation's allocations fail after so many; it must then change nothing.
  void fail_after(int64_t allocations) { fail_after_ = allocations; }

  void add_row();
  void remove(size_t row);
  void fork(size_t row);
  void truncate(size_t row, int64_t length);
  /// Out of its cache and into the one at `place`, through bytes or directly.
  void move(size_t row, size_t place, bool through_bytes);
  /// All rows from abroad come home.
  void merge();
  /// Removes the rows of one cache that are not named.
  void filter(size_t place, const std::vector<size_t>& keep);
  void step(const StepPlan& plan);
  /// Calls that must be refused without a trace.
  void refused(size_t row);
  /// Lengths, minima and bytes of everything.
  void check();

  /// Whether attention outputs were compared, and how many tokens of them.
  int64_t compared_tokens() const { return compared_tokens_; }

 private:
  struct Row {
    state::RowId id{};
    size_t place = kHome;
    std::vector<reference::KvReferenceRow> layers;
    std::vector<int64_t> tails;  // by layer: the first position that its window still has
    int64_t last_minimum = 0;
    bool only_grown = true;  // never cut
    bool native = true;      // never in the other cache
  };
  struct Inputs {
    const float* q;
    const float* k;
    const float* v;
    float scale;
    const float* sinks;
  };

  void expect(bool holds, const std::string& what);
  std::vector<std::vector<std::byte>> images() const;
  // Runs an operation that may lack memory; returns whether it succeeded. A failure changed nothing.
  template <typename Operation>
  bool attempt(size_t place, const Operation& operation);
  const float* numbers(int64_t count);
  Inputs inputs(size_t layer, int64_t tokens, bool read);
  int64_t heads(size_t layer) const { return spec_.layers[layer].kv_heads * spec_.group; }
  void attend(const state::Step& step, size_t layer, const StepPlan& plan, const Inputs& in);
  void compare(const state::Step& step, size_t layer, const StepPlan& plan, const Inputs& in);
  void advance(const state::Step& step, const StepPlan& plan);
  void finish(state::Step step, const StepPlan& plan);
  void closed(Row& row);
  int64_t expected_minimum(const Row& row) const;
  void check_row(Row& row);
  void check_books(size_t place);

  WorldSpec spec_;
  compute::Context& context_;
  std::array<std::unique_ptr<state::KvCache>, 2> caches_;
  std::array<bool, 2> lacked_memory_{};    // a layout may then be larger than it must
  std::array<bool, 2> ring_has_larger_{};  // by place: than its row asks for, for want of memory
  std::vector<Row> rows_;
  uint64_t random_;
  int64_t fail_after_ = kNoFailure;
  int64_t compared_tokens_ = 0;
  bool mixed_ = false;
  std::vector<Inputs> layer_inputs_;
  std::vector<float> out_;
  std::vector<float> expected_;
  std::string problem_;
};

}  // namespace kvern::conformance
