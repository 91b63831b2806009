// Records for tests of the journal.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "store/journal/journal_state.h"

namespace kvern::store::test {

inline AcceptedRecord accepted(uint64_t run, uint64_t previous = 0) {
  return {.run = run,
          .previous = previous,
          .salt = run * 1000,
          .created_ms = 1'700'000'000'000,
          .seed = 42,
          .model = "model",
          .id = fmt::format("resp_{}", run),
          .route = "/v1/responses",
          .client = "alice",
          .cache_namespace = "salt",
          .headers = {{"x-request-id", "r1"}},
          .body = R"({"input":"Hello"})",
          .prompt = {1, 2, 3}};
}

inline SampledRecord sampled(uint64_t run, uint32_t choice, uint64_t first, std::vector<int32_t> ids) {
  SampledRecord record{.run = run, .choice = choice, .first = first, .tokens = {}};
  for (const int32_t id : ids) record.tokens.push_back({.token = id, .logprob = {}, .top = {}});
  return record;
}

inline constexpr int64_t kNever = int64_t{1} << 60;

inline EndedRecord ended(uint64_t run, std::string content, uint64_t previous = 0,
                         int64_t expires_ms = kNever) {
  return {.run = run,
          .previous = previous,
          .expires_ms = expires_ms,
          .content = std::move(content),
          .events = "id: 0\ndata: x\n\n"};
}

/// One of each kind.
inline std::vector<JournalRecord> all_kinds() {
  SampledRecord with_logprobs = sampled(7, 1, 5, {9, 10});
  with_logprobs.tokens[0].logprob = -0.5F;
  with_logprobs.tokens[0].top = {{9, -0.5F}, {11, -2.25F}};
  return {accepted(7, 3), StartedRecord{.run = 7, .cached_tokens = 2}, with_logprobs, ended(8, "{}", 7),
          ForgottenRecord{.run = 8}};
}

/// What lives, as text that can be compared.
inline std::string text_of(const std::vector<JournalledRun>& runs) {
  std::string text;
  for (const JournalledRun& run : runs) {
    text += fmt::format("{}{}", run.run, run.hidden ? " hidden" : "");
    if (run.accepted) text += fmt::format(" {} <- {}", run.accepted->body, run.accepted->previous);
    if (run.cached_tokens && run.accepted) text += fmt::format(" cached {}", *run.cached_tokens);
    for (const auto& choice : run.tokens) {
      text += " [";
      for (const JournalToken& token : choice) text += fmt::format("{} ", token.token);
      text += "]";
    }
    if (run.ended) text += fmt::format(" = {} <- {}", run.ended->content, run.ended->previous);
    text += "\n";
  }
  return text;
}

}  // namespace kvern::store::test
