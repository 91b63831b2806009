#include "state/api/c_error.h"

#include <cstring>
#include <string>

namespace kvern::c_api {
namespace {

kvern_code code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return KVERN_INVALID_ARGUMENT;
    case ErrorCode::kNotFound:
      return KVERN_NOT_FOUND;
    case ErrorCode::kCorrupt:
      return KVERN_CORRUPT;
    case ErrorCode::kUnsupported:
      return KVERN_UNSUPPORTED;
    case ErrorCode::kExhausted:
      return KVERN_EXHAUSTED;
    case ErrorCode::kIo:
      return KVERN_IO;
    case ErrorCode::kCancelled:
      return KVERN_CANCELLED;
    case ErrorCode::kInternal:
      return KVERN_INTERNAL;
  }
  return KVERN_INTERNAL;
}

// How much of a text fits in `room` bytes without a part of a character.
size_t whole_characters(const std::string& text, size_t room) {
  if (text.size() <= room) return text.size();
  const auto is_inside = [&](size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
  while (room > 0 && is_inside(room)) --room;
  return room;
}

}  // namespace

kvern_code report(const Error& error, kvern_error* out) {
  const kvern_code code = code_of(error.code);
  if (out == nullptr) return code;
  const std::string text = error.to_string();
  const size_t size = whole_characters(text, KVERN_ERROR_BYTES - 1);
  out->code = code;
  out->retryable = error.retryable;
  std::memcpy(out->message, text.data(), size);
  out->message[size] = '\0';
  return code;
}

}  // namespace kvern::c_api

const char* kvern_version(void) { return KVERN_VERSION; }

const char* kvern_code_name(kvern_code code) {
  switch (code) {
    case KVERN_OK:
      return "ok";
    case KVERN_INVALID_ARGUMENT:
      return "invalid argument";
    case KVERN_NOT_FOUND:
      return "not found";
    case KVERN_CORRUPT:
      return "corrupt";
    case KVERN_UNSUPPORTED:
      return "unsupported";
    case KVERN_EXHAUSTED:
      return "exhausted";
    case KVERN_IO:
      return "input/output error";
    case KVERN_CANCELLED:
      return "cancelled";
    case KVERN_INTERNAL:
      return "internal error";
  }
  return nullptr;
}

void kvern_free(void* array) { std::free(array); }
