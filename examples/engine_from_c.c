/* The engine from C: all prompts are generated at the same time, and what comes is printed as it comes, each
 * line headed by the number of its prompt.
 *
 *   engine_from_c MODEL PROMPT...
 */
#include <inttypes.h>
#include <kvern/kvern.h>
#include <stdio.h>
#include <stdlib.h>

enum { kNewTokens = 32 };

static kvern_error error;

/* Prints one event; false behind the last. */
static bool print_event(const kvern_event* event, int number) {
  switch (event->kind) {
    case KVERN_EVENT_TOKEN:
      if (event->text_size > 0) printf("%d| %s\n", number, event->text);
      return true;
    case KVERN_EVENT_CHOICE_END:
      printf("%d|%s (%s)\n", number, event->text, event->finish_reason);
      return true;
    case KVERN_EVENT_END:
      printf("%d| %" PRId64 " of %" PRId64 " prompt tokens were there already, %" PRId64 " are new\n", number,
             event->usage.cached_tokens, event->usage.prompt_tokens, event->usage.generated_tokens);
      return false;
    default:
      return event->kind != KVERN_EVENT_NONE;
  }
}

/* One event of each reply in turn, until all have ended. Ended ones are freed, and NULL. */
static kvern_code listen(kvern_reply** replies, int count) {
  for (int open = count; open > 0;) {
    for (int i = 0; i < count; ++i) {
      kvern_event event;
      if (replies[i] == NULL) continue;
      const kvern_code code = kvern_reply_next(replies[i], &event, &error);
      if (code != KVERN_OK) return code;
      if (print_event(&event, i + 1)) continue;
      kvern_reply_free(replies[i]);
      replies[i] = NULL;
      --open;
    }
  }
  return KVERN_OK;
}

static kvern_code run(kvern_engine* engine, char** prompts, int count, kvern_reply** replies) {
  kvern_request request = kvern_request_default();
  request.options.max_new_tokens = kNewTokens;
  request.options.temperature = 0;
  kvern_code code = KVERN_OK;
  for (int i = 0; i < count && code == KVERN_OK; ++i) {
    request.prompt = prompts[i];
    code = kvern_engine_submit(engine, &request, &replies[i], &error);
  }
  return code == KVERN_OK ? listen(replies, count) : code;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s MODEL PROMPT...\n", argv[0]);
    return 2;
  }
  const int count = argc - 2;
  kvern_reply** replies = calloc((size_t)count, sizeof *replies);
  if (replies == NULL) return 1;
  kvern_engine_options options = kvern_engine_options_default();
  options.model.path = argv[1];
  kvern_engine* engine = NULL;
  kvern_code code = kvern_engine_load(&options, &engine, &error);
  if (code == KVERN_OK) code = run(engine, argv + 2, count, replies);
  if (code != KVERN_OK) fprintf(stderr, "%s: %s\n", kvern_code_name(code), error.message);
  for (int i = 0; i < count; ++i) kvern_reply_free(replies[i]);
  kvern_engine_free(engine);
  free(replies);
  return code == KVERN_OK ? 0 : 1;
}
