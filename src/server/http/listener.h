// Sockets that listen. Internal to the transport: brings Asio along.
#pragma once

#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/result.h"
#include "server/http/http_options.h"

namespace kvern::server {

/// One listening socket for each address that the hosts stand for; all of them, or an error. SO_REUSEADDR, so
/// that a restart need not wait for old connections.
Result<std::vector<boost::asio::ip::tcp::acceptor>> listen_on(const boost::asio::any_io_executor& executor,
                                                              const std::vector<ListenAddress>& addresses);

}  // namespace kvern::server
