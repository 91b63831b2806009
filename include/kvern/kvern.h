/* kvern for C (C11) and every language that can call it: the KV state library and language models.
 *
 * Conventions
 * - A function that can fail returns a kvern_code and takes a kvern_error* as its last parameter, which may
 * be NULL. On an error all rows, and an open step, are as they were; outputs are not touched, except that a
 * handle that was to be made is NULL.
 * - A handle is made by one function, given back with the matching kvern_..._free, which takes NULL too. NULL
 * for any other handle, or for a pointer that is needed, is KVERN_INVALID_ARGUMENT.
 * - What is passed in is borrowed for the call. Text is UTF-8 and ends with a zero unless a size is given.
 * - No function prints, exits, throws, reads the environment or keeps global state. A handle and what was
 * made from it belong to one thread at a time; unrelated handles are independent.
 * - Options structs are filled with the values of kvern_..._default() first, then changed.
 * - Numbers are f32 and dense unless a stride is given; sizes are in floats, memory in bytes.
 *
 * What the operations mean is said in kvern/state.h, kvern/language_model.h and kvern/engine.h, in more
 * words. Link kvern::state for everything down to kvern_kv_..., kvern::engine for the rest too.
 */
#ifndef KVERN_KVERN_H
#define KVERN_KVERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(readability-identifier-naming): these are the names of C. */
#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0"; static. */
const char* kvern_version(void);

/* ---- Errors ---- */

/* Numbers, so that one that has no name does no harm. */
typedef int32_t kvern_code;
enum {
  KVERN_OK = 0,
  KVERN_INVALID_ARGUMENT, /* the call is wrong; the same call fails again */
  KVERN_NOT_FOUND,        /* no such file, tensor or row */
  KVERN_CORRUPT,          /* data contradicts its own format or checksum */
  KVERN_UNSUPPORTED,      /* well formed, but this build or machine cannot do it */
  KVERN_EXHAUSTED,        /* out of memory, budget or context; may work later or with less */
  KVERN_IO,               /* the operating system refused */
  KVERN_CANCELLED,        /* stopped on request */
  KVERN_INTERNAL          /* a fault of kvern itself */
};

#define KVERN_ERROR_BYTES 512

/* Filled on an error and untouched otherwise. */
typedef struct kvern_error {
  kvern_code code;
  bool retryable;                  /* the same call may succeed later */
  char message[KVERN_ERROR_BYTES]; /* "where: what"; a longer one is cut behind a whole character */
} kvern_error;

/* "ok", "invalid argument", ...; static. NULL for a number that is no code. */
const char* kvern_code_name(kvern_code code);

/* For arrays that a function says are given back with it; NULL is fine. */
void kvern_free(void* array);

/* ---- Threads and the instruction set; neither changes a result ---- */

typedef struct kvern_compute kvern_compute;

/* threads: 0 = one for each core. cpu_target: "avx2", "avx512", "avx512-vnni", "avx512-amx", "neon", "auto";
 * NULL = "auto".
 */
kvern_code kvern_compute_new(int32_t threads, const char* cpu_target, kvern_compute** out,
                             kvern_error* error);
void kvern_compute_free(kvern_compute* compute);

/* ---- Keys and values of rows ---- */

typedef struct kvern_kv kvern_kv;           /* all rows of one model */
typedef struct kvern_kv_step kvern_kv_step; /* an open transaction; freed without commit it is rolled back */
typedef struct kvern_kv_image kvern_kv_image; /* one row outside, whatever layout it came from */
typedef uint64_t kvern_row;                   /* never reused within its kvern_kv */

typedef int32_t kvern_layout;
enum {
  KVERN_SLAB,  /* chunks of 256 positions for each row */
  KVERN_RING,  /* for windows */
  KVERN_PAGED, /* pages from a pool, shared by forks */
  KVERN_PADDED /* dense tensors, rows aligned at their right ends */
};

/* One layer that owns keys and values. */
typedef struct kvern_kv_layer {
  int64_t kv_heads;
  int64_t k_dim; /* of one head */
  int64_t v_dim;
  int64_t window; /* a token at position p sees (p - window, p]; 0: everything before */
  int64_t sinks;  /* positions [0, sinks) are seen whatever the window */
} kvern_kv_layer;

typedef struct kvern_kv_options {
  const char* type;               /* "f16", "q8", "turbo:k8v3", "k=h8,v=q4", ... */
  const char* const* layer_types; /* NULL, or one for each layer in place of type */
  kvern_layout layout;
  int64_t page;          /* positions: 16, 32, 64, 128 or 256 */
  int64_t slack;         /* positions behind its window that a row keeps, so that it can be cut back */
  uint64_t budget_bytes; /* for the storage of all rows; 0: the machine's */
  /* A token at p sees j in full precision when p < quant_start, j < keep_first or j > p - keep_last. */
  int64_t quant_start;
  int64_t keep_first;
  int64_t keep_last;
  const char* full; /* "f32", "f16" or "bf16" */
} kvern_kv_options;
kvern_kv_options kvern_kv_options_default(void);

/* options: NULL = the defaults. */
kvern_code kvern_kv_new(const kvern_kv_layer* layers, size_t layer_count, const kvern_kv_options* options,
                        kvern_kv** out, kvern_error* error);
/* A step that is open may be freed later. */
void kvern_kv_free(kvern_kv* kv);

/* Rows. While a step is open they can be looked at, not changed. */
kvern_code kvern_kv_add_row(kvern_kv* kv, kvern_row* out, kvern_error* error);
kvern_code kvern_kv_remove_row(kvern_kv* kv, kvern_row row, kvern_error* error);
kvern_code kvern_kv_length(const kvern_kv* kv, kvern_row row, int64_t* out, kvern_error* error);
kvern_code kvern_kv_minimum_reusable_position(const kvern_kv* kv, kvern_row row, int64_t* out,
                                              kvern_error* error);
kvern_code kvern_kv_truncate(kvern_kv* kv, kvern_row row, int64_t length, kvern_error* error);
kvern_code kvern_kv_fork(kvern_kv* kv, kvern_row row, kvern_row* out, kvern_error* error);
/* Removes all rows but these. */
kvern_code kvern_kv_filter(kvern_kv* kv, const kvern_row* keep, size_t count, kvern_error* error);
/* Moves all rows of `from` here: their new names, in the order in which they were made there, given back with
 * kvern_free. rows and count may be NULL. */
kvern_code kvern_kv_merge(kvern_kv* kv, kvern_kv* from, kvern_row** rows, size_t* count, kvern_error* error);

/* Images and their bytes. */
kvern_code kvern_kv_extract(const kvern_kv* kv, kvern_row row, kvern_kv_image** out, kvern_error* error);
kvern_code kvern_kv_evict(kvern_kv* kv, kvern_row row, kvern_kv_image** out, kvern_error* error);
kvern_code kvern_kv_adopt(kvern_kv* kv, const kvern_kv_image* image, kvern_row* out, kvern_error* error);
/* The byte form is made with the image: data is the image's and lives as long. */
kvern_code kvern_kv_image_bytes(kvern_kv_image* image, const uint8_t** data, size_t* size,
                                kvern_error* error);
/* Of bytes that kvern_kv_image_bytes gave, or a stranger's: KVERN_CORRUPT says what is wrong. */
kvern_code kvern_kv_image_from_bytes(const uint8_t* data, size_t size, kvern_kv_image** out,
                                     kvern_error* error);
void kvern_kv_image_free(kvern_kv_image* image);

typedef struct kvern_append {
  kvern_row row;
  int64_t tokens; /* >= 0 */
} kvern_append;

/* A row in a step: positions [first, first + tokens), tokens [offset, offset + tokens) of the arrays. */
typedef struct kvern_step_row {
  kvern_row row;
  int64_t first;
  int64_t tokens;
  int64_t offset;
} kvern_step_row;

/* Reserves storage for all, or changes nothing. */
kvern_code kvern_kv_begin(kvern_kv* kv, const kvern_append* rows, size_t count, kvern_kv_step** out,
                          kvern_error* error);
/* The rows in the order of the request, and the position of each token; the step's, until it ends. Any of the
 * outputs may be NULL. */
kvern_code kvern_kv_step_rows(const kvern_kv_step* step, const kvern_step_row** rows, size_t* count,
                              kvern_error* error);
kvern_code kvern_kv_step_positions(const kvern_kv_step* step, const int64_t** positions, size_t* tokens,
                                   kvern_error* error);

/* Of one layer for all tokens of a step. Strides are floats from token to token, 0: dense. */
typedef struct kvern_kv_input {
  const float* k; /* [tokens, kv_heads, k_dim], already rotated by position */
  const float* v; /* [tokens, kv_heads, v_dim] */
  int64_t k_stride;
  int64_t v_stride;
} kvern_kv_input;

typedef struct kvern_kv_attention {
  const float* q;           /* [tokens, heads, k_dim] */
  float* out;               /* [tokens, heads, v_dim] */
  int64_t heads;            /* a multiple of the layer's kv_heads, at most 65536 */
  float scale;              /* of the dot products; 0: 1 / sqrt(k_dim) */
  float softcap;            /* not 0: products s become softcap * tanh(s / softcap) */
  const float* sink_logits; /* NULL, or [heads]: takes its share of the softmax and gives nothing */
  int64_t q_stride;
  int64_t out_stride;
} kvern_kv_attention;

/* Once for each layer, counted from 0; then attend as often as wanted. */
kvern_code kvern_kv_step_append(kvern_kv_step* step, kvern_compute* compute, size_t layer,
                                const kvern_kv_input* input, kvern_error* error);
kvern_code kvern_kv_step_attend(const kvern_kv_step* step, kvern_compute* compute, size_t layer,
                                const kvern_kv_attention* attention, kvern_error* error);
/* keep: NULL keeps all, or one number in [0, tokens] for each row of the step. Ends the step; it is still to
 * be freed. */
kvern_code kvern_kv_step_commit(kvern_kv_step* step, const int64_t* keep, kvern_error* error);
kvern_code kvern_kv_step_rollback(kvern_kv_step* step, kvern_error* error);
void kvern_kv_step_free(kvern_kv_step* step);

typedef struct kvern_kv_memory {
  uint64_t bytes_per_token; /* in all layers, encoded */
  uint64_t live;            /* belongs to rows; what is shared is counted once */
  uint64_t shared;          /* what sharing saves */
  uint64_t slack;           /* belongs to no row and waits for the next */
  uint64_t allocated;       /* taken from the system: live + slack */
} kvern_kv_memory;
kvern_code kvern_kv_memory_usage(const kvern_kv* kv, kvern_kv_memory* out, kvern_error* error);
/* Bytes that a row of so many tokens holds between steps, if it has only grown and shares nothing. */
kvern_code kvern_kv_projected_bytes(const kvern_kv* kv, int64_t tokens, uint64_t* out, kvern_error* error);

/* ---- Language models ---- */

/* With one conversation's state: a prompt that begins like the one before goes on from the first difference.
 */
typedef struct kvern_model kvern_model;

typedef struct kvern_model_options {
  const char* path;       /* a .gguf file or a Hugging Face folder */
  int32_t threads;        /* 0: one for each core */
  int64_t context_tokens; /* prompt and answer together; 0: what the model was made for */
  const char* kv_type;    /* as kvern_kv_options.type */
  const char* cpu_target; /* as for kvern_compute_new */
  const char* kv_dir;     /* where beginnings of prompts outlive the program; NULL: nowhere */
} kvern_model_options;
kvern_model_options kvern_model_options_default(void);

kvern_code kvern_model_load(const kvern_model_options* options, kvern_model** out, kvern_error* error);
void kvern_model_free(kvern_model* model);

/* Gets complete UTF-8 text as it is generated, not ended by a zero; false stops. Must not call into the
 * model, throw or jump out. */
typedef bool (*kvern_on_text)(void* user, const char* text, size_t size);

/* Sampling and stopping. The same options, prompt and model give the same text, always. */
typedef struct kvern_generate_options {
  int64_t max_new_tokens;
  float temperature; /* 0: greedy */
  int32_t top_k;     /* 0: all */
  float top_p;       /* 1: all */
  float min_p;       /* 0: all */
  /* Of the newest 64 tokens: divides the logit of each if positive, else multiplies it; 1: off. */
  float repeat_penalty;
  float presence_penalty;  /* taken from the logit of each of these tokens, once */
  float frequency_penalty; /* the same, as often as it is there */
  uint64_t seed;
  const char* const* stop; /* the text ends before the first of these */
  size_t stop_count;
  bool ignore_end_tokens; /* the model's own end does not end the text */
  kvern_on_text on_text;  /* NULL: nobody listens */
  void* user;             /* passed to on_text */
} kvern_generate_options;
kvern_generate_options kvern_generate_options_default(void);

typedef struct kvern_generation {
  char* text; /* ended by a zero, which text_size does not count */
  size_t text_size;
  int32_t* ids; /* the new tokens */
  size_t id_count;
  const char* finish_reason; /* "stop", "length", "cancelled"; static */
  int64_t prompt_tokens;
  int64_t reused_tokens; /* of the prompt, kept from the call before */
} kvern_generation;
/* Frees what a call filled in, and empties it. */
void kvern_generation_free(kvern_generation* generation);

typedef struct kvern_message {
  const char* role; /* "system", "user", "assistant" */
  const char* content;
} kvern_message;

/* options: NULL = the defaults. */
kvern_code kvern_model_generate(kvern_model* model, const char* prompt, const kvern_generate_options* options,
                                kvern_generation* out, kvern_error* error);
/* From token ids; works without a tokenizer (text is then empty). */
kvern_code kvern_model_generate_ids(kvern_model* model, const int32_t* ids, size_t count,
                                    const kvern_generate_options* options, kvern_generation* out,
                                    kvern_error* error);
/* Answers a conversation through the model's chat template. */
kvern_code kvern_model_chat(kvern_model* model, const kvern_message* messages, size_t count,
                            const kvern_generate_options* options, kvern_generation* out, kvern_error* error);

/* Ids of a text, with the tokenizer's beginning- and end-of-text tokens; given back with kvern_free. */
kvern_code kvern_model_tokenize(const kvern_model* model, const char* text, int32_t** ids, size_t* count,
                                kvern_error* error);
/* Text of ids, special tokens left out, ended by a zero; given back with kvern_free. size may be NULL. */
kvern_code kvern_model_detokenize(const kvern_model* model, const int32_t* ids, size_t count, char** text,
                                  size_t* size, kvern_error* error);

/* ---- Many requests at once ---- */

/* A model and the thread that runs it for all requests together. Any thread may use it at any time, except
 * that it is freed once. What a request gets is the same as if it ran alone. */
typedef struct kvern_engine kvern_engine;
/* What a request gets, as it comes. One thread at a time, but kvern_reply_cancel and kvern_reply_ready may be
 * called by any. It may outlive its engine, which ends it. */
typedef struct kvern_reply kvern_reply;

#define KVERN_DEFAULT_BYTES UINT64_MAX

typedef struct kvern_engine_options {
  kvern_model_options model;
  uint64_t kv_bytes;     /* most bytes of keys and values; 0: no limit; KVERN_DEFAULT_BYTES: what is free */
  uint64_t prefix_bytes; /* of these for kept beginnings of prompts; KVERN_DEFAULT_BYTES: all; 0: none */
  int64_t max_rows;      /* choices that are generated at the same time */
  int64_t max_waiting;   /* requests that wait for their first step; one more is refused */
} kvern_engine_options;
kvern_engine_options kvern_engine_options_default(void);

kvern_code kvern_engine_load(const kvern_engine_options* options, kvern_engine** out, kvern_error* error);
/* Cancels what runs and waits for the thread. */
void kvern_engine_free(kvern_engine* engine);

/* Texts that are NULL or "" are not given. */
typedef struct kvern_request {
  /* Exactly one of these three: a text, token ids, a conversation for the model's chat template. */
  const char* prompt;
  const int32_t* ids;
  size_t id_count;
  const kvern_message* messages;
  size_t message_count;
  kvern_generate_options options; /* on_text must be NULL: events come by kvern_reply_next */
  int32_t choices;                /* continuations of the one prompt */
  const char* json_schema;        /* the text is JSON under this schema, or follows this grammar in GBNF; */
  const char* grammar;            /* at most one of them */
  int32_t top_logprobs;           /* with each token its log-probability and so many likely ones; -1: none */
  const char* client;             /* whose request it is: clients get turns, not requests */
  const char* name_space;         /* beginnings of prompts are shared where this is the same only */
  bool reuse_prefix;              /* never changes what is generated */
  int64_t timeout_ms;             /* the request fails when it has not ended by then; 0: never */
} kvern_request;
kvern_request kvern_request_default(void);

/* Hands a request over and returns: what is wrong with it, or a reply. */
kvern_code kvern_engine_submit(kvern_engine* engine, const kvern_request* request, kvern_reply** out,
                               kvern_error* error);
/* As kvern_reply_cancel, if the request has not ended. */
void kvern_reply_free(kvern_reply* reply);

typedef struct kvern_usage {
  int64_t prompt_tokens;
  int64_t cached_tokens; /* of the prompt, taken from a kept beginning or a running request */
  int64_t computed_tokens;
  int64_t generated_tokens;               /* of all choices */
  double queue_ms, prefill_ms, decode_ms; /* until the first step, the first token, the end */
} kvern_usage;

typedef struct kvern_token_probability {
  int32_t token;
  float logprob;
} kvern_token_probability;

typedef int32_t kvern_event_kind;
enum {
  KVERN_EVENT_NONE,       /* nothing: the request has ended */
  KVERN_EVENT_PROMPT,     /* a part of the prompt is done: usage */
  KVERN_EVENT_TOKEN,      /* choice, text, token, logprob, top */
  KVERN_EVENT_CHOICE_END, /* choice, text, finish_reason, stop_string */
  KVERN_EVENT_END         /* usage; the last event */
};

/* Members that do not belong to the kind are 0, NULL or "". Texts and arrays are the reply's, until the next
 * call for it. */
typedef struct kvern_event {
  kvern_event_kind kind;
  int32_t choice;
  const char* text; /* complete UTF-8, ended by a zero; all texts of a choice, joined, are its text */
  size_t text_size;
  int32_t token;
  float logprob;                      /* with top_logprobs */
  const kvern_token_probability* top; /* as above, falling */
  size_t top_count;
  const char* finish_reason; /* "stop", "length", "cancelled"; static */
  const char* stop_string;   /* the one that ended the choice, if one did */
  kvern_usage usage;
} kvern_event;

/* Waits for the next event. An error is that of the request, which has ended by it. */
kvern_code kvern_reply_next(kvern_reply* reply, kvern_event* out, kvern_error* error);
/* Whether kvern_reply_next would return at once. False for NULL. */
bool kvern_reply_ready(const kvern_reply* reply);
/* Ends the request within a step of the model and returns at once; events still come, up to
 * KVERN_EVENT_END. */
void kvern_reply_cancel(kvern_reply* reply);

/* Counters since the start, and what is there now. */
typedef struct kvern_engine_stats {
  uint64_t steps;
  uint64_t requests_ended, requests_failed, requests_cancelled;
  uint64_t prompt_tokens, cached_tokens, generated_tokens;
  int64_t running; /* choices in the batch */
  int64_t waiting; /* requests that wait for their first step */
  int64_t outside; /* choices that gave way for a while for want of memory */
  int64_t kept_prefixes;
  uint64_t kv_budget_bytes; /* 0: no limit */
  uint64_t kv_live_bytes;   /* of running requests and kept beginnings, shared ones once */
  uint64_t kv_shared_bytes; /* what sharing saves */
  bool healthy;             /* false once the thread has ended by a fault of its own */
} kvern_engine_stats;
kvern_code kvern_engine_get_stats(const kvern_engine* engine, kvern_engine_stats* out, kvern_error* error);

/* As kvern_model_tokenize and kvern_model_detokenize. */
kvern_code kvern_engine_tokenize(const kvern_engine* engine, const char* text, int32_t** ids, size_t* count,
                                 kvern_error* error);
kvern_code kvern_engine_detokenize(const kvern_engine* engine, const int32_t* ids, size_t count, char** text,
                                   size_t* size, kvern_error* error);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(readability-identifier-naming) */

#endif
