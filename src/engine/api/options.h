// From the options of the public headers to those of the engine.
#pragma once

#include <chrono>
#include <memory>

#include "base/clock.h"
#include "base/files.h"
#include "engine/load/engine.h"
#include "engine/request/request.h"
#include "engine/tiers/kv_directory.h"
#include "kvern/language_model.h"

namespace kvern::engine {

EngineOptions engine_options(const ModelOptions& options);

/// What ModelOptions::kv_dir says of saving on destruction.
inline constexpr std::chrono::seconds kSaveAtEnd{30};

/// Null when the options name none. Files and clock outlive it.
Result<std::unique_ptr<KvDirectory>> open_kv_directory(const ModelOptions& options, Files& files,
                                                       const Clock& clock);

/// Without a prompt.
GenerateRequest generate_request(const GenerateOptions& options);

}  // namespace kvern::engine
