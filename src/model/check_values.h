// Looks for numbers in stored weights that would poison every result: NaN and infinity.
#pragma once

#include "base/result.h"
#include "model/tensor_source.h"

namespace kvern::model {

/// kCorrupt, with file, tensor and element, if a tensor holds a value, a block scale or a block minimum that
/// is not finite. Reads all bytes of the model, so it is not part of opening; `kvern inspect` and the tests
/// ask for it.
Status check_finite(const TensorSource& source);
Status check_finite(const StoredTensor& tensor);

}  // namespace kvern::model
