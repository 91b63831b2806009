/* A program in C that loads the bundled model, generates, chats, and makes every kind of mistake. Argument:
 * the model. Returns 0, or 1 after saying what was not as expected. */
#include <kvern/kvern.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/c_expect.h"

/* What a listener heard; it stops after `limit` pieces. */
typedef struct heard {
  char text[4096];
  size_t size;
  int pieces;
  int limit;
} heard;

static bool listen(void* user, const char* text, size_t size) {
  heard* to = user;
  if (to->size + size > sizeof to->text) return false;
  memcpy(to->text + to->size, text, size);
  to->size += size;
  return ++to->pieces < to->limit;
}

static int generates(kvern_model* model) {
  heard all = {.limit = 1000};
  kvern_generate_options options = kvern_generate_options_default();
  options.max_new_tokens = 16;
  options.temperature = 0;
  options.on_text = listen;
  options.user = &all;
  kvern_generation story;
  EXPECT(kvern_model_generate(model, "One day, a small boy", &options, &story, NULL) == KVERN_OK);
  EXPECT(story.text_size == all.size && memcmp(story.text, all.text, all.size) == 0);
  EXPECT(strlen(story.text) == story.text_size && story.id_count == 16);
  EXPECT(strcmp(story.finish_reason, "length") == 0 && story.reused_tokens == 0);

  int32_t* ids = NULL;
  size_t count = 0, size = 0;
  char* text = NULL;
  EXPECT(kvern_model_tokenize(model, "One day, a small boy", &ids, &count, NULL) == KVERN_OK);
  EXPECT((int64_t)count == story.prompt_tokens);
  EXPECT(kvern_model_detokenize(model, story.ids, story.id_count, &text, &size, NULL) == KVERN_OK);
  EXPECT(size == story.text_size && strcmp(text, story.text) == 0);
  options.on_text = NULL;
  kvern_generation again;
  EXPECT(kvern_model_generate_ids(model, ids, count, &options, &again, NULL) == KVERN_OK);
  EXPECT(again.id_count == story.id_count && memcmp(again.ids, story.ids, 16 * sizeof *ids) == 0);
  EXPECT(again.reused_tokens == again.prompt_tokens - 1);
  kvern_free(ids);
  kvern_free(text);
  kvern_generation_free(&again);
  kvern_generation_free(&story);
  EXPECT(story.text == NULL && story.ids == NULL);
  return 0;
}

static int stops(kvern_model* model) {
  heard few = {.limit = 3};
  const char* const stop[] = {"zzz", "a"};
  kvern_generate_options options = kvern_generate_options_default();
  options.temperature = 0;
  options.on_text = listen;
  options.user = &few;
  kvern_generation story;
  EXPECT(kvern_model_generate(model, "One day", &options, &story, NULL) == KVERN_OK);
  EXPECT(strcmp(story.finish_reason, "cancelled") == 0 && story.id_count < 10);
  kvern_generation_free(&story);
  options.on_text = NULL;
  options.stop = stop;
  options.stop_count = 2;
  EXPECT(kvern_model_generate(model, "One day", &options, &story, NULL) == KVERN_OK);
  EXPECT(strcmp(story.finish_reason, "stop") == 0 && strchr(story.text, 'a') == NULL);
  kvern_generation_free(&story);
  return 0;
}

static int chats(kvern_model* model) {
  const kvern_message talk[] = {{"user", "What is your name?"}};
  kvern_generate_options options = kvern_generate_options_default();
  options.max_new_tokens = 8;
  kvern_generation answer;
  EXPECT(kvern_model_chat(model, talk, 1, &options, &answer, NULL) == KVERN_OK);
  EXPECT(answer.id_count > 0 && answer.prompt_tokens > 0);
  kvern_generation_free(&answer);
  return 0;
}

static int mistakes(kvern_model* model) {
  kvern_model* none = model;
  kvern_model_options options = kvern_model_options_default();
  kvern_generate_options generate = kvern_generate_options_default();
  kvern_generation out;
  int32_t* ids = NULL;
  size_t count = 0;
  char* text = NULL;
  EXPECT_ERROR(kvern_model_load(NULL, &none, &error), KVERN_INVALID_ARGUMENT, "options");
  EXPECT(none == NULL);
  EXPECT_ERROR(kvern_model_load(&options, &none, &error), KVERN_INVALID_ARGUMENT, "path");
  options.path = "no-such-model.gguf";
  EXPECT_ERROR(kvern_model_load(&options, NULL, &error), KVERN_INVALID_ARGUMENT, "out");
  EXPECT_ERROR(kvern_model_load(&options, &none, &error), KVERN_NOT_FOUND, "no-such-model.gguf");
  options.kv_type = NULL;
  EXPECT_ERROR(kvern_model_load(&options, &none, &error), KVERN_INVALID_ARGUMENT, "kv_type");
  EXPECT_ERROR(kvern_model_generate(NULL, "a", NULL, &out, &error), KVERN_INVALID_ARGUMENT, "model");
  EXPECT_ERROR(kvern_model_generate(model, NULL, NULL, &out, &error), KVERN_INVALID_ARGUMENT, "prompt");
  EXPECT_ERROR(kvern_model_generate(model, "a", NULL, NULL, &error), KVERN_INVALID_ARGUMENT, "out");
  EXPECT_ERROR(kvern_model_generate_ids(model, NULL, 3, NULL, &out, &error), KVERN_INVALID_ARGUMENT, "ids");
  EXPECT_ERROR(kvern_model_generate_ids(model, NULL, 0, NULL, &out, &error), KVERN_INVALID_ARGUMENT, "");
  EXPECT_ERROR(kvern_model_chat(model, NULL, 1, NULL, &out, &error), KVERN_INVALID_ARGUMENT, "messages");
  const kvern_message nobody = {NULL, "Hello"};
  EXPECT_ERROR(kvern_model_chat(model, &nobody, 1, NULL, &out, &error), KVERN_INVALID_ARGUMENT, "role");
  generate.stop_count = 1;
  EXPECT_ERROR(kvern_model_generate(model, "a", &generate, &out, &error), KVERN_INVALID_ARGUMENT, "stop");
  EXPECT_ERROR(kvern_model_tokenize(NULL, "a", &ids, &count, &error), KVERN_INVALID_ARGUMENT, "model");
  EXPECT_ERROR(kvern_model_tokenize(model, NULL, &ids, &count, &error), KVERN_INVALID_ARGUMENT, "text");
  EXPECT_ERROR(kvern_model_detokenize(model, NULL, 1, &text, NULL, &error), KVERN_INVALID_ARGUMENT, "ids");
  EXPECT(ids == NULL && text == NULL);
  kvern_model_free(NULL);
  kvern_generation_free(NULL);
  return 0;
}

int main(int argc, char** argv) {
  kvern_model_options options = kvern_model_options_default();
  kvern_model* model = NULL;
  kvern_error error;
  options.path = argc == 2 ? argv[1] : "";
  options.threads = 2;
  if (kvern_model_load(&options, &model, &error) != KVERN_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  int failed = generates(model);
  if (!failed) failed = stops(model);
  if (!failed) failed = chats(model);
  if (!failed) failed = mistakes(model);
  kvern_model_free(model);
  return failed ? 1 : 0;
}
