#include "server/protocol/kv/entry_routes.h"

#include <string>
#include <utility>

#include "server/protocol/kv/kv_json.h"
#include "server/protocol/request_fields.h"

namespace kvern::server::kv {
namespace {

using engine::SavedPrefixes;

/// Of a year or more nobody thinks in seconds.
constexpr int64_t kMostSeconds = int64_t{100} * 365 * 24 * 3600;

std::string name_space_of(const Exchange& exchange) {
  return ProtocolContext::name_space(exchange.request(), salt_of(exchange));
}

json::object tier_json(const engine::TierReport& report) {
  const store::TierStats& stats = report.stats;
  return {{"name", stats.name},
          {"lookups", stats.lookups},
          {"hits", stats.hits},
          {"late", stats.late},
          {"restores", report.restores.restores},
          {"restored_tokens", report.restores.tokens},
          {"restored_bytes", report.restores.bytes},
          {"saved", stats.saved},
          {"declined", stats.declined},
          {"dropped", stats.dropped},
          {"failed", stats.failed},
          {"evicted", stats.evicted},
          {"pending", stats.pending},
          {"damaged", stats.damaged}};
}

void show_stats(const ProtocolContext& context, SavedPrefixes& saved, Exchange& exchange) {
  const auto totals = saved.totals(name_space_of(exchange));
  if (!totals) return respond_error(exchange, totals.error());
  json::array tiers;
  for (const engine::TierReport& report : context.service.tiers()) tiers.push_back(tier_json(report));
  respond_json(exchange, {{"object", "kv.stats"},
                          {"prefixes", totals->prefixes},
                          {"pinned", totals->pinned},
                          {"tokens", totals->tokens},
                          {"bytes", totals->bytes},
                          {"tiers", std::move(tiers)}});
}

void list_prefixes(SavedPrefixes& saved, Exchange& exchange) {
  const auto prefixes = saved.list(name_space_of(exchange));
  if (!prefixes) return respond_error(exchange, prefixes.error());
  json::array data;
  for (const engine::SavedPrefix& prefix : *prefixes) data.push_back(prefix_json(prefix));
  respond_json(exchange, {{"object", "list"}, {"data", std::move(data)}});
}

void show_prefix(SavedPrefixes& saved, Exchange& exchange) {
  const auto prefix = saved.find(name_space_of(exchange), path_value(exchange));
  if (!prefix) return respond_error(exchange, prefix.error());
  respond_json(exchange, prefix_json(*prefix));
}

void delete_prefix(SavedPrefixes& saved, Exchange& exchange) {
  const std::string name_space = name_space_of(exchange);
  const auto prefix = saved.find(name_space, path_value(exchange));
  if (!prefix) return respond_error(exchange, prefix.error());
  if (const auto erased = saved.erase(name_space, prefix->name); !erased)
    return respond_error(exchange, erased.error());
  respond_json(exchange, {{"object", "kv.prefix"}, {"name", prefix->name}, {"deleted", true}});
}

/// `pinned` and `seconds_to_live`, each if it is there.
Status change(SavedPrefixes& saved, const Exchange& exchange, const json::value& value) {
  const std::string name_space = name_space_of(exchange);
  const std::string name = path_value(exchange);
  KVERN_TRY(ObjectReader body, ObjectReader::of(value, ""));
  KVERN_TRY(const auto pinned, body.boolean("pinned"));
  KVERN_TRY(const auto seconds, body.integer("seconds_to_live", {0, kMostSeconds}));
  KVERN_TRY_STATUS(body.finish());
  if (pinned) KVERN_TRY_STATUS(saved.set_pinned(name_space, name, *pinned));
  if (seconds) KVERN_TRY_STATUS(saved.set_seconds_to_live(name_space, name, *seconds));
  return Ok{};
}

void change_prefix(const ProtocolContext& context, SavedPrefixes& saved, Exchange& exchange) {
  const auto body = parse_body(context, exchange);
  if (!body) return respond_error(exchange, body.error());
  if (const auto changed = change(saved, exchange, *body); !changed)
    return changed.error().code == ErrorCode::kNotFound || changed.error().code == ErrorCode::kIo
               ? respond_error(exchange, changed.error())
               : respond_wrong_request(exchange, changed.error());
  show_prefix(saved, exchange);
}

}  // namespace

void add_entry_routes(Router& router, const ProtocolContext& context, const Executors& executors) {
  const auto add = [&](const char* method, const char* path, void (*handler)(SavedPrefixes&, Exchange&)) {
    router.add(method, path,
               on_saved(context, executors.patient, {},
                        [handler](SavedPrefixes& saved, const std::shared_ptr<Exchange>& exchange) {
                          handler(saved, *exchange);
                        }));
  };
  const auto add_with_context = [&](const char* method, const char* path, BodyUse body,
                                    void (*handler)(const ProtocolContext&, SavedPrefixes&, Exchange&)) {
    router.add(method, path,
               on_saved(context, executors.patient, {.body = body},
                        [&context, handler](SavedPrefixes& saved, const std::shared_ptr<Exchange>& exchange) {
                          handler(context, saved, *exchange);
                        }));
  };
  add_with_context("GET", "/v1/kv/stats", BodyUse::kNone, show_stats);
  add("GET", "/v1/kv/prefixes", list_prefixes);
  add("GET", "/v1/kv/prefixes/{name}", show_prefix);
  add("DELETE", "/v1/kv/prefixes/{name}", delete_prefix);
  add_with_context("POST", "/v1/kv/prefixes/{name}", BodyUse::kRead, change_prefix);
}

}  // namespace kvern::server::kv
