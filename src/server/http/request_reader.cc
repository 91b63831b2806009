#include "server/http/request_reader.h"

#include <algorithm>
#include <utility>

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <fmt/format.h>

#include "base/check.h"
#include "server/http/header_names.h"
#include "server/http/target.h"

namespace kvern::server {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

/// Sizes of chunks, extensions and trailers: what the parser wants to see as a whole between parts of a body.
constexpr size_t kMaxFraming = size_t{16} << 10;
/// Before a request line.
constexpr int kMaxEmptyLines = 4;

std::string to_std(beast::string_view text) { return {text.data(), text.size()}; }

/// Collects what the parser finds. Reports its own refusals through `problem`, which is set before the error
/// code is.
class Parser : public http::basic_parser<true> {
 public:
  explicit Parser(const HttpLimits& limits) : limits_(limits) {
    header_limit(static_cast<uint32_t>(std::min<size_t>(limits.header_bytes, UINT32_MAX)));
    // Counted here, where the limit depends on the route; and no body is too long before it is known.
    body_limit(boost::none);
    eager(false);
  }

  HttpRequest request;
  std::string target;
  bool has_start_line = false;
  bool has_head = false;
  bool http_1_0 = false;
  size_t max_body_bytes = 0;
  std::optional<ApiError> problem;

 private:
  void refuse(ApiError error, beast::error_code& ec) {
    problem = std::move(error);
    ec = http::error::bad_value;
  }

  void on_request_impl(http::verb, beast::string_view method, beast::string_view request_target, int version,
                       beast::error_code& ec) override {
    request.method = to_std(method);
    target = to_std(request_target);
    http_1_0 = version < 11;
    has_start_line = true;
    if (target.size() > limits_.target_bytes) {
      refuse({.status = 414,
              .message = fmt::format("The path and query are longer than {} bytes.", limits_.target_bytes)},
             ec);
    }
  }

  void on_response_impl(int, beast::string_view, int, beast::error_code& ec) override {
    ec = http::error::bad_version;
  }

  void on_field_impl(http::field, beast::string_view name, beast::string_view value,
                     beast::error_code&) override {
    // Trailers of a chunked body come here, too: they must not change a head that was looked at already.
    if (has_head) return;
    request.headers.emplace_back(to_std(name), to_std(value));
  }

  void on_header_impl(beast::error_code&) override { has_head = true; }
  void on_body_init_impl(const boost::optional<uint64_t>&, beast::error_code&) override {}

  size_t on_body_impl(beast::string_view body, beast::error_code& ec) override { return append(body, ec); }
  void on_chunk_header_impl(uint64_t, beast::string_view, beast::error_code&) override {}
  size_t on_chunk_body_impl(uint64_t, beast::string_view body, beast::error_code& ec) override {
    return append(body, ec);
  }
  void on_finish_impl(beast::error_code&) override {}

  size_t append(beast::string_view body, beast::error_code& ec) {
    if (body.size() > max_body_bytes - std::min(request.body.size(), max_body_bytes)) {
      ec = http::error::body_limit;
      return 0;
    }
    request.body.append(body.data(), body.size());
    return body.size();
  }

  const HttpLimits& limits_;
};

ApiError malformed(std::string message) { return {.status = 400, .message = std::move(message)}; }

ApiError body_too_long(size_t limit) {
  return {.status = 413, .message = fmt::format("The body is longer than {} bytes.", limit)};
}

/// Whether a request line ends in a version that HTTP could have (RFC 9112, section 2.3). The parser calls
/// anything else a version, too: a line of another protocol, or one without any.
bool names_a_version(std::string_view line) {
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::string_view version = line.substr(std::min(line.rfind(' '), line.size() - 1) + 1);
  const auto digit = [&](size_t at) { return version[at] >= '0' && version[at] <= '9'; };
  return version.size() == 8 && version.starts_with("HTTP/") && digit(5) && version[6] == '.' && digit(7);
}

/// What the parser's own codes mean; `rest` begins where it stopped.
ApiError error_of(const beast::error_code& ec, const Parser& parser, const HttpLimits& limits,
                  std::string_view rest) {
  if (parser.problem) return *parser.problem;
  if (ec == http::error::body_limit) return body_too_long(parser.max_body_bytes);
  if (ec == http::error::header_limit) {
    if (!parser.has_start_line) return {.status = 414, .message = "The request line is too long."};
    return {.status = 431,
            .message = fmt::format("The headers are longer than {} bytes.", limits.header_bytes)};
  }
  if (ec == http::error::bad_version && names_a_version(rest))
    return {.status = 505, .message = "This server speaks HTTP/1.1 and HTTP/1.0."};
  return malformed(fmt::format("This is no HTTP request: {}.", ec.message()));
}

size_t count_of(const HttpRequest& request, std::string_view name) {
  return static_cast<size_t>(std::ranges::count_if(
      request.headers, [&](const auto& header) { return same_header_name(header.first, name); }));
}

/// What the grammar allows but a server must not act on: two readings of one head are how requests are
/// smuggled (RFC 9112, sections 3.2 and 6.1).
std::optional<ApiError> check_head(const HttpRequest& request, bool http_1_0) {
  const size_t hosts = count_of(request, "Host");
  if (hosts > 1 || (hosts == 0 && !http_1_0)) return malformed("A request has exactly one Host header.");
  const auto coding = request.header("Transfer-Encoding");
  if (coding && (http_1_0 || !same_header_name(*coding, "chunked")))
    return ApiError{.status = 501, .message = "The only transfer coding here is chunked, in HTTP/1.1."};
  const auto content = request.header("Content-Encoding");
  if (content && !content->empty() && !same_header_name(*content, "identity"))
    return ApiError{.status = 415, .message = "Send the body without Content-Encoding."};
  const bool may_have_body = request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (http_1_0 && may_have_body && !request.header("Content-Length"))
    return ApiError{.status = 411, .message = "In HTTP/1.0 a body needs a Content-Length."};
  return std::nullopt;
}

}  // namespace

struct RequestReader::Impl {
  explicit Impl(const HttpLimits& given) : limits(given), parser(limits) {
    parser.max_body_bytes = limits.body_bytes;
  }

  void fail(ApiError error) {
    failure = std::move(error);
    state = State::kFailed;
  }

  void finish_head() {
    if (auto problem = check_head(parser.request, parser.http_1_0)) return fail(*std::move(problem));
    auto target = parse_target(parser.target);
    if (!target) return fail(malformed("The request target " + target.error().message + "."));
    parser.request.path = std::move(target->path);
    parser.request.query = std::move(target->query);
    segments = std::move(target->segments);
    state = parser.is_done() ? State::kDone : State::kBody;
  }

  size_t skip_empty_lines(std::string_view bytes) {
    size_t used = 0;
    while (state == State::kHead && !parser.got_some() && used < bytes.size()) {
      const char wanted = half_line ? '\n' : '\r';
      if (bytes[used] != wanted || empty_lines == kMaxEmptyLines) {
        if (half_line) fail(malformed("This is no HTTP request: a lone carriage return stands before it."));
        break;
      }
      ++used;
      half_line = !half_line;
      if (!half_line) ++empty_lines;
    }
    return used;
  }

  const HttpLimits limits;
  Parser parser;
  int empty_lines = 0;  // before the request line
  bool half_line = false;
  State state = State::kHead;
  ApiError failure;
  std::vector<std::string> segments;
};

RequestReader::RequestReader(const HttpLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestReader::~RequestReader() = default;
RequestReader::RequestReader(RequestReader&&) noexcept = default;
RequestReader& RequestReader::operator=(RequestReader&&) noexcept = default;

size_t RequestReader::consume(std::string_view bytes) {
  size_t used = impl_->skip_empty_lines(bytes);
  const State before = impl_->state;
  while (impl_->state == before && (before == State::kHead || before == State::kBody)) {
    beast::error_code ec;
    const std::string_view rest = bytes.substr(used);
    if (rest.empty()) break;
    used += impl_->parser.put({rest.data(), rest.size()}, ec);
    if (ec == http::error::need_more) {
      if (before == State::kBody && bytes.size() - used > kMaxFraming)
        impl_->fail(malformed("The framing of the chunked body is too long."));
      break;
    }
    if (ec) {
      impl_->fail(error_of(ec, impl_->parser, impl_->limits, bytes.substr(used)));
    } else if (before == State::kHead && impl_->parser.has_head) {
      impl_->finish_head();
    } else if (impl_->parser.is_done()) {
      impl_->state = State::kDone;
    }
  }
  return used;
}

size_t RequestReader::skip_empty_lines(std::string_view bytes) { return impl_->skip_empty_lines(bytes); }

RequestReader::State RequestReader::state() const { return impl_->state; }
const ApiError& RequestReader::failure() const { return impl_->failure; }
bool RequestReader::begun() const { return impl_->parser.got_some(); }
HttpRequest& RequestReader::request() { return impl_->parser.request; }
const std::vector<std::string>& RequestReader::segments() const { return impl_->segments; }
bool RequestReader::is_http_1_0() const { return impl_->parser.http_1_0; }
bool RequestReader::keep_alive() const { return impl_->parser.has_head && impl_->parser.keep_alive(); }

bool RequestReader::expects_continue() const {
  const auto expect = impl_->parser.request.header("Expect");
  return !impl_->parser.http_1_0 && expect && same_header_name(*expect, "100-continue");
}

std::optional<uint64_t> RequestReader::content_length() const {
  KVERN_CHECK(impl_->parser.has_head);
  const auto length = impl_->parser.content_length();
  return length ? std::optional<uint64_t>(*length) : std::nullopt;
}

void RequestReader::set_body_limit(size_t bytes) {
  impl_->parser.max_body_bytes = bytes;
  const auto length = content_length();
  if (impl_->state == State::kBody && length && *length > bytes) impl_->fail(body_too_long(bytes));
}

}  // namespace kvern::server
