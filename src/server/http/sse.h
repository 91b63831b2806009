// Server-sent events (WHATWG HTML, section 9.2): what streams of all protocols are made of.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "server/http/exchange.h"

namespace kvern::server {

/// While nothing else is sent, a comment goes out this often: shorter than the 5 s that clients may count on.
inline constexpr std::chrono::milliseconds kSsePingInterval{4000};

/// The head of an event stream: content type, no caching, no buffering by proxies, and comments (": ping")
/// while nothing else is sent. For Exchange::start_stream.
HttpResponse sse_head(std::chrono::milliseconds ping_after = kSsePingInterval);

/// One event, "data: ...\n\n". Line ends in `data` become further data lines.
std::string sse_event(std::string_view data);
/// One event with a type: "event: name\ndata: ...\n\n". `name` has no line ends.
std::string sse_event(std::string_view name, std::string_view data);

}  // namespace kvern::server
