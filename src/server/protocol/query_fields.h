// Parameters of a query: what a route does not read is refused by its name.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "server/http/exchange.h"

namespace kvern::server {

/// kUnsupported names the first parameter that is none of `known`; kInvalidArgument one that is given twice.
Status check_query(const HttpRequest& request, std::span<const std::string_view> known);

/// "true" or "false", and false where it is missing; kInvalidArgument names the parameter.
Result<bool> query_flag(const HttpRequest& request, std::string_view name);

}  // namespace kvern::server
