#include "model/open_model.h"

#include <utility>

#include "model/config/config_from_gguf.h"
#include "model/config/config_from_hf.h"
#include "model/safetensors/safetensors_model.h"

namespace kvern::model {
namespace {

Result<OpenedModel> open_gguf(Files& files, const std::string& path) {
  OpenedModel model;
  KVERN_TRY(std::unique_ptr<GgufFile> file, GgufFile::open(files, path));
  KVERN_TRY(model.config, config_from_gguf(*file));
  KVERN_TRY(model.weights, load_weights(*file, model.config));
  model.gguf = file.get();
  model.source = std::move(file);
  return model;
}

Result<OpenedModel> open_folder(Files& files, const std::string& folder, const std::string& weights_path) {
  OpenedModel model;
  model.folder = folder;
  KVERN_TRY(const HfConfigFiles config, read_hf_config_files(files, folder));
  KVERN_TRY(model.config, config_from_hf(config));
  KVERN_TRY(model.source, SafetensorsModel::open(files, weights_path));
  KVERN_TRY(model.weights, load_weights(*model.source, model.config));
  return model;
}

}  // namespace

Result<OpenedModel> open_model(Files& files, const std::string& path) {
  KVERN_TRY(const bool folder, files.is_directory(path));
  if (folder) return open_folder(files, path, path);
  if (path.ends_with(".safetensors") || path.ends_with(".safetensors.index.json")) {
    const size_t slash = path.rfind('/');
    return open_folder(files, slash == std::string::npos ? "." : path.substr(0, slash), path);
  }
  return open_gguf(files, path);
}

}  // namespace kvern::model
