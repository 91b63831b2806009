#include "engine/load/text_parts.h"

#include "base/json.h"
#include "text/gguf_tokenizer.h"

namespace kvern::engine {
namespace {

constexpr uint64_t kMaxTokenizerBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxTemplateBytes = uint64_t{4} << 20;

template <typename T>
Status read_numbers(const model::GgufMetadata& metadata, std::string_view key, std::vector<T>& out) {
  if (metadata.find(key) == nullptr) return Ok{};
  KVERN_TRY(out, metadata.numbers<T>(key));
  return Ok{};
}

Status read_strings(const model::GgufMetadata& metadata, std::string_view key,
                    std::vector<std::string>& out) {
  if (metadata.find(key) == nullptr) return Ok{};
  KVERN_TRY(const model::GgufStrings strings, metadata.strings(key));
  out.reserve(strings.size());
  for (const std::string_view text : strings) out.emplace_back(text);
  return Ok{};
}

Status read_ids(const model::GgufMetadata& metadata, text::GgufTokenizer& data) {
  KVERN_TRY(data.bos_id, metadata.get_optional<int64_t>("tokenizer.ggml.bos_token_id"));
  KVERN_TRY(data.eos_id, metadata.get_optional<int64_t>("tokenizer.ggml.eos_token_id"));
  KVERN_TRY(data.unk_id, metadata.get_optional<int64_t>("tokenizer.ggml.unknown_token_id"));
  KVERN_TRY(data.eot_id, metadata.get_optional<int64_t>("tokenizer.ggml.eot_token_id"));
  KVERN_TRY(data.eom_id, metadata.get_optional<int64_t>("tokenizer.ggml.eom_token_id"));
  KVERN_TRY(data.add_bos, metadata.get_optional<bool>("tokenizer.ggml.add_bos_token"));
  KVERN_TRY(data.add_eos, metadata.get_optional<bool>("tokenizer.ggml.add_eos_token"));
  KVERN_TRY(data.add_space_prefix, metadata.get_optional<bool>("tokenizer.ggml.add_space_prefix"));
  KVERN_TRY(data.remove_extra_whitespaces,
            metadata.get_optional<bool>("tokenizer.ggml.remove_extra_whitespaces"));
  return Ok{};
}

Result<TextParts> from_gguf(const model::GgufFile& file) {
  const model::GgufMetadata& metadata = file.metadata();
  TextParts parts;
  KVERN_TRY(const auto chat_template, metadata.get_optional<std::string_view>("tokenizer.chat_template"));
  if (chat_template) parts.chat_template = std::string(*chat_template);
  KVERN_TRY(const auto kind, metadata.get_optional<std::string_view>("tokenizer.ggml.model"));
  if (!kind || *kind == "no_vocab" || *kind == "none") return parts;
  text::GgufTokenizer data;
  data.model = *kind;
  KVERN_TRY(const auto pre, metadata.get_optional<std::string_view>("tokenizer.ggml.pre"));
  if (pre) data.pre = *pre;
  KVERN_TRY_STATUS(read_strings(metadata, "tokenizer.ggml.tokens", data.tokens));
  KVERN_TRY_STATUS(read_strings(metadata, "tokenizer.ggml.merges", data.merges));
  KVERN_TRY_STATUS(read_numbers(metadata, "tokenizer.ggml.scores", data.scores));
  KVERN_TRY_STATUS(read_numbers(metadata, "tokenizer.ggml.token_type", data.token_types));
  if (const model::GgufValue* map = metadata.find("tokenizer.ggml.precompiled_charsmap")) {
    data.precompiled_charsmap.assign(reinterpret_cast<const char*>(map->bytes.data()), map->bytes.size());
  }
  KVERN_TRY_STATUS(read_ids(metadata, data));
  KVERN_TRY(parts.tokenizer, text::Tokenizer::from_gguf(data, file.path()));
  return parts;
}

/// The template of tokenizer_config.json: one string, or a list of named ones of which "default" is meant.
std::optional<std::string> template_of(const json::value& config) {
  const json::value* entry = config.is_object() ? config.as_object().if_contains("chat_template") : nullptr;
  if (entry == nullptr) return std::nullopt;
  if (entry->is_string()) return std::string(entry->as_string());
  if (!entry->is_array()) return std::nullopt;
  for (const json::value& named : entry->as_array()) {
    if (!named.is_object()) continue;
    const json::value* name = named.as_object().if_contains("name");
    const json::value* source = named.as_object().if_contains("template");
    if (name != nullptr && source != nullptr && source->is_string() && *name == "default")
      return std::string(source->as_string());
  }
  return std::nullopt;
}

Result<std::string> read_if_there(Files& files, const std::string& path, uint64_t limit) {
  return files.exists(path) ? read_file(files, path, limit) : Result<std::string>(std::string());
}

Result<TextParts> from_folder(Files& files, const std::string& folder) {
  TextParts parts;
  KVERN_TRY(const std::string config,
            read_if_there(files, folder + "/tokenizer_config.json", kMaxTokenizerBytes));
  if (!config.empty()) {
    KVERN_TRY(const json::value parsed, parse_json(config, folder + "/tokenizer_config.json"));
    parts.chat_template = template_of(parsed);
  }
  KVERN_TRY(std::string separate, read_if_there(files, folder + "/chat_template.jinja", kMaxTemplateBytes));
  if (!separate.empty()) parts.chat_template = std::move(separate);
  if (files.exists(folder + "/tokenizer.json")) {
    KVERN_TRY(parts.tokenizer, load_tokenizer_json(files, folder + "/tokenizer.json"));
  }
  return parts;
}

}  // namespace

Result<std::unique_ptr<text::Tokenizer>> load_tokenizer_json(Files& files, const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  KVERN_TRY(const std::string tokenizer, read_file(files, path, kMaxTokenizerBytes));
  KVERN_TRY(const std::string config,
            read_if_there(files, folder + "tokenizer_config.json", kMaxTokenizerBytes));
  return text::Tokenizer::from_json(tokenizer, config, path);
}

Result<TextParts> load_text_parts(Files& files, const model::OpenedModel& opened) {
  return opened.gguf != nullptr ? from_gguf(*opened.gguf) : from_folder(files, opened.folder);
}

}  // namespace kvern::engine
