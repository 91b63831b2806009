// Limits of a render.
#include "text/template/runtime.h"

namespace kvern::jinja {

Status Runtime::out_of_steps() const {
  return fail(ErrorCode::kExhausted,
              "the template takes more than " + std::to_string(limits_.max_steps) + " steps");
}

Status DepthScope::ok() const {
  if (runtime_.depth <= runtime_.limits().max_depth) return Ok{};
  return fail(ErrorCode::kExhausted,
              "evaluation is nested deeper than " + std::to_string(runtime_.limits().max_depth));
}

}  // namespace kvern::jinja
