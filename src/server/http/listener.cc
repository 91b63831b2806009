#include "server/http/listener.h"

#include <algorithm>

#include <boost/asio/ip/v6_only.hpp>
#include <fmt/format.h>

namespace kvern::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

std::unexpected<Error> cannot_listen(const ListenAddress& address, const error_code& ec) {
  std::string advice;
  ErrorCode code = ErrorCode::kIo;
  if (ec == asio::error::address_in_use) {
    advice = "; another program listens there: stop it, or choose another --port";
  } else if (ec == asio::error::access_denied) {
    advice = "; ports below 1024 need a permission (CAP_NET_BIND_SERVICE): choose another --port";
  } else if (ec == boost::system::errc::address_not_available) {
    advice = "; this machine has no such address: choose another --host";
    code = ErrorCode::kInvalidArgument;
  }
  return std::unexpected<Error>(Error{.code = code,
                                      .message = "cannot listen: " + ec.message() + advice,
                                      .where = to_string(address),
                                      .retryable = ec == asio::error::address_in_use});
}

Result<std::vector<tcp::endpoint>> resolve(const asio::any_io_executor& executor,
                                           const ListenAddress& address) {
  error_code ec;
  tcp::resolver resolver(executor);
  const auto found = resolver.resolve(address.host, std::to_string(address.port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service, ec);
  if (ec) {
    return fail(ErrorCode::kInvalidArgument,
                "is no address: " + ec.message() + "; write one such as 127.0.0.1, 0.0.0.0 or ::1",
                address.host);
  }
  std::vector<tcp::endpoint> endpoints;
  for (const auto& entry : found) {
    if (std::ranges::find(endpoints, entry.endpoint()) == endpoints.end())
      endpoints.push_back(entry.endpoint());
  }
  return endpoints;
}

Status open(tcp::acceptor& acceptor, const tcp::endpoint& endpoint, bool v6_only) {
  const ListenAddress address{.host = endpoint.address().to_string(), .port = endpoint.port()};
  error_code ec;
  acceptor.open(endpoint.protocol(), ec);
  if (ec) return cannot_listen(address, ec);
  acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec && endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(v6_only), ec);
  if (!ec) acceptor.bind(endpoint, ec);
  if (!ec) acceptor.listen(asio::socket_base::max_listen_connections, ec);
  if (ec) return cannot_listen(address, ec);
  return Ok{};
}

}  // namespace

std::string to_string(const ListenAddress& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", address.host, address.port)
            : fmt::format("{}:{}", address.host, address.port);
}

Result<std::vector<tcp::acceptor>> listen_on(const asio::any_io_executor& executor,
                                             const std::vector<ListenAddress>& addresses) {
  std::vector<tcp::endpoint> endpoints;
  for (const ListenAddress& address : addresses) {
    KVERN_TRY(const std::vector<tcp::endpoint> found, resolve(executor, address));
    endpoints.insert(endpoints.end(), found.begin(), found.end());
  }
  if (endpoints.empty()) return fail(ErrorCode::kInvalidArgument, "no address to listen on", "--host");
  // "::" alone takes IPv4 connections, too; beside an IPv4 address it must leave these to it.
  const bool has_v4 = std::ranges::any_of(endpoints, [](const auto& e) { return e.address().is_v4(); });
  std::vector<tcp::acceptor> acceptors;
  for (const tcp::endpoint& endpoint : endpoints) {
    tcp::acceptor acceptor(executor);
    KVERN_TRY_STATUS(open(acceptor, endpoint, has_v4));
    acceptors.push_back(std::move(acceptor));
  }
  return acceptors;
}

}  // namespace kvern::server
