// A client that sends exactly the bytes that a test says, and reads what comes back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvern::test {

struct RawResponse {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool whole = false;  ///< false when the connection ended first
  std::optional<std::string> header(std::string_view name) const;
};

/// Blocking, over loopback. Every wait ends after 20 s, with what has come so far.
class RawClient {
 public:
  explicit RawClient(uint16_t port, const std::string& host = "127.0.0.1");
  ~RawClient();
  RawClient(RawClient&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), inbox_(std::move(other.inbox_)) {}
  RawClient(const RawClient&) = delete;

  bool connected() const { return fd_ >= 0; }
  /// False when the other side has closed.
  bool send(std::string_view bytes);
  /// Up to and with `end`.
  std::string read_until(std::string_view end);
  /// One response; of HEAD without a body.
  RawResponse read_response(bool head = false);
  /// The data of one chunk of a chunked body; empty for the last.
  std::string read_chunk();
  /// Whether the other side closes without sending more.
  bool at_end();
  /// FIN for this side's half.
  void finish_writing();
  void close();
  /// RST.
  void reset();
  /// Makes the window small: call before reading begins.
  void keep_small_buffer();

 private:
  bool fill();
  int fd_ = -1;
  std::string inbox_;
};

}  // namespace kvern::test
