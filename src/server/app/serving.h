// Everything that exists only while a model is served: the watched service, the context of the protocols and
// their routes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "engine/load/engine.h"
#include "engine/request/generation_service.h"
#include "server/http/router.h"
#include "server/metrics/metrics.h"
#include "server/metrics/observed_service.h"
#include "server/protocol/context.h"
#include "store/journal/journal.h"

namespace kvern::server {

struct ServingOptions {
  std::string model_name;
  std::vector<std::string> aliases;
  std::string system_fingerprint;
  ProtocolLimits limits;
  bool log_prompts = false;
  int answer_threads = 1;  ///< that make events into answers
  uint64_t id_salt = 0;    ///< of ids; another one for each start
  /// Runs::Options::model; with a journal.
  std::string model_identity;
};

/// Immutable once made; its parts are thread-safe. Destroyed after the last connection has ended and before
/// the service.
class Serving {
 public:
  /// All outlive it.
  struct Parts {
    engine::GenerationService& service;
    const engine::Engine& engine;
    const Clock& clock;
    LogSink& log;
    Metrics& metrics;
    store::Journal* journal = nullptr;       ///< null: nothing outlives the process
    engine::SavedPrefixes* saved = nullptr;  ///< null: prefixes are not saved
  };
  Serving(ServingOptions options, const Parts& parts);
  ~Serving();
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  /// Of all protocols.
  const Router& routes() const;
  ObservedService& service();
  const ProtocolContext& context() const;

  /// Goes on with what the journal had. Before anybody asks.
  void restore(std::vector<store::JournalledRun> runs);
  /// Leaves what is in the journal to the next process; see Runs::suspend.
  void suspend();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvern::server
