// Bodies of the chat APIs, from the route to the answer: the first byte says which API, the rest is the body.
// Always an answer, never a crash: 200 with JSON or events, or an error with JSON that is not much longer
// than the names in it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/utf8.h"
#include "server/http/router.h"
#include "server/protocol/anthropic/routes.h"
#include "server/protocol/llama/routes.h"
#include "server/protocol/openai/routes.h"
#include "server/protocol/responses/routes.h"
#include "server/protocol/support/protocol_world.h"

namespace {

namespace server = kvern::server;

constexpr std::array kPaths = {
    "/v1/messages",         "/v1/messages/count_tokens", "/v1/responses", "/v1/responses/input_tokens",
    "/v1/chat/completions", "/apply-template",           "/tokenize",     "/detokenize"};
constexpr size_t kMostErrorBytes = 2000;

struct World {
  World() {
    server::anthropic::add_routes(routes, world.context);
    server::llama::add_routes(routes, world.context);
    server::openai::add_routes(routes, world.context);
    server::responses::add_routes(routes, world.context);
  }
  server::test::ProtocolWorld world;
  server::Router routes;
};

void check(bool right) {
  if (!right) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  World world;
  std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
  check(world.world.ask(
      world.routes, {.method = "POST", .path = kPaths[data[0] % kPaths.size()], .body = std::move(body)}));
  const server::HttpResponse& answer = world.world.answer();
  check(answer.status == 200 || answer.status == 400 || answer.status == 404);
  check(kvern::is_valid_utf8(answer.body));
  if (answer.content_type == "text/event-stream") return 0;
  check(kvern::parse_json(answer.body, "answer").has_value());
  check(answer.status == 200 || answer.body.size() < kMostErrorBytes);
  return 0;
}
