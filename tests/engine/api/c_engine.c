/* A program in C that runs several requests at once, listens to them in turns, cancels, and makes every kind
 * of mistake. Argument: the model. Returns 0, or 1 after saying what was not as expected. */
#include <kvern/kvern.h>
#include <stdio.h>
#include <string.h>

#include "support/c_expect.h"

enum { kReplies = 3 };

static kvern_request greedy(const char* prompt, int64_t tokens) {
  kvern_request request = kvern_request_default();
  request.prompt = prompt;
  request.options.max_new_tokens = tokens;
  request.options.temperature = 0;
  return request;
}

/* The text of a reply, one event after the other, and its last usage. */
typedef struct heard {
  char text[4096];
  size_t size;
  int tokens;
  kvern_usage usage;
  const char* finish_reason;
} heard;

/* One event. 1 when it was not as expected; `*more` says whether one may follow. */
static int listen(kvern_reply* reply, heard* to, bool* more) {
  kvern_event event;
  EXPECT(kvern_reply_next(reply, &event, NULL) == KVERN_OK);
  EXPECT(event.text != NULL && strlen(event.text) == event.text_size);
  EXPECT(to->size + event.text_size < sizeof to->text);
  memcpy(to->text + to->size, event.text, event.text_size + 1);
  to->size += event.text_size;
  if (event.kind == KVERN_EVENT_TOKEN) ++to->tokens;
  if (event.kind == KVERN_EVENT_CHOICE_END) to->finish_reason = event.finish_reason;
  if (event.kind == KVERN_EVENT_END) to->usage = event.usage;
  *more = event.kind != KVERN_EVENT_NONE;
  return 0;
}

static int answers_in_turns(kvern_engine* engine) {
  static heard all[kReplies];
  kvern_reply* replies[kReplies] = {NULL};
  const kvern_request request = greedy("One day, a small boy", 12);
  for (int i = 0; i < kReplies; ++i) {
    EXPECT(kvern_engine_submit(engine, &request, &replies[i], NULL) == KVERN_OK);
  }
  for (int open = kReplies; open > 0;) {
    open = 0;
    for (int i = 0; i < kReplies; ++i) {
      bool more = false;
      if (listen(replies[i], &all[i], &more)) return 1;
      open += more;
    }
  }
  for (int i = 0; i < kReplies; ++i) {
    EXPECT(all[i].tokens == 12 && strcmp(all[i].text, all[0].text) == 0);
    EXPECT(strcmp(all[i].finish_reason, "length") == 0);
    EXPECT(all[i].usage.generated_tokens == 12);
    EXPECT(all[i].usage.cached_tokens + all[i].usage.computed_tokens == all[i].usage.prompt_tokens);
    EXPECT(kvern_reply_ready(replies[i]));
    kvern_reply_free(replies[i]);
  }
  return 0;
}

static int takes_all_members(kvern_engine* engine) {
  const kvern_message talk[] = {{"user", "What is your name?"}};
  const char* const stop[] = {"zzz"};
  kvern_request request = kvern_request_default();
  request.messages = talk;
  request.message_count = 1;
  request.options.max_new_tokens = 6;
  request.options.stop = stop;
  request.options.stop_count = 1;
  request.choices = 2;
  request.top_logprobs = 2;
  request.client = "somebody";
  request.name_space = "somewhere";
  request.timeout_ms = 600000;
  kvern_reply* reply = NULL;
  EXPECT(kvern_engine_submit(engine, &request, &reply, NULL) == KVERN_OK);
  int tokens[2] = {0, 0}, ends = 0;
  kvern_event event;
  do {
    EXPECT(kvern_reply_next(reply, &event, NULL) == KVERN_OK);
    EXPECT(event.choice >= 0 && event.choice < 2);
    if (event.kind == KVERN_EVENT_TOKEN) {
      EXPECT(event.top_count == 2 && event.top[0].logprob >= event.top[1].logprob && event.logprob <= 0);
      ++tokens[event.choice];
    }
    ends += event.kind == KVERN_EVENT_CHOICE_END;
  } while (event.kind != KVERN_EVENT_END);
  EXPECT(tokens[0] > 0 && tokens[1] > 0 && ends == 2);
  EXPECT(event.usage.generated_tokens == tokens[0] + tokens[1]);
  EXPECT(kvern_reply_next(reply, &event, NULL) == KVERN_OK && event.kind == KVERN_EVENT_NONE);
  kvern_reply_free(reply);
  return 0;
}

static int cancels(kvern_engine* engine) {
  kvern_request request = greedy("One day", 100000);
  request.options.ignore_end_tokens = true;
  kvern_reply *reply = NULL, *dropped = NULL;
  static heard all;
  EXPECT(kvern_engine_submit(engine, &request, &dropped, NULL) == KVERN_OK);
  EXPECT(kvern_engine_submit(engine, &request, &reply, NULL) == KVERN_OK);
  kvern_reply_free(dropped);
  bool more = true;
  if (listen(reply, &all, &more)) return 1;
  kvern_reply_cancel(reply);
  while (more) {
    if (listen(reply, &all, &more)) return 1;
  }
  EXPECT(strcmp(all.finish_reason, "cancelled") == 0);
  kvern_reply_free(reply);
  return 0;
}

static int tokenizes(kvern_engine* engine) {
  int32_t* ids = NULL;
  char* text = NULL;
  size_t count = 0, size = 0;
  EXPECT(kvern_engine_tokenize(engine, "One day", &ids, &count, NULL) == KVERN_OK && count > 0);
  EXPECT(kvern_engine_detokenize(engine, ids, count, &text, &size, NULL) == KVERN_OK);
  EXPECT(strlen(text) == size && strstr(text, "One day") != NULL);
  kvern_request request = greedy(NULL, 3);
  request.ids = ids;
  request.id_count = count;
  kvern_reply* reply = NULL;
  EXPECT(kvern_engine_submit(engine, &request, &reply, NULL) == KVERN_OK);
  kvern_reply_free(reply);
  kvern_free(ids);
  kvern_free(text);
  kvern_engine_stats stats;
  EXPECT(kvern_engine_get_stats(engine, &stats, NULL) == KVERN_OK);
  EXPECT(stats.healthy && stats.kv_budget_bytes == 256u << 20);
  return 0;
}

static bool nobody_listens(void* user, const char* text, size_t size) {
  (void)user, (void)text, (void)size;
  return true;
}

static int mistakes(kvern_engine* engine) {
  kvern_engine* none = engine;
  kvern_engine_options options = kvern_engine_options_default();
  kvern_reply* reply = NULL;
  kvern_event event;
  kvern_engine_stats stats;
  int32_t* ids = NULL;
  char* text = NULL;
  size_t count = 0;
  EXPECT_ERROR(kvern_engine_load(NULL, &none, &error), KVERN_INVALID_ARGUMENT, "options");
  EXPECT(none == NULL);
  EXPECT_ERROR(kvern_engine_load(&options, NULL, &error), KVERN_INVALID_ARGUMENT, "out");
  EXPECT_ERROR(kvern_engine_load(&options, &none, &error), KVERN_INVALID_ARGUMENT, "path");
  options.model.path = "no-such-model.gguf";
  EXPECT_ERROR(kvern_engine_load(&options, &none, &error), KVERN_NOT_FOUND, "no-such-model.gguf");
  options.max_rows = 0;
  EXPECT_ERROR(kvern_engine_load(&options, &none, &error), KVERN_INVALID_ARGUMENT, "max_rows");

  kvern_request request = greedy("One day", 4);
  EXPECT_ERROR(kvern_engine_submit(NULL, &request, &reply, &error), KVERN_INVALID_ARGUMENT, "engine");
  EXPECT_ERROR(kvern_engine_submit(engine, NULL, &reply, &error), KVERN_INVALID_ARGUMENT, "request");
  EXPECT_ERROR(kvern_engine_submit(engine, &request, NULL, &error), KVERN_INVALID_ARGUMENT, "out");
  request.grammar = "root ::= (";
  EXPECT_ERROR(kvern_engine_submit(engine, &request, &reply, &error), KVERN_INVALID_ARGUMENT, "grammar");
  request = greedy(NULL, 4);
  EXPECT_ERROR(kvern_engine_submit(engine, &request, &reply, &error), KVERN_INVALID_ARGUMENT, "prompt");
  request.id_count = 2;
  EXPECT_ERROR(kvern_engine_submit(engine, &request, &reply, &error), KVERN_INVALID_ARGUMENT, "ids");
  request = greedy(NULL, 4);
  request.message_count = 1;
  EXPECT_ERROR(kvern_engine_submit(engine, &request, &reply, &error), KVERN_INVALID_ARGUMENT, "messages");
  request = greedy("One day", 4);
  request.options.on_text = nobody_listens;
  EXPECT_ERROR(kvern_engine_submit(engine, &request, &reply, &error), KVERN_INVALID_ARGUMENT, "on_text");
  request = greedy("One day", 4);
  request.options.stop_count = 1;
  EXPECT_ERROR(kvern_engine_submit(engine, &request, &reply, &error), KVERN_INVALID_ARGUMENT, "stop");
  EXPECT(reply == NULL);

  EXPECT_ERROR(kvern_reply_next(NULL, &event, &error), KVERN_INVALID_ARGUMENT, "reply");
  EXPECT_ERROR(kvern_engine_get_stats(NULL, &stats, &error), KVERN_INVALID_ARGUMENT, "engine");
  EXPECT_ERROR(kvern_engine_get_stats(engine, NULL, &error), KVERN_INVALID_ARGUMENT, "out");
  EXPECT_ERROR(kvern_engine_tokenize(NULL, "a", &ids, &count, &error), KVERN_INVALID_ARGUMENT, "engine");
  EXPECT_ERROR(kvern_engine_tokenize(engine, NULL, &ids, &count, &error), KVERN_INVALID_ARGUMENT, "text");
  EXPECT_ERROR(kvern_engine_detokenize(engine, NULL, 1, &text, NULL, &error), KVERN_INVALID_ARGUMENT, "ids");
  EXPECT(!kvern_reply_ready(NULL));
  kvern_reply_cancel(NULL);
  kvern_reply_free(NULL);
  kvern_engine_free(NULL);
  return 0;
}

/* The last thing that happens: a reply whose engine is gone. */
static int outlives(kvern_engine* engine) {
  kvern_request request = greedy("One day", 100000);
  request.options.ignore_end_tokens = true;
  kvern_reply* reply = NULL;
  static heard all;
  bool more = true;
  EXPECT(kvern_engine_submit(engine, &request, &reply, NULL) == KVERN_OK);
  if (listen(reply, &all, &more)) return 1;
  kvern_engine_free(engine);
  while (more) {
    if (listen(reply, &all, &more)) return 1;
  }
  EXPECT(strcmp(all.finish_reason, "cancelled") == 0);
  kvern_reply_free(reply);
  return 0;
}

int main(int argc, char** argv) {
  kvern_engine_options options = kvern_engine_options_default();
  kvern_engine* engine = NULL;
  kvern_error error;
  options.model.path = argc == 2 ? argv[1] : "";
  options.model.threads = 2;
  options.kv_bytes = 256u << 20;
  if (kvern_engine_load(&options, &engine, &error) != KVERN_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  if (answers_in_turns(engine) || takes_all_members(engine) || cancels(engine) || tokenizes(engine)) return 1;
  return mistakes(engine) || outlives(engine);
}
