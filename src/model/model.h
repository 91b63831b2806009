// A model: what it is, its weights, and its computation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/files.h"
#include "base/result.h"
#include "model/config/model_config.h"
#include "model/graph.h"
#include "model/open_model.h"
#include "state/sequence/kv_cache.h"

namespace kvern::model {

/// Opened once and run by one thread; everything but forward() may be called from any thread.
class Model {
 public:
  /// `context_tokens` > 0 makes the longest row that will be run known to rope scalings which depend on it.
  /// Errors name the file and what is wrong in it.
  static Result<std::unique_ptr<Model>> open(Files& files, const std::string& path,
                                             int64_t context_tokens = 0);

  const ModelConfig& config() const { return opened_.config; }
  const OpenedModel& opened() const { return opened_; }
  /// Sizes and windows of the layers that own keys and values: the first kv_layers(config()) ones.
  state::KvSpec kv_spec() const;
  Graph& graph() { return *graph_; }

  /// Elements of all matrices that each token passes, without the output matrix; of the output matrix.
  int64_t layer_parameters() const;
  int64_t output_parameters() const;
  /// Bytes of matrices that a decode step reads.
  uint64_t weight_bytes_per_step() const { return opened_.weights.bytes_per_token; }

 private:
  explicit Model(OpenedModel opened) : opened_(std::move(opened)) {}
  OpenedModel opened_;
  std::unique_ptr<Graph> graph_;
};

}  // namespace kvern::model
