// Everything around a protocol, in one process: the bundled model's tokenizer and template, a scripted
// service, a clock that stands still, exchanges in memory.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "engine/support/engines.h"
#include "server/http/router.h"
#include "server/protocol/context.h"
#include "server/protocol/local_exchange.h"
#include "server/protocol/support/scripted_service.h"

namespace kvern::server::test {

/// Runs each task at once.
class InlineExecutor : public Executor {
 public:
  void post(std::function<void()> task) override { task(); }
};

/// Knows no grammars, but takes them: remembers what it was asked for, and refuses "bad".
class RecordingGrammars : public text::GrammarSource {
 public:
  Made gbnf(std::string_view text) override { return take("gbnf " + std::string(text)); }
  Made json_schema(const json::value& schema) override { return take("schema " + to_json(schema)); }
  Made json_object() override { return take("object"); }
  Made structure(const text::Structure& structure) override;
  std::vector<std::string> asked;

 private:
  Made take(const std::string& what);
};

/// The engine is opened once for a process: it is immutable here.
const engine::Engine& bundled_engine();

/// The bundled model's tokenizer with a template that thinks: the reply begins with <think> unless
/// enable_thinking is false. Opened once.
std::shared_ptr<const engine::ChatFormat> thinking_format();

class ProtocolWorld {
 public:
  ProtocolWorld();

  /// A request with this body, answered at once or later.
  std::shared_ptr<LocalExchange> exchange(std::string path, std::string body);
  std::shared_ptr<LocalExchange> exchange(HttpRequest request);
  /// Asks as the transport would; the answer is answer(). False: there is no such route.
  bool ask(const Router& router, HttpRequest request);
  /// What the last exchange was answered with; status 0: not yet.
  const HttpResponse& answer() const { return answer_; }
  /// The events' data of a stream, [DONE] included.
  std::vector<std::string> events() const { return events_of(answer_.body); }
  static std::vector<std::string> events_of(std::string_view stream);

  ManualClock clock{std::chrono::sys_days{std::chrono::year{2024} / 7 / 26}};
  InlineExecutor executor;
  IdSource ids{1};
  RecordingGrammars grammars;
  ScriptedService service;
  ProtocolContext context;

 private:
  HttpResponse answer_;
};

/// The member at a path such as "choices[0].message.content"; null when there is none.
json::value at(const json::value& value, std::string_view path);

}  // namespace kvern::server::test
