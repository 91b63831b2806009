// kvern/kvern.h: language models, as kvern/language_model.h.
#include <span>
#include <string>
#include <vector>

#include "engine/api/c_convert.h"
#include "kvern/kvern.h"
#include "kvern/language_model.h"
#include "state/api/c_error.h"

using kvern::Ok;
using kvern::Result;
using kvern::Status;
using kvern::c_api::check_array;
using kvern::c_api::check_pointer;
using kvern::c_api::copied;
using kvern::c_api::generate_options_of;
using kvern::c_api::guarded;
using kvern::c_api::ids_of;
using kvern::c_api::messages_of;
using kvern::c_api::model_options_of;
using kvern::c_api::static_reason;

struct kvern_model {
  kvern::LanguageModel model;
};

namespace {

// Fills `out` with copies, or nothing of it.
void copy_to(const kvern::Generation& generation, kvern_generation& out) {
  kvern_generation made{};
  made.text = copied<char>(generation.text, 1);
  try {
    made.ids = copied<int32_t>(generation.ids);
  } catch (...) {
    kvern_free(made.text);
    throw;
  }
  made.text_size = generation.text.size();
  made.id_count = generation.ids.size();
  made.finish_reason = static_reason(generation.finish_reason);
  made.prompt_tokens = generation.prompt_tokens;
  made.reused_tokens = generation.reused_tokens;
  out = made;
}

// `run` generates with these options and this listener.
template <typename Run>
Status generate(kvern_model* model, const kvern_generate_options* asked, kvern_generation* out,
                const Run& run) {
  KVERN_TRY_STATUS(check_pointer(model, "model"));
  KVERN_TRY_STATUS(check_pointer(out, "out"));
  const kvern_generate_options options = asked == nullptr ? kvern_generate_options_default() : *asked;
  KVERN_TRY(const kvern::GenerateOptions made, generate_options_of(options));
  kvern::OnText on_text;
  if (options.on_text != nullptr) {
    on_text = [&options](std::string_view text) {
      return options.on_text(options.user, text.data(), text.size());
    };
  }
  KVERN_TRY(const kvern::Generation generation, run(model->model, made, on_text));
  copy_to(generation, *out);
  return Ok{};
}

}  // namespace

kvern_model_options kvern_model_options_default(void) {
  return {.path = nullptr,
          .threads = 0,
          .context_tokens = 0,
          .kv_type = "f16",
          .cpu_target = "auto",
          .kv_dir = nullptr};
}

kvern_code kvern_model_load(const kvern_model_options* options, kvern_model** out, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(out, "out"));
    *out = nullptr;
    KVERN_TRY_STATUS(check_pointer(options, "options"));
    KVERN_TRY(const kvern::ModelOptions made, model_options_of(*options));
    KVERN_TRY(kvern::LanguageModel model, kvern::LanguageModel::load(made));
    *out = new kvern_model{std::move(model)};
    return Ok{};
  });
}

void kvern_model_free(kvern_model* model) { delete model; }

kvern_generate_options kvern_generate_options_default(void) {
  const kvern::GenerateOptions options;
  return {.max_new_tokens = options.max_new_tokens,
          .temperature = options.temperature,
          .top_k = options.top_k,
          .top_p = options.top_p,
          .min_p = options.min_p,
          .repeat_penalty = options.repeat_penalty,
          .presence_penalty = options.presence_penalty,
          .frequency_penalty = options.frequency_penalty,
          .seed = options.seed,
          .stop = nullptr,
          .stop_count = 0,
          .ignore_end_tokens = options.ignore_end_tokens,
          .on_text = nullptr,
          .user = nullptr};
}

void kvern_generation_free(kvern_generation* generation) {
  if (generation == nullptr) return;
  kvern_free(generation->text);
  kvern_free(generation->ids);
  *generation = {};
}

kvern_code kvern_model_generate(kvern_model* model, const char* prompt, const kvern_generate_options* options,
                                kvern_generation* out, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(prompt, "prompt"));
    return generate(model, options, out, [&](kvern::LanguageModel& m, const auto& made, const auto& on_text) {
      return m.generate(std::string_view(prompt), made, on_text);
    });
  });
}

kvern_code kvern_model_generate_ids(kvern_model* model, const int32_t* ids, size_t count,
                                    const kvern_generate_options* options, kvern_generation* out,
                                    kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_array(ids, count, "ids"));
    const std::vector<int32_t> prompt = ids_of(ids, count);
    return generate(model, options, out, [&](kvern::LanguageModel& m, const auto& made, const auto& on_text) {
      return m.generate(prompt, made, on_text);
    });
  });
}

kvern_code kvern_model_chat(kvern_model* model, const kvern_message* messages, size_t count,
                            const kvern_generate_options* options, kvern_generation* out,
                            kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_array(messages, count, "messages"));
    KVERN_TRY(const std::vector<kvern::ChatMessage> talk, messages_of({messages, count}));
    return generate(model, options, out, [&](kvern::LanguageModel& m, const auto& made, const auto& on_text) {
      return m.chat(talk, made, on_text);
    });
  });
}

kvern_code kvern_model_tokenize(const kvern_model* model, const char* text, int32_t** ids, size_t* count,
                                kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(ids, "ids"));
    *ids = nullptr;
    KVERN_TRY_STATUS(check_pointer(model, "model"));
    KVERN_TRY_STATUS(check_pointer(text, "text"));
    KVERN_TRY_STATUS(check_pointer(count, "count"));
    KVERN_TRY(const std::vector<int32_t> made, model->model.tokenize(text));
    *ids = copied<int32_t>(made);
    *count = made.size();
    return Ok{};
  });
}

kvern_code kvern_model_detokenize(const kvern_model* model, const int32_t* ids, size_t count, char** text,
                                  size_t* size, kvern_error* error) {
  return guarded(error, [&]() -> Status {
    KVERN_TRY_STATUS(check_pointer(text, "text"));
    *text = nullptr;
    KVERN_TRY_STATUS(check_pointer(model, "model"));
    KVERN_TRY_STATUS(check_array(ids, count, "ids"));
    KVERN_TRY(const std::string made, model->model.detokenize(ids_of(ids, count)));
    *text = copied<char>(made, 1);
    if (size != nullptr) *size = made.size();
    return Ok{};
  });
}
