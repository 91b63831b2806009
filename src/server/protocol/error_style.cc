#include "server/protocol/error_style.h"

#include <string_view>

#include "server/protocol/anthropic/errors.h"

namespace kvern::server {

ErrorAnswer error_answer_for(const HttpRequest& request) {
  static constexpr std::string_view kMessages = "/v1/messages";
  const std::string_view path = request.path;
  const bool below = path.starts_with(kMessages) &&
                     (path.size() == kMessages.size() || path.substr(kMessages.size()).starts_with('/'));
  if (below || request.header("anthropic-version")) return anthropic::plain_error_response;
  return error_response;
}

}  // namespace kvern::server
