#include "model/safetensors/safetensors_model.h"

#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "model/printable.h"
#include "model/safetensors/safetensors_header.h"

namespace kvern::model {
namespace {

constexpr uint64_t kMaxIndexBytes = uint64_t{64} << 20;
constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr std::string_view kSingleName = "model.safetensors";

/// Tensor names by shard.
using ShardMap = std::map<std::string, std::map<std::string, bool>, std::less<>>;

// A shard's name comes from the model's author: it must not lead out of the folder.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

Result<ShardMap> read_index(Files& files, const std::string& path) {
  KVERN_TRY(const std::string text, read_file(files, path, kMaxIndexBytes));
  KVERN_TRY(const json::value index, parse_json(text, path));
  const json::value* map = index.is_object() ? index.get_object().if_contains("weight_map") : nullptr;
  if (map == nullptr || !map->is_object() || map->get_object().empty())
    return fail(ErrorCode::kCorrupt, "the key 'weight_map' with the names of tensors and shards is missing",
                path);
  ShardMap shards;
  for (const auto& member : map->get_object()) {
    const std::string name(member.key());
    if (!member.value().is_string() || !is_plain_name(std::string(member.value().get_string())))
      return fail(ErrorCode::kCorrupt,
                  fmt::format("weight_map names no file of this folder for tensor {}", printable(name)),
                  path);
    shards[std::string(member.value().get_string())].emplace(name, false);
  }
  return shards;
}

// The index and a shard must name the same tensors: otherwise they are of different revisions.
Status check_against_index(const std::vector<StoredTensor>& tensors, std::map<std::string, bool>& promised,
                           const std::string& shard) {
  for (const StoredTensor& tensor : tensors) {
    const auto found = promised.find(tensor.name);
    if (found == promised.end())
      return fail(
          ErrorCode::kCorrupt,
          fmt::format(
              "holds tensor {}, which the index does not place here: shard and index are of different "
              "revisions",
              printable(tensor.name)),
          shard);
    found->second = true;
  }
  for (const auto& [name, seen] : promised)
    if (!seen)
      return fail(ErrorCode::kCorrupt,
                  fmt::format("lacks tensor {}, which the index places here", printable(name)), shard);
  return Ok{};
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

}  // namespace

Result<std::vector<StoredTensor>> SafetensorsModel::add_shard(Files& files, const std::string& path) {
  auto shard = std::make_unique<Shard>();
  shard->path = path;
  KVERN_TRY(shard->mapping, files.map(path));
  KVERN_TRY(auto tensors, parse_safetensors(shard->mapping->bytes(), shard->path));
  shards_.push_back(std::move(shard));
  return tensors;
}

Status SafetensorsModel::open_index(Files& files, const std::string& index_path) {
  KVERN_TRY(ShardMap map, read_index(files, index_path));
  std::vector<StoredTensor> all;
  for (auto& [name, promised] : map) {
    const std::string shard = folder_of(index_path) + name;
    KVERN_TRY(std::vector<StoredTensor> tensors, add_shard(files, shard));
    KVERN_TRY_STATUS(check_against_index(tensors, promised, shard));
    all.insert(all.end(), std::make_move_iterator(tensors.begin()), std::make_move_iterator(tensors.end()));
  }
  KVERN_TRY(directory_, TensorDirectory::create(std::move(all), path_));
  return Ok{};
}

Result<std::unique_ptr<SafetensorsModel>> SafetensorsModel::open(Files& files, const std::string& path) {
  std::unique_ptr<SafetensorsModel> model(new SafetensorsModel());
  model->path_ = path;
  std::string file = path;
  KVERN_TRY(const bool folder, files.is_directory(path));
  if (folder) {
    const std::string prefix = path.ends_with('/') ? path : path + '/';
    file = prefix + std::string(kIndexName);
    if (!files.exists(file)) file = prefix + std::string(kSingleName);
    if (!files.exists(file))
      return fail(ErrorCode::kNotFound,
                  fmt::format("the folder has neither {} nor {}", kSingleName, kIndexName), path);
  }
  if (file.ends_with(".index.json")) {
    KVERN_TRY_STATUS(model->open_index(files, file));
    return model;
  }
  KVERN_TRY(auto tensors, model->add_shard(files, file));
  KVERN_TRY(model->directory_, TensorDirectory::create(std::move(tensors), path));
  return model;
}

Status SafetensorsModel::check_unchanged() const {
  for (const auto& shard : shards_) KVERN_TRY_STATUS(shard->mapping->check_unchanged());
  return Ok{};
}

}  // namespace kvern::model
