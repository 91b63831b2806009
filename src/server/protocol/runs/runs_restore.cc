// What the journal of a former process says is taken up again.
#include <optional>
#include <utility>

#include "server/http/http_error.h"
#include "server/http/sse.h"
#include "server/protocol/runs/kept_run.h"
#include "server/protocol/runs/runs.h"

namespace kvern::server {
namespace {

using std::chrono::milliseconds;

engine::Replay replay_of(store::JournalledRun& run) {
  engine::Replay replay{.choices = {}, .cached_tokens = run.cached_tokens};
  for (std::vector<store::JournalToken>& tokens : run.tokens) {
    auto& choice = replay.choices.emplace_back();
    for (store::JournalToken& token : tokens) {
      engine::SampledToken sampled{.token = token.token, .logprob = token.logprob, .top = {}};
      for (const auto& [id, logprob] : token.top) sampled.top.push_back({.token = id, .logprob = logprob});
      choice.push_back({.sampled = std::move(sampled)});
    }
  }
  return replay;
}

}  // namespace

void Runs::restore(const ProtocolContext& context, std::vector<store::JournalledRun> runs) {
  std::map<std::string, std::vector<KeptRun>> kept;
  for (const store::JournalledRun& run : runs) {
    if (!run.ended) continue;
    auto read = read_kept_content(*run.ended);
    if (!read) {
      context.log.log(LogLevel::kError, "the journal: " + read.error().to_string());
      continue;
    }
    read->hidden = run.hidden;
    if (!run.hidden) restore_over(*read, *run.ended);
    if (read->outcome.stored) kept[read->facts.route].push_back(*std::move(read));
  }
  for (const auto& [route, restore] : restores_) restore(kept[route]);
  for (store::JournalledRun& run : runs) {
    if (!run.ended) resume(context, std::move(run));
  }
}

// Its events can be read as long as they could have been.
void Runs::restore_over(const KeptRun& kept, const store::EndedRecord& record) {
  if (record.events.empty()) return;
  auto run = std::make_shared<Run>(HttpRequest{}, kept.facts, nullptr, nullptr);
  run->set_id(kept.id);
  run->restore(sse_head(), record.events, kept.outcome);
  add_over(run, milliseconds(record.expires_ms - wall_ms()));
}

void Runs::resume(const ProtocolContext& context, store::JournalledRun journalled) {
  store::AcceptedRecord record = *std::move(journalled.accepted);
  const auto resume = resumes_.find(record.route);
  auto body = parse_json(record.body, "", {.max_depth = context.limits.max_json_depth});
  HttpRequest request;
  request.method = "POST";
  request.path = record.route;
  request.client = record.client;
  for (const auto& [name, value] : record.headers) {
    if (name == "x-request-id") request.id = value;
  }
  RunFacts facts{.route = record.route, .client = record.client, .run = record.run, .background = false};
  if (body && body->is_object() && body->as_object().contains("background"))
    facts.background = body->as_object().at("background") == json::value(true);
  const RunSeed seed{.run = record.run,
                     .salt = record.salt,
                     .created = std::chrono::system_clock::time_point(milliseconds(record.created_ms))};
  std::shared_ptr<Run> run = make(context, std::move(request), std::move(facts), seed);
  run->scope().service.set_replay(replay_of(journalled));
  run->set_id(record.id);
  {
    const MutexLock lock(mutex_);
    open_.insert_or_assign(Key{record.route, record.id}, run);
    ++resumed_;
  }
  const std::string text = std::exchange(record.body, {});
  run->scope().resumed = true;
  run->scope().record = std::move(record);
  run->show();
  if (resume == resumes_.end()) {
    return run->respond(
        error_response({.status = 500, .message = "This server does not go on with requests of this kind."}));
  }
  resume->second(run, text);
}

}  // namespace kvern::server
