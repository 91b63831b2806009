// Grammars that a request asks for, with errors that name the field in which they stand.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "server/protocol/context.h"

namespace kvern::server {

/// kInvalidArgument at `path` for what is no grammar or schema, kUnsupported where the model has none.
text::GrammarSource::Made read_gbnf(std::string_view text, const std::string& path,
                                    const ProtocolContext& context);
text::GrammarSource::Made read_json_schema(const json::value& schema, const std::string& path,
                                           const ProtocolContext& context);
text::GrammarSource::Made read_json_object(const std::string& path, const ProtocolContext& context);

}  // namespace kvern::server
