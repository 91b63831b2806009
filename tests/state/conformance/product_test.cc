// The plan of the conformance suite: what its scripts visit, and that a hole in it shows.
#include "conformance/product.h"

#include <gtest/gtest.h>

namespace kvern::conformance {
namespace {

TEST(Product, IsVisitedAsAWholeByAsManyScripts) {
  Product product;
  const uint64_t first = 5 * product.cells();
  for (uint64_t script = first; script < first + product.full(); ++script)
    product.count(product.place(script));
  EXPECT_EQ(product.skipped(), 0U);
}

// Two of the same in place of one: the table and all sums are full, and only the product has a hole.
TEST(Product, MissesACombinationThatNoScriptHad) {
  Product holed;
  for (uint64_t script = 0; script < holed.full(); ++script)
    holed.count(holed.place(script == 77 ? 78 : script));
  EXPECT_EQ(holed.skipped(), 1U);
}

TEST(Product, IsNotAskedForByFewScripts) {
  Product product;
  for (uint64_t script = 0; script < 12 * product.cells(); ++script) product.count(product.place(script));
  EXPECT_EQ(product.skipped(), 0U);
}

}  // namespace
}  // namespace kvern::conformance
