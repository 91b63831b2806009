// What the server is and does, as llama-server's clients ask for it.
#pragma once

#include "base/json.h"
#include "server/protocol/context.h"

namespace kvern::server::llama {

/// The answer of GET /props.
json::object props_json(const ProtocolContext& context);

/// The answer of GET /slots: one object for each row that waits or runs, without any text of users. `id_task`
/// is the same for all rows of a request; `state` is ours.
json::array slots_json(const ProtocolContext& context);

}  // namespace kvern::server::llama
