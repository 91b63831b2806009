// Brings a prompt into memory: from where it is kept, the rest computed. Nothing is generated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "server/protocol/context.h"
#include "server/protocol/executor.h"

namespace kvern::server::kv {

struct PromptRun {
  std::vector<int32_t> tokens;
  std::string salt;
};

/// `then` is called once, on the executor, whose thread may wait: with what was computed, or what went wrong
/// (kCancelled when the client went). Context and executor outlive that.
void run_prompt(const ProtocolContext& context, Executor& executor, const std::shared_ptr<Exchange>& exchange,
                PromptRun run, std::function<void(const Result<engine::RequestEnd>&)> then);

}  // namespace kvern::server::kv
