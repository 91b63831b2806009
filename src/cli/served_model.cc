#include "cli/served_model.h"

#include <filesystem>
#include <random>
#include <span>

#include "base/hash.h"
#include "cli/version.h"
#include "model/fingerprint.h"

namespace kvern::cli {

std::vector<std::string> model_names(const std::string& path, const std::vector<std::string>& aliases) {
  if (!aliases.empty()) return aliases;
  std::filesystem::path file(path);
  if (!file.has_filename()) file = file.parent_path();
  const std::string name = file.extension() == ".gguf" ? file.stem().string() : file.filename().string();
  return {name.empty() || name == "." ? "model" : name};
}

std::string system_fingerprint(const engine::Engine& engine) {
  std::string identity = version_text() + engine.options().kv.type;
  if (const auto model = model::sampled_fingerprint(*engine.model().opened().source, engine.model().config()))
    identity += model->to_string();
  return "fp_" + to_hex(sha256(std::as_bytes(std::span(identity)))).substr(0, 10);
}

std::string model_identity(const engine::Engine& engine) {
  std::string identity = engine.kv().identity();
  if (const auto model = model::sampled_fingerprint(*engine.model().opened().source, engine.model().config()))
    identity += model->to_string();
  return to_hex(sha256(std::as_bytes(std::span(identity))));
}

uint64_t random_number() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace kvern::cli
