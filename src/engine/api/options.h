// From the options of the public headers to those of the engine.
#pragma once

#include "engine/load/engine.h"
#include "engine/request/request.h"
#include "kvern/language_model.h"

namespace kvern::engine {

EngineOptions engine_options(const ModelOptions& options);

/// Without a prompt.
GenerateRequest generate_request(const GenerateOptions& options);

}  // namespace kvern::engine
