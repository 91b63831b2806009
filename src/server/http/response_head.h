// The bytes of an answer (RFC 9112): status line and headers, chunks.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/exchange.h"

namespace kvern::server {

/// How an answer travels.
struct Framing {
  std::optional<size_t> content_length;  ///< none: the length is not known beforehand
  bool http_1_0 = false;                 ///< then without chunks: the end of the connection is the end
  bool keep_alive = true;
};

/// Status line, headers and the empty line. `extra` comes behind the response's own headers. What could end a
/// line inside a value becomes a space.
std::string response_head(const HttpResponse& response, const HttpHeaders& extra, const Framing& framing,
                          std::chrono::system_clock::time_point now);

/// One chunk of a chunked body; `bytes` is not empty, since an empty chunk is the end.
std::string chunk(std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

/// "Not Found" of 404; "Unknown" for what nobody registered.
std::string_view reason_phrase(int status);

}  // namespace kvern::server
