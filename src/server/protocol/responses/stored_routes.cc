#include "server/protocol/responses/stored_routes.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "server/http/http_error.h"
#include "server/protocol/query_fields.h"
#include "server/protocol/request_errors.h"
#include "server/protocol/responses/response_request.h"
#include "server/protocol/runs/reconnect.h"

namespace kvern::server::responses {
namespace {

constexpr size_t kDefaultLimit = 20;
constexpr size_t kMaxLimit = 100;
constexpr size_t kShownBytes = 100;

std::string id_of(const Exchange& exchange) {
  const auto& values = exchange.request().path_values;
  return values.empty() ? "" : values.front();
}

void not_found(Exchange& exchange) {
  exchange.respond(error_response(
      {.status = 404,
       .message = fmt::format("Response with id '{}' not found.", id_of(exchange).substr(0, kShownBytes)),
       .type = "invalid_request_error"}));
}

void bad_query(Exchange& exchange, const std::string& name, std::string_view message) {
  exchange.respond(error_response({.status = 400,
                                   .message = fmt::format("{}: {}", name, message),
                                   .param = name,
                                   .code = "invalid_value"}));
}

/// False when the query has something that is not read here, and that has been answered.
bool knows_query(Exchange& exchange, std::initializer_list<std::string_view> known) {
  const auto right = check_query(exchange.request(), std::span(known.begin(), known.size()));
  if (!right) exchange.respond(error_response(request_error(right.error(), kFields)));
  return right.has_value();
}

/// How a list is to be cut.
struct Page {
  size_t limit = kDefaultLimit;
  bool rising = false;
  std::string after;
};

/// None when the query is wrong, and has been answered.
std::optional<Page> read_page(Exchange& exchange) {
  Page page;
  const HttpRequest& request = exchange.request();
  if (const auto limit = request.query_value("limit")) {
    const auto [end, error] = std::from_chars(limit->data(), limit->data() + limit->size(), page.limit);
    if (error != std::errc() || end != limit->data() + limit->size() || page.limit < 1 ||
        page.limit > kMaxLimit) {
      bad_query(exchange, "limit", "expected an integer from 1 to 100");
      return std::nullopt;
    }
  }
  if (const auto order = request.query_value("order")) {
    page.rising = *order == "asc";
    if (!page.rising && *order != "desc") {
      bad_query(exchange, "order", "expected \"asc\" or \"desc\"");
      return std::nullopt;
    }
  }
  page.after = request.query_value("after").value_or("");
  return page;
}

/// Rising.
json::array input_of(const Turns& turns) {
  json::array items;
  const auto append = [&](const std::string& text) {
    auto parsed = parse_json(text, "stored items");
    if (!parsed) return;  // It was written here.
    for (json::value& item : parsed->as_array()) items.push_back(std::move(item));
  };
  for (size_t i = 0; i < turns.size(); ++i) {
    append(turns[i]->input);
    if (i + 1 < turns.size()) append(turns[i]->output);
  }
  return items;
}

const json::value& id_of_item(const json::value& item) { return item.at("id"); }

}  // namespace

void show_response(const Runs* runs, ResponseStore& store, const std::shared_ptr<Exchange>& exchange) {
  if (!knows_query(*exchange, {"stream", "starting_after", "include_obfuscation"})) return;
  const HttpRequest& request = exchange->request();
  if (request.query_value("include_obfuscation").value_or("false") != "false")
    return bad_query(*exchange, "include_obfuscation", "only false");
  const std::string id = id_of(*exchange);
  const std::shared_ptr<Run> run = runs == nullptr ? nullptr : runs->find(kRoute, request.client, id);
  auto stored = store.find(request.client, id);
  if (wants_events(request)) {
    if (run != nullptr) return send_events(*run, exchange);
    if (!stored) return not_found(*exchange);
    return bad_query(*exchange, "stream", "the events of this response are not kept");
  }
  if (run != nullptr && !run->is_over()) return exchange->respond({.body = run->body()});
  if (!stored) return not_found(*exchange);
  exchange->respond({.body = std::move(stored->body)});
}

void delete_response(Runs* runs, ResponseStore& store, Exchange& exchange) {
  if (!knows_query(exchange, {})) return;
  const std::string id = id_of(exchange);
  const std::string& client = exchange.request().client;
  const auto stored = store.find(client, id);
  bool found = store.erase(client, id);
  if (runs != nullptr) {
    if (stored) runs->forget(stored->run);
    found |= runs->erase(kRoute, client, id);
  }
  if (!found) return not_found(exchange);
  exchange.respond({.body = to_json(json::object{{"id", id}, {"object", "response"}, {"deleted", true}})});
}

void cancel_response(const Runs& runs, const std::shared_ptr<ResponseStore>& store,
                     std::shared_ptr<Exchange> exchange) {
  if (!knows_query(*exchange, {})) return;
  const std::string id = id_of(*exchange);
  const std::string& client = exchange->request().client;
  const std::shared_ptr<Run> run = runs.find(kRoute, client, id);
  if (run != nullptr && !run->is_over()) {
    run->cancel();
    run->when_over([run, exchange = std::move(exchange)] { exchange->respond({.body = run->body()}); });
    return;
  }
  const auto stored = store->find(client, id);
  if (!stored) return not_found(*exchange);
  exchange->respond({.body = stored->body});
}

void list_input_items(ResponseStore& store, Exchange& exchange) {
  if (!knows_query(exchange, {"after", "limit", "order"})) return;
  const auto page = read_page(exchange);
  if (!page) return;
  const auto stored = store.find(exchange.request().client, id_of(exchange));
  if (!stored) return not_found(exchange);
  json::array items = input_of(stored->turns);
  if (!page->rising) std::reverse(items.begin(), items.end());
  auto* first = items.begin();
  if (!page->after.empty()) {
    first = std::find_if(items.begin(), items.end(), [&](const json::value& item) {
      return id_of_item(item) == json::value(page->after);
    });
    if (first == items.end()) return bad_query(exchange, "after", "there is no item of this id");
    ++first;
  }
  const auto left = static_cast<size_t>(items.end() - first);
  json::array data(first, first + static_cast<ptrdiff_t>(std::min(left, page->limit)));
  json::object list{
      {"object", "list"}, {"first_id", nullptr}, {"last_id", nullptr}, {"has_more", left > data.size()}};
  if (!data.empty()) {
    list["first_id"] = id_of_item(data.front());
    list["last_id"] = id_of_item(data.back());
  }
  list["data"] = std::move(data);
  exchange.respond({.body = to_json(list)});
}

}  // namespace kvern::server::responses
