#include "store/remote/redis_reply.h"

#include <new>
#include <utility>

#include <hiredis/hiredis.h>

namespace kvern::store {
namespace {

/// Longer than any answer to what is asked here.
constexpr int kMostItems = 1 << 16;

RedisReply* reply_for(const redisReadTask* task) {
  if (task->parent == nullptr) return new (std::nothrow) RedisReply;
  return &static_cast<RedisReply*>(task->parent->obj)->items[static_cast<size_t>(task->idx)];
}

// None of these may throw: they are called by C.
void* make_text(const redisReadTask* task, char* text, size_t size) {
  RedisReply* reply = reply_for(task);
  if (reply == nullptr) return nullptr;
  reply->type = task->type == REDIS_REPLY_ERROR ? RedisReply::Type::kError : RedisReply::Type::kText;
  try {
    reply->text.assign(text, size);
  } catch (const std::bad_alloc&) {
    if (task->parent == nullptr) delete reply;
    return nullptr;
  }
  return reply;
}

void* make_list(const redisReadTask* task, int count) {
  if (count < 0 || count > kMostItems) return nullptr;
  RedisReply* reply = reply_for(task);
  if (reply == nullptr) return nullptr;
  reply->type = RedisReply::Type::kList;
  try {
    reply->items.resize(static_cast<size_t>(count));
  } catch (const std::bad_alloc&) {
    if (task->parent == nullptr) delete reply;
    return nullptr;
  }
  return reply;
}

void* make_integer(const redisReadTask* task, long long value) {
  RedisReply* reply = reply_for(task);
  if (reply == nullptr) return nullptr;
  reply->type = RedisReply::Type::kInteger;
  reply->integer = value;
  return reply;
}

void* make_nothing(const redisReadTask* task) { return reply_for(task); }

// Only ever called for an answer as a whole.
void free_reply(void* reply) { delete static_cast<RedisReply*>(reply); }

// hiredis does not change it.
redisReplyObjectFunctions* functions() {
  static redisReplyObjectFunctions table = {make_text, make_list, make_integer, make_nothing, free_reply};
  return &table;
}

}  // namespace

Status check_reply(const RedisReply& reply, RedisReply::Type type, size_t items) {
  if (reply.type == RedisReply::Type::kError) {
    const bool full = reply.text.starts_with("OOM");
    return fail(full ? ErrorCode::kExhausted : ErrorCode::kIo, "the remote tier refuses: " + reply.text);
  }
  if (reply.type != type || (type == RedisReply::Type::kList && reply.items.size() != items))
    return fail(ErrorCode::kCorrupt, "the remote tier gave an answer to something else");
  return Ok{};
}

void RedisReader::Free::operator()(redisReader* reader) const { redisReaderFree(reader); }

RedisReader::RedisReader() : reader_(redisReaderCreateWithFunctions(functions())) {
  if (reader_ == nullptr) throw std::bad_alloc();
}

void RedisReader::feed(std::span<const std::byte> bytes) {
  // An error shows with the next answer.
  static_cast<void>(
      redisReaderFeed(reader_.get(), reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Result<std::optional<RedisReply>> RedisReader::next() {
  void* raw = nullptr;
  if (redisReaderGetReply(reader_.get(), &raw) != REDIS_OK) {
    return fail(ErrorCode::kCorrupt,
                std::string("the server does not speak as Redis does: ") + reader_->errstr);
  }
  if (raw == nullptr) return std::optional<RedisReply>();
  const std::unique_ptr<RedisReply> reply(static_cast<RedisReply*>(raw));
  return std::optional(std::move(*reply));
}

}  // namespace kvern::store
