// The full product of what a cache can be: type x layout x policy x rows x threads x instruction set, and
// which script runs on which part of it.
#pragma once

#include "conformance/world.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compute/cpu_target.h"

namespace kvern::conformance {

enum class Policy : uint8_t {
  kAll,
  kWindow,
  kWindowSinks,
  kStart,
  kFirst,
  kLast,
  kPrecisionWindowSinks,
  kSoftcap,
  kSinkLogits,
};

/// A type that keys or values may have, and a head size of each that fits it.
struct TypeRow {
  std::string name;
  state::KvType type;
  bool key = false;
  bool value = false;
};

struct Place {
  size_t type = 0;  ///< index into Product::types()
  state::LayoutKind layout{};
  Policy policy{};
  int64_t rows = 1;
  int threads = 1;
  compute::CpuTarget target{};
  uint64_t round = 0;
};

/// Counts what was run.
class Product {
 public:
  static constexpr int64_t kMostRows = 17;
  static constexpr int kMostThreads = 3;

  Product();

  const std::vector<TypeRow>& types() const { return types_; }
  uint64_t cells() const { return types_.size() * kLayouts * kPolicies; }
  /// Every cells() scripts visit each cell once; all combinations of a cell follow after full() scripts.
  uint64_t full() const { return cells() * combinations(); }
  Place place(uint64_t script) const;
  /// All that the place leaves open is drawn from the script's number.
  WorldSpec draw(const Place& place, uint64_t script) const;
  void count(const Place& place);

  /// The table of types x (layout, policy), and the sums over rows, threads and instruction sets.
  std::string table() const;
  /// Cells, numbers of rows, and pairs of threads and instruction sets that no script had; of full() scripts
  /// or more also what they left out of the full product.
  uint64_t skipped() const;

 private:
  static constexpr size_t kLayouts = 4;
  static constexpr size_t kPolicies = 9;

  uint64_t combinations() const;

  std::vector<TypeRow> types_;
  std::vector<compute::CpuTarget> targets_;
  std::vector<uint64_t> counts_;                        // by cell
  std::map<int64_t, uint64_t> rows_;                    // scripts by number of rows
  std::map<std::pair<int, std::string>, uint64_t> on_;  // by threads and instruction set
  std::vector<bool> seen_;                              // of the full product
  uint64_t places_seen_ = 0;
  uint64_t scripts_ = 0;
};

}  // namespace kvern::conformance
