// A loaded model with what is needed to run it: weights, graph, tokenizer, template, threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "compute/context.h"
#include "engine/load/kv_settings.h"
#include "model/model.h"
#include "state/sequence/kv_cache.h"
#include "text/tokenizer.h"

namespace kvern::engine {

struct EngineOptions {
  std::string model_path;           ///< a .gguf file or a Hugging Face folder
  std::string cpu_target = "auto";  ///< a name of compute::CpuTarget
  int threads = 0;                  ///< 0: as many as the machine has cores
  int64_t context_tokens = 0;       ///< longest row; 0: what the model was made for
  int64_t chunk_tokens = 512;       ///< most prompt tokens in one step; never changes a result
  KvSettings kv;                    ///< how keys and values are kept
  /// Most bytes that keys and values take, running rows and kept prefixes together; 0: no limit. Nothing:
  /// what default_kv_budget() gives for this machine.
  std::optional<size_t> kv_budget_bytes;
  /// While it is true, steps end early: forward() answers kCancelled. Set by another thread or a signal;
  /// outlives the engine. Null: nobody stops them.
  const std::atomic<bool>* stop = nullptr;
};

/// `where` of the error of weights whose files have changed since they were opened.
inline constexpr std::string_view kWeights = "weights";

/// Cores that this process may use.
int default_threads();

/// One thread drives an engine; several engines of a process are independent. Rows and results never depend
/// on the options other than model, KV types and precision and, for some kinds of rope scaling, the context.
class Engine {
 public:
  /// Opens and validates everything; touches no weight. Errors name the file and what in it is wrong.
  static Result<std::unique_ptr<Engine>> open(Files& files, const EngineOptions& options);

  const model::Model& model() const { return *model_; }
  /// Null when the file has none (a test model, say): ids are then all there is.
  const text::Tokenizer* tokenizer() const { return tokenizer_.get(); }
  /// The model's chat template in Jinja, if it has one.
  const std::optional<std::string>& chat_template() const { return chat_template_; }
  /// All tokens that end a generation: of the tokenizer and of the model's configuration.
  const std::vector<int32_t>& end_tokens() const { return end_tokens_; }

  const EngineOptions& options() const { return options_; }
  int64_t context_tokens() const { return options_.context_tokens; }
  compute::Context& compute() { return *compute_; }
  state::KvCache& kv() { return *kv_; }
  const state::KvCache& kv() const { return *kv_; }

  /// Which of a row's tokens in a step get logits. What nobody reads is not computed.
  enum class Logits : uint8_t { kNone, kLast, kAll };
  /// The tokens of one row in a step.
  struct RowTokens {
    state::RowId row;
    std::span<const int32_t> tokens;
    Logits logits = Logits::kLast;
  };
  /// One ragged step: appends the tokens to their rows and computes the wanted logits [wanted, vocab], in the
  /// order of the rows; they are valid, and may be changed, until the next step. On an error every row is as
  /// it was: kExhausted (retryable) when there is no storage for the tokens, kInvalidArgument for tokens
  /// outside of the vocabulary or beyond the context, kCancelled (EngineOptions::stop), what check_weights()
  /// says. Logits may be no numbers, by broken weights or a broken state: of one row, and not of the others.
  Result<std::span<float>> forward(std::span<const RowTokens> rows);
  /// kCorrupt (`where` is kWeights) once a file of the weights has been written to or cut since open(): what
  /// is computed from then on is of another model, or of none. A system call for each file; any thread.
  Status check_weights() const;
  /// For those who take logits as they are (sampling looks at them itself): kCorrupt when one is no finite
  /// number, with what check_values() says of it.
  Status check_logits(std::span<const float> logits) const;
  /// kCorrupt, with file and tensor, when a weight is no finite number. Reads all of them.
  Status check_values() const;
  /// kInvalidArgument for a token outside of the vocabulary.
  Status check_tokens(std::span<const int32_t> tokens) const;

 private:
  Engine() = default;

  EngineOptions options_;
  std::unique_ptr<model::Model> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::vector<int32_t> end_tokens_;
  std::unique_ptr<compute::Context> compute_;
  std::unique_ptr<state::KvCache> kv_;
  std::optional<std::string> chat_template_;
  // Of the last forward().
  std::vector<int32_t> step_tokens_;
  std::vector<int64_t> logit_tokens_;
  std::vector<float> logits_;
};

}  // namespace kvern::engine
