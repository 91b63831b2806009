// Flags that every command with a model shares.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/environment.h"
#include "engine/load/engine.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name of the library
class App;
}

namespace kvern::cli {

struct ModelFlags {
  engine::EngineOptions engine;
};

enum class ModelArgument { kFlag, kPositional };

/// -m/--model (or MODEL), --threads, --chunk, --ctx, --cpu-target and the flags of kv_flags.h. `flags`
/// outlives the parsing.
void add_model_flags(CLI::App& command, ModelFlags& flags, ModelArgument how);

/// Opens the model with a progress line; installs the message for a model file that is cut while mapped.
/// Says when rows may be longer than the model was made for.
void warn_of_long_context(const engine::Engine& engine, LogSink& log);

Result<std::unique_ptr<engine::Engine>> open_engine(Environment& environment, const ModelFlags& flags);

/// Of an error about what the model computed: the weight that is no number, where that is the cause.
Error explained(const engine::Engine& engine, Error error);

/// Token ids "1,403,407" or "[1, 403, 407]" (a single comma, or spaces and newlines, between two), or the
/// content of a file of that form when `text` names one.
Result<std::vector<int32_t>> parse_ids(Files& files, const std::string& text);

/// The tokenizer, or an error that says what can be used instead.
Result<const text::Tokenizer*> require_tokenizer(const engine::Engine& engine);

}  // namespace kvern::cli
