#include "server/protocol/runs/kept_run.h"

#include "base/json.h"
#include "server/protocol/fields.h"

namespace kvern::server {

std::string kept_content(const RunFacts& facts, const std::string& id, const RunOutcome& outcome) {
  return to_json(json::object{{"route", facts.route},
                              {"client", facts.client},
                              {"id", id},
                              {"background", facts.background},
                              {"stored", outcome.stored},
                              {"body", outcome.body},
                              {"input", outcome.input}});
}

Result<KeptRun> read_kept_content(const store::EndedRecord& record) {
  KVERN_TRY(const json::value value, parse_json(record.content, "what was kept"));
  KVERN_TRY(ObjectReader content, ObjectReader::of(value, "what was kept"));
  KeptRun kept;
  kept.facts.run = record.run;
  kept.outcome.previous = record.previous;
  KVERN_TRY(kept.facts.route, content.required_string("route"));
  KVERN_TRY(kept.facts.client, content.required_string("client"));
  KVERN_TRY(kept.id, content.required_string("id"));
  KVERN_TRY(const auto background, content.boolean("background"));
  kept.facts.background = background.value_or(false);
  KVERN_TRY(const auto stored, content.boolean("stored"));
  kept.outcome.stored = stored.value_or(false);
  KVERN_TRY(kept.outcome.body, content.required_string("body"));
  KVERN_TRY(kept.outcome.input, content.required_string("input"));
  return kept;
}

}  // namespace kvern::server
