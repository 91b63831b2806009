// From the structs of kvern/kvern.h to those of the C++ headers. Errors name the member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "kvern/kvern.h"
#include "kvern/language_model.h"

namespace kvern::c_api {

Result<ModelOptions> model_options_of(const kvern_model_options& options);
/// Without the listener.
Result<GenerateOptions> generate_options_of(const kvern_generate_options& options);
Result<std::vector<ChatMessage>> messages_of(std::span<const kvern_message> messages);
std::vector<int32_t> ids_of(const int32_t* ids, size_t count);
/// The same finish reason with static lifetime; "" for another text.
const char* static_reason(const std::string& reason);

}  // namespace kvern::c_api
