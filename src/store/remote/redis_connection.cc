#include "store/remote/redis_connection.h"

#include <utility>

#include "store/remote/socket.h"

namespace kvern::store {
namespace {

constexpr size_t kInputBytes = size_t{256} << 10;
/// What is sent in one go where it is in pieces; larger arguments go by themselves, uncopied.
constexpr size_t kTogether = size_t{64} << 10;

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void append(std::vector<std::byte>& out, std::string_view text) {
  append(out, std::as_bytes(std::span(text)));
}

}  // namespace

Result<std::unique_ptr<RedisConnection>> RedisConnection::open(const RedisUrl& url, const TlsTrust& trust,
                                                               Deadline deadline) {
  KVERN_TRY(auto stream, connect_stream(url, trust, deadline));
  std::unique_ptr<RedisConnection> connection(new RedisConnection(std::move(stream), url.to_string()));
  KVERN_TRY_STATUS(connection->greet(url, deadline));
  return connection;
}

Status RedisConnection::greet(const RedisUrl& url, Deadline deadline) {
  std::vector<RedisCommand> commands;
  if (!url.password.empty()) {
    RedisCommand login{"AUTH"};
    if (!url.user.empty()) login.add(url.user);
    commands.push_back(login.add(url.password));
  }
  if (url.database != 0) commands.push_back(RedisCommand{"SELECT"}.add(url.database));
  if (commands.empty()) return Ok{};
  KVERN_TRY(const auto replies, call(commands, deadline));
  for (const RedisReply& reply : replies) {
    if (reply.type == RedisReply::Type::kError)
      return connection_error("the server refuses this user, password or database: " + reply.text, where_);
  }
  return Ok{};
}

Status RedisConnection::send(std::span<const RedisCommand> commands, Deadline deadline) {
  std::vector<std::byte> together;
  const auto flush = [&]() -> Status {
    KVERN_TRY_STATUS(stream_->send(together, deadline));
    together.clear();
    return Ok{};
  };
  for (const RedisCommand& command : commands) {
    append(together, "*" + std::to_string(command.parts_.size()) + "\r\n");
    for (const RedisCommand::Part& part : command.parts_) {
      const auto bytes = part.bytes();
      append(together, "$" + std::to_string(bytes.size()) + "\r\n");
      if (bytes.size() < kTogether) {
        append(together, bytes);
      } else {
        KVERN_TRY_STATUS(flush());
        KVERN_TRY_STATUS(stream_->send(bytes, deadline));
      }
      append(together, "\r\n");
      if (together.size() >= kTogether) KVERN_TRY_STATUS(flush());
    }
  }
  return flush();
}

Result<RedisReply> RedisConnection::receive(Deadline deadline) {
  while (true) {
    auto reply = reader_.next();
    if (!reply) {
      reply.error().where = where_;
      return std::unexpected(std::move(reply).error());
    }
    if (*reply) return **std::move(reply);
    KVERN_TRY(const size_t got, stream_->receive(input_, deadline));
    reader_.feed(std::span(input_).first(got));
    // What never makes an answer must not go on for ever.
    if (std::chrono::steady_clock::now() > deadline)
      return connection_error("the server did not answer in time", where_);
  }
}

Result<std::vector<RedisReply>> RedisConnection::call(std::span<const RedisCommand> commands,
                                                      Deadline deadline) {
  input_.resize(kInputBytes);
  KVERN_TRY_STATUS(send(commands, deadline));
  std::vector<RedisReply> replies;
  replies.reserve(commands.size());
  for (size_t i = 0; i < commands.size(); ++i) {
    KVERN_TRY(RedisReply reply, receive(deadline));
    replies.push_back(std::move(reply));
  }
  return replies;
}

}  // namespace kvern::store
