#include "server/protocol/context.h"

#include <algorithm>
#include <utility>

namespace kvern::server {
namespace {

/// Passes everything on and counts.
class CountingSink : public engine::GenerationSink {
 public:
  CountingSink(std::shared_ptr<engine::GenerationSink> inner, std::shared_ptr<RequestUsage> usage)
      : inner_(std::move(inner)), usage_(std::move(usage)) {}

  void on_prompt(const engine::PromptProgress& progress) override {
    usage_->prompt_tokens += progress.total - total_;
    usage_->cached_tokens += progress.cached - cached_;
    total_ = progress.total;
    cached_ = progress.cached;
    inner_->on_prompt(progress);
  }
  void on_token(engine::TokenEvent event) override {
    ++usage_->generated_tokens;
    ++generated_;
    inner_->on_token(std::move(event));
  }
  void on_choice_end(engine::ChoiceEnd end) override { inner_->on_choice_end(std::move(end)); }
  void on_end(const engine::RequestEnd& end) override {
    // What the loop counted is right, also where tokens or progress were not told one by one (best_of).
    usage_->prompt_tokens += end.prompt_tokens - total_;
    usage_->cached_tokens += end.cached_tokens - cached_;
    usage_->generated_tokens += end.generated_tokens - generated_;
    inner_->on_end(end);
  }
  void on_error(const Error& error) override { inner_->on_error(error); }

 private:
  std::shared_ptr<engine::GenerationSink> inner_;
  std::shared_ptr<RequestUsage> usage_;
  int64_t total_ = 0;
  int64_t cached_ = 0;
  int64_t generated_ = 0;
};

/// Names of keys have no line ends, so no client's text can be that of another client.
std::string name_space_of(const std::string& client, const std::string& salt) { return client + "\n" + salt; }

}  // namespace

bool ProtocolContext::serves(std::string_view name) const {
  return name == model_name || std::ranges::find(aliases, name) != aliases.end();
}

std::string ProtocolContext::name_space(const HttpRequest& request, const std::string& salt) {
  return name_space_of(request.client, salt);
}

Result<engine::Ticket> ProtocolContext::submit(Exchange& exchange, engine::ServiceRequest request,
                                               std::shared_ptr<engine::GenerationSink> sink) const {
  const HttpRequest& http = exchange.request();
  request.client = name_space_of(http.client, request.client);
  request.cache_namespace = name_space(http, request.cache_namespace);
  if (!request.deadline && limits.request_timeout.count() > 0)
    request.deadline = clock.now() + limits.request_timeout;
  if (http.usage) sink = std::make_shared<CountingSink>(std::move(sink), http.usage);
  auto ticket = service.submit(std::move(request), std::move(sink));
  if (ticket) exchange.on_close([&service = service, id = *ticket] { service.cancel(id); });
  return ticket;
}

}  // namespace kvern::server
