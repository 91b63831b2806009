// What the journal keeps of a run that is over: one JSON object. Its members are in docs/formats/journal.md.
#pragma once

#include <string>

#include "base/result.h"
#include "server/protocol/runs/runs.h"
#include "store/journal/journal_format.h"

namespace kvern::server {

std::string kept_content(const RunFacts& facts, const std::string& id, const RunOutcome& outcome);
/// kCorrupt where it is no such object.
Result<KeptRun> read_kept_content(const store::EndedRecord& record);

}  // namespace kvern::server
