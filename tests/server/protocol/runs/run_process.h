// A server's protocols with runs and a journal, without sockets and without a model; as many of them, one
// behind the other, on the same files, as a test wants.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "server/http/target.h"
#include "server/protocol/openai/routes.h"
#include "server/protocol/responses/routes.h"
#include "server/protocol/runs/runs.h"
#include "server/protocol/support/protocol_world.h"
#include "server/protocol/support/reader.h"

namespace kvern::server::test {

inline constexpr std::chrono::minutes kReconnectFor{1};

/// Says of a script only so many tokens, then nothing.
inline ScriptedService::Play say_some(const text::Tokenizer& tokenizer, std::string text, size_t tokens) {
  struct Stop {};
  /// Lets so many tokens through.
  class Gate : public engine::GenerationSink {
   public:
    Gate(engine::GenerationSink& inner, size_t tokens) : inner_(inner), left_(tokens) {}
    void on_prompt(const engine::PromptProgress& progress) override { inner_.on_prompt(progress); }
    void on_token(engine::TokenEvent event) override {
      if (left_-- == 0) throw Stop();
      inner_.on_token(std::move(event));
    }
    void on_choice_end(engine::ChoiceEnd) override { throw Stop(); }
    void on_end(const engine::RequestEnd&) override { throw Stop(); }
    void on_error(const Error&) override {}

   private:
    engine::GenerationSink& inner_;
    size_t left_;
  };
  return [play = say(tokenizer, {{.text = std::move(text)}}), tokens](const engine::ServiceRequest& request,
                                                                      engine::GenerationSink& sink) {
    try {
      Gate gate(sink, tokens);
      play(request, gate);
    } catch (const Stop&) {  // the rest is not said
    }
  };
}

class RunProcess {
 public:
  /// Without files there is no journal.
  explicit RunProcess(Files* files, uint64_t salt = 1, std::string model = "model") : ids_(salt) {
    std::vector<store::JournalledRun> found;
    if (files != nullptr) {
      auto opened = store::Journal::open({.files = *files, .log = null_log(), .clock = world.clock},
                                         {.directory = "journal"});
      EXPECT_TRUE(opened.has_value());
      journal = std::move(opened->journal);
      found_ = std::move(opened->runs);
    }
    runs = std::make_unique<Runs>(world.clock, journal.get(),
                                  Runs::Options{.model = std::move(model),
                                                .reconnect_for = kReconnectFor,
                                                .stored_for = std::chrono::hours(24),
                                                .max_bytes = size_t{1} << 20});
    context_.runs = runs.get();
    openai::add_routes(router, context_);
    responses::add_routes(router, context_);
  }
  /// What the journal had goes on.
  void restore() { runs->restore(context_, std::move(found_)); }

  std::shared_ptr<Reader> ask(std::string method, const std::string& path, std::string body = "",
                              std::string client = "") {
    HttpRequest request{.method = std::move(method), .body = std::move(body), .client = std::move(client)};
    const auto target = parse_target(path);
    EXPECT_TRUE(target.has_value());
    request.path = target->path;
    request.query = target->query;
    const Router::Match match = router.find(request.method, target->segments);
    auto reader = std::make_shared<Reader>([&] {
      request.path_values = match.path_values;
      return request;
    }());
    EXPECT_NE(match.route, nullptr) << path;
    if (match.route != nullptr) match.route->handler(reader);
    settle();
    return reader;
  }
  /// What waits for the journal has happened.
  void settle() const {
    if (journal == nullptr) return;
    EXPECT_TRUE(journal->flush(std::chrono::steady_clock::now() + std::chrono::seconds(60)));
  }
  void say_all(std::string text) {
    world.service.play(say(*bundled_engine().tokenizer(), {{.text = std::move(text)}}));
  }
  void say_some(std::string text, size_t tokens) {
    world.service.play(test::say_some(*bundled_engine().tokenizer(), std::move(text), tokens));
  }

  ProtocolWorld world;
  std::unique_ptr<store::Journal> journal;
  std::unique_ptr<Runs> runs;
  Router router;

 private:
  IdSource ids_;
  ProtocolContext context_{.service = world.service,
                           .engine = bundled_engine(),
                           .clock = world.clock,
                           .log = null_log(),
                           .executor = world.executor,
                           .ids = ids_,
                           .chat = world.context.chat,
                           .grammars = &world.grammars,
                           .model_name = "kvern-tiny",
                           .system_fingerprint = "kvern-test",
                           .created = 1721900000,
                           .runs = nullptr};
  std::vector<store::JournalledRun> found_;
};

/// The events of a stream with their ids, as they were sent.
inline std::vector<std::string> split_events(std::string_view stream) {
  std::vector<std::string> events;
  while (!stream.empty()) {
    const size_t end = stream.find("\n\n");
    events.emplace_back(stream.substr(0, end));
    stream.remove_prefix(end == std::string_view::npos ? stream.size() : end + 2);
  }
  return events;
}

/// The id of the answer that a stream is about.
inline std::string id_in(std::string_view stream, std::string_view prefix) {
  const size_t begin = stream.find("\"id\":\"" + std::string(prefix));
  if (begin == std::string_view::npos) return "";
  const std::string_view rest = stream.substr(begin + 6);
  return std::string(rest.substr(0, rest.find('"')));
}

}  // namespace kvern::server::test
