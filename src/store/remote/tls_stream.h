// TLS on a socket that does not block (OpenSSL).
#pragma once

#include <memory>

#include "base/result.h"
#include "store/remote/byte_stream.h"
#include "store/remote/socket.h"

namespace kvern::store {

/// Shakes hands: TLS 1.2 or newer, a certificate for the URL's host by an authority that is trusted.
Result<std::unique_ptr<ByteStream>> open_tls_stream(Descriptor socket, const RedisUrl& url,
                                                    const TlsTrust& trust, Deadline deadline);

}  // namespace kvern::store
