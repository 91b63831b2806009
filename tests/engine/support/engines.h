// Engines for tests: the bundled model, and small synthetic ones in memory.
#pragma once

#include <memory>
#include <string>

#include "base/files.h"
#include "base/memory_files.h"
#include "engine/load/engine.h"
#include "model/synth/synthetic_model.h"
#include "support/shared_data.h"

namespace kvern::engine::test {

inline constexpr const char* kBundledGguf = "models/kvern-tiny-8m-q8_0.gguf";
inline constexpr const char* kBundledFolder = "models/kvern-tiny-8m-hf";

/// `options` without a path gets the bundled q8_0 model, and 2 threads.
inline Result<std::unique_ptr<Engine>> open_bundled(EngineOptions options = {}) {
  if (options.model_path.empty()) options.model_path = kvern::test::source_file(kBundledGguf);
  if (options.threads == 0) options.threads = 2;
  const auto files = make_posix_files();
  return Engine::open(*files, options);
}

/// A random model of the preset, q8_0, at /model.gguf of `files`.
inline Status write_synthetic(Files& files, const std::string& preset = "tiny-llama") {
  const auto report = model::write_synthetic_model(
      files, {.preset = preset, .type = compute::DType::kQ8_0, .path = "/model.gguf"});
  if (!report) return std::unexpected(report.error());
  return Ok{};
}

inline void put_file(Files& files, const std::string& path, std::string_view bytes) {
  auto file = files.open(path, OpenMode::kCreate);
  if (file) static_cast<void>((*file)->write_at(0, std::as_bytes(std::span(bytes))));
}

inline std::string get_file(Files& files, const std::string& path) {
  return read_file(files, path, uint64_t{1} << 30).value_or("");
}

/// Copies one file of the machine into a Files.
inline void copy_in(Files& files, const std::string& from, const std::string& to) {
  const auto machine = make_posix_files();
  put_file(files, to, get_file(*machine, from));
}

/// The bundled Hugging Face folder at /hf of `files`.
inline void copy_bundled_folder(Files& files) {
  static_cast<void>(files.make_directory("/hf"));
  for (const char* name : {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json",
                           "tokenizer_config.json"})
    copy_in(files, kvern::test::source_file(kBundledFolder) + "/" + name, std::string("/hf/") + name);
}

}  // namespace kvern::engine::test
