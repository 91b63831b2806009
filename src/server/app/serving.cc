#include "server/app/serving.h"

#include <utility>

#include "engine/chat/chat_format.h"
#include "engine/load/grammars.h"
#include "server/protocol/anthropic/routes.h"
#include "server/protocol/id_source.h"
#include "server/protocol/kv/routes.h"
#include "server/protocol/llama/routes.h"
#include "server/protocol/openai/routes.h"
#include "server/protocol/responses/routes.h"
#include "server/protocol/thread_executor.h"

namespace kvern::server {

struct Serving::Impl {
  Impl(ServingOptions options, const Parts& parts)
      : service_metrics(parts.metrics),
        observed(parts.service, parts.clock, service_metrics),
        ids(options.id_salt),
        grammars(engine::make_grammar_cache(parts.engine)),
        context{.service = observed,
                .engine = parts.engine,
                .clock = parts.clock,
                .log = parts.log,
                .executor = executor,
                .ids = ids,
                .chat = engine::ChatFormat::create(parts.engine),
                .grammars = grammars.get(),
                .model_name = std::move(options.model_name),
                .aliases = std::move(options.aliases),
                .system_fingerprint = std::move(options.system_fingerprint),
                .created = std::chrono::duration_cast<std::chrono::seconds>(
                               parts.clock.wall_now().time_since_epoch())
                               .count(),
                .limits = options.limits,
                .log_prompts = options.log_prompts},
        patient(1, parts.log),
        executor(options.answer_threads, parts.log) {
    anthropic::add_routes(router, context);
    kv::add_routes(router, context, patient);
    llama::add_routes(router, context);
    openai::add_routes(router, context);
    responses::add_routes(router, context);
  }

  ServiceMetrics service_metrics;
  ObservedService observed;
  IdSource ids;
  std::unique_ptr<text::GrammarCache> grammars;  // null without a tokenizer
  ProtocolContext context;
  Router router;
  ThreadExecutor patient;   // for what waits for disks
  ThreadExecutor executor;  // Last: what its threads still have to do uses all of the above.
};

Serving::Serving(ServingOptions options, const Parts& parts)
    : impl_(std::make_unique<Impl>(std::move(options), parts)) {}
Serving::~Serving() = default;

const Router& Serving::routes() const { return impl_->router; }
ObservedService& Serving::service() { return impl_->observed; }
const ProtocolContext& Serving::context() const { return impl_->context; }

}  // namespace kvern::server
