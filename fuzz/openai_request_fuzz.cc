// Bodies of OpenAI's APIs from the wire: the first byte chooses chat or text completions, the rest is the
// body. Every body gets a right answer or an error of the client's, never one of the server's.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "server/protocol/openai/routes.h"
#include "server/protocol/support/protocol_world.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using kvern::parse_json;
  using kvern::server::HttpResponse;
  namespace openai = kvern::server::openai;
  namespace test = kvern::server::test;
  if (size == 0) return 0;
  static test::ProtocolWorld world;
  world.grammars.asked.clear();
  const std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool chat = (data[0] & 1) != 0;
  const auto exchange = world.exchange("/", body);
  (chat ? openai::chat_completions : openai::completions)(world.context, exchange);
  const HttpResponse& answer = world.answer();
  if (answer.status != 200 && answer.status != 400 && answer.status != 404) __builtin_trap();
  if (answer.content_type == "text/event-stream") {
    for (const std::string& event : world.events())
      if (event != "[DONE]" && !parse_json(event, "event")) __builtin_trap();
    if (world.events().empty() || world.events().back() != "[DONE]") __builtin_trap();
    return 0;
  }
  const auto parsed = parse_json(answer.body, "answer");
  if (!parsed) __builtin_trap();
  if (answer.status != 200 && !test::at(*parsed, "error.message").is_string()) __builtin_trap();
  if (answer.status != 200 && answer.body.size() > 4096) __builtin_trap();
  return 0;
}
