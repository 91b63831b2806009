#include "server/protocol/support/protocol_world.h"

#include <charconv>

#include "base/check.h"
#include "base/memory_files.h"
#include "server/http/target.h"

namespace kvern::server::test {
namespace {

/// As good as no grammar: nobody asks it anything.
class NoGrammar : public text::Grammar {
 public:
  const text::GrammarVocabulary& vocabulary() const override {
    KVERN_CHECK(false);
    std::abort();
  }
  size_t memory_bytes() const override { return 0; }
};

}  // namespace

text::GrammarSource::Made RecordingGrammars::take(const std::string& what) {
  if (what.find("bad") != std::string::npos)
    return fail(ErrorCode::kInvalidArgument, "there is no such thing", "line 1");
  asked.push_back(what);
  return std::make_shared<const NoGrammar>();
}

text::GrammarSource::Made RecordingGrammars::structure(const text::Structure& structure) {
  std::string what = "structure " + std::to_string(structure.min_parts);
  what += structure.max_parts == 1 ? "..1" : "..";
  if (structure.free_before) what += " free";
  for (const text::StructuredPart& part : structure.parts)
    what += " " + part.begin + to_json(part.schema) + part.end;
  return take(what);
}

const engine::Engine& bundled_engine() {
  static const auto engine = engine::test::open_bundled({.threads = 1});
  KVERN_CHECK(engine.has_value());
  return **engine;
}

namespace {

constexpr const char* kThinkingTemplate =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% else %}<think>\n{% "
    "endif %}";

}  // namespace

std::shared_ptr<const engine::ChatFormat> thinking_format() {
  static const std::unique_ptr<Files> held = make_memory_files();
  static Files& files = *held;
  static const auto engine = [] {
    engine::test::copy_bundled_folder(files);
    auto config = parse_json(engine::test::get_file(files, "/hf/tokenizer_config.json"), "config");
    KVERN_CHECK(config.has_value());
    config->as_object()["chat_template"] = kThinkingTemplate;
    engine::test::put_file(files, "/hf/tokenizer_config.json", to_json(*config));
    return engine::Engine::open(files, {.model_path = "/hf", .threads = 1});
  }();
  KVERN_CHECK(engine.has_value());
  const auto format = engine::ChatFormat::create(**engine);
  KVERN_CHECK(format.has_value());
  return *format;
}

ProtocolWorld::ProtocolWorld()
    : service(say(*bundled_engine().tokenizer(), {{.text = "Hello there."}})),
      context{.service = service,
              .engine = bundled_engine(),
              .clock = clock,
              .log = null_log(),
              .executor = executor,
              .ids = ids,
              .chat = engine::ChatFormat::create(bundled_engine()),
              .grammars = &grammars,
              .model_name = "kvern-tiny",
              .aliases = {"tiny/alias"},
              .system_fingerprint = "kvern-test",
              .created = 1721900000} {}

std::shared_ptr<LocalExchange> ProtocolWorld::exchange(std::string path, std::string body) {
  return exchange({.method = "POST", .path = std::move(path), .body = std::move(body)});
}

bool ProtocolWorld::ask(const Router& router, HttpRequest request) {
  const auto target = parse_target(request.path);
  KVERN_CHECK(target.has_value());
  request.path = target->path;
  request.query = target->query;
  const Router::Match match = router.find(request.method, target->segments);
  if (match.route == nullptr) return false;
  request.path_values = match.path_values;
  match.route->handler(exchange(std::move(request)));
  return true;
}

std::shared_ptr<LocalExchange> ProtocolWorld::exchange(HttpRequest request) {
  answer_ = {.status = 0};
  return std::make_shared<LocalExchange>(std::move(request),
                                         [this](HttpResponse response) { answer_ = std::move(response); });
}

std::vector<std::string> ProtocolWorld::events_of(std::string_view stream) {
  std::vector<std::string> events;
  while (!stream.empty()) {
    const size_t end = stream.find("\n\n");
    const std::string_view event = stream.substr(0, end);
    const size_t data = event.starts_with("event: ") ? event.find('\n') + 1 : 0;
    if (event.substr(data).starts_with("data: ")) events.emplace_back(event.substr(data + 6));
    stream.remove_prefix(end == std::string_view::npos ? stream.size() : end + 2);
  }
  return events;
}

json::value at(const json::value& value, std::string_view path) {
  const json::value* here = &value;
  while (!path.empty() && here != nullptr) {
    if (path.front() == '[') {
      size_t index = 0;
      const size_t close = path.find(']');
      std::from_chars(path.data() + 1, path.data() + close, index);
      path.remove_prefix(close + 1);
      const json::array* array = here->if_array();
      here = array != nullptr ? array->if_contains(index) : nullptr;
      continue;
    }
    if (path.front() == '.') path.remove_prefix(1);
    const size_t end = std::min(path.find_first_of(".["), path.size());
    const json::object* object = here->if_object();
    here = object != nullptr ? object->if_contains(path.substr(0, end)) : nullptr;
    path.remove_prefix(end);
  }
  return here == nullptr ? json::value(nullptr) : *here;
}

}  // namespace kvern::server::test
