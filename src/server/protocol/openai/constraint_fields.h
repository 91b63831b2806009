// What an answer must look like: response_format, and llama.cpp's grammar and json_schema.
#pragma once

#include <memory>

#include "base/result.h"
#include "server/protocol/context.h"
#include "server/protocol/fields.h"

namespace kvern::server::openai {

/// The grammar that the body asks for, null for none. At most one of the fields may ask.
Result<std::shared_ptr<const text::Grammar>> read_constraint(ObjectReader& body,
                                                             const ProtocolContext& context);

}  // namespace kvern::server::openai
