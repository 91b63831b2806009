// A script: operations on a world of rows. Each is four numbers that mean something whatever the world is
// like, so that any part of a script is a script and can be shrunk.
#pragma once

#include "conformance/product.h"
#include "conformance/world.h"

#include <cstdint>
#include <string>
#include <vector>

#include <rapidcheck.h>

namespace kvern::conformance {

struct Operation {
  int kind = 0;      ///< 0…99
  int row = 0;       ///< modulo the rows that there are
  int amount = 0;    ///< 0…999
  uint32_t die = 0;  ///< for what each row does in it
};
using Script = std::vector<Operation>;

rc::Gen<Script> scripts();

/// Empty when all was right. `log`, if not null, gets a line for each operation.
std::string run(const WorldSpec& spec, const Place& place, const Script& script, std::string* log);

/// Whether script `number` of the suite fails.
bool fails(const Product& product, uint64_t number);
/// Script `number` of the suite, shrunk if it fails: empty, or what failed and the smallest script that does.
std::string run_numbered(const Product& product, uint64_t number);

}  // namespace kvern::conformance
