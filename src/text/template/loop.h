// The `loop` variable of a for loop.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/template/runtime.h"
#include "text/template/value.h"

namespace kvern::jinja {

/// Position in a loop; the interpreter moves it on. Owned by a Heap; borrows the items from the same one.
class LoopObject : public Object {
 public:
  explicit LoopObject(List* items) : items_(items) {}
  std::string type_name() const override { return "LoopContext"; }
  Result<Value> get_attribute(Runtime& runtime, std::string_view name) override;

  void move_to(size_t index) { index_ = index; }
  size_t index() const { return index_; }
  /// loop.changed(...): true unless the values are those of the last call.
  Result<bool> changed(Runtime& runtime, Value values);

 private:
  List* items_;
  size_t index_ = 0;
  std::optional<Value> last_values_;
};

}  // namespace kvern::jinja
