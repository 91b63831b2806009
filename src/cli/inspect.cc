// kvern inspect: what a model file holds and how kvern would run it.
#include <algorithm>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "engine/load/text_parts.h"
#include "model/fingerprint.h"
#include "model/model.h"

namespace kvern::cli {
namespace {

struct InspectFlags {
  std::string model;
  bool tensors = false;
  bool origins = false;
  bool json = false;
};

struct TypeSum {
  int64_t tensors = 0;
  uint64_t bytes = 0;
};

/// What the report is made from.
struct Facts {
  const model::Model& model;
  const engine::TextParts& text;
  const InspectFlags& flags;
  std::string fingerprint;
  std::string target;
  std::map<std::string, TypeSum> types;
  uint64_t bytes = 0;
};

Result<Facts> collect(const model::Model& model, const engine::TextParts& text, const InspectFlags& flags) {
  Facts facts{.model = model, .text = text, .flags = flags};
  for (const model::StoredTensor& tensor : model.opened().source->list()) {
    TypeSum& sum = facts.types[std::string(model::type_name(tensor))];
    ++sum.tensors;
    sum.bytes += tensor.bytes.size();
    facts.bytes += tensor.bytes.size();
  }
  KVERN_TRY(const ModelFingerprint fingerprint,
            model::sampled_fingerprint(*model.opened().source, model.config()));
  facts.fingerprint = fingerprint.to_string();
  const Result<compute::CpuTarget> target = compute::best_target();
  facts.target = target ? std::string(to_string(*target)) : "none";
  return facts;
}

int64_t windowed_layers(const model::ModelConfig& c) {
  return c.window ? std::ranges::count(c.window->layers, true) : 0;
}

/// "sliding window 512 in 22 of 26 layers", "the last 15 read keys and values of earlier ones", or nothing.
std::string attention_text(const model::ModelConfig& c) {
  std::string text;
  if (c.window)
    text +=
        fmt::format(", sliding window {} in {} of {} layers", c.window->tokens, windowed_layers(c), c.layers);
  if (c.shared_kv_layers > 0)
    text += fmt::format(", the last {} layers read keys and values of earlier ones", c.shared_kv_layers);
  return text;
}

json::object geometry_json(const model::ModelConfig& c) {
  json::object object{{"family", model::to_string(c.family)},
                      {"name", c.name},
                      {"layers", c.layers},
                      {"hidden", c.hidden},
                      {"ffn", c.ffn},
                      {"heads", c.heads},
                      {"kv_heads", c.kv_heads},
                      {"head_dim_k", c.head_dim_k},
                      {"head_dim_v", c.head_dim_v},
                      {"vocab", c.vocab},
                      {"context", c.context},
                      {"tied", c.tied},
                      {"norm_eps", c.norm_eps},
                      {"rope_theta", c.rope.theta},
                      {"rope_dims", c.rope.rotary_dims}};
  object["window"] = c.window ? json::value(c.window->tokens) : json::value(nullptr);
  object["windowed_layers"] = windowed_layers(c);
  object["shared_kv_layers"] = c.shared_kv_layers;
  object["end_tokens"] = json::array(c.end_tokens.begin(), c.end_tokens.end());
  return object;
}

json::object report_json(const Facts& facts) {
  json::object types;
  for (const auto& [name, sum] : facts.types) types[name] = {{"tensors", sum.tensors}, {"bytes", sum.bytes}};
  json::object object{{"path", facts.flags.model},
                      {"geometry", geometry_json(facts.model.config())},
                      {"types", std::move(types)},
                      {"bytes", facts.bytes},
                      {"fingerprint", facts.fingerprint},
                      {"cpu_target", facts.target},
                      {"chat_template", facts.text.chat_template.has_value()}};
  const text::Tokenizer* tokenizer = facts.text.tokenizer.get();
  object["tokenizer_vocab"] =
      tokenizer != nullptr ? json::value(tokenizer->vocab_size()) : json::value(nullptr);
  if (facts.flags.tensors) {
    json::array tensors;
    for (const model::StoredTensor& tensor : facts.model.opened().source->list()) {
      tensors.push_back({{"name", tensor.name},
                         {"type", model::type_name(tensor)},
                         {"shape", json::array(tensor.shape.begin(), tensor.shape.end())},
                         {"bytes", tensor.bytes.size()}});
    }
    object["tensors"] = std::move(tensors);
  }
  if (facts.flags.origins) {
    json::object origins;
    for (const auto& [field, origin] : facts.model.config().origins) origins[field] = origin;
    object["origins"] = std::move(origins);
  }
  return object;
}

std::string report_text(const Facts& facts) {
  const model::ModelConfig& c = facts.model.config();
  std::string out = fmt::format("{}\n  family       {}{}\n", facts.flags.model, model::to_string(c.family),
                                c.name.empty() ? "" : " (" + c.name + ")");
  out += fmt::format("  geometry     {} layers, hidden {}, ffn {}, {} heads, {} kv heads, head size {}\n",
                     c.layers, c.hidden, c.ffn, c.heads, c.kv_heads,
                     c.head_dim_k == c.head_dim_v ? fmt::format("{}", c.head_dim_k)
                                                  : fmt::format("{} / {}", c.head_dim_k, c.head_dim_v));
  out += fmt::format("  vocabulary   {}{}\n  context      {} tokens{}\n", c.vocab, c.tied ? ", tied" : "",
                     c.context, attention_text(c));
  out += fmt::format("  parameters   {:.1f} M in layers, {:.1f} M in the output matrix\n",
                     facts.model.layer_parameters() / 1e6, facts.model.output_parameters() / 1e6);
  for (const auto& [name, sum] : facts.types) {
    out += fmt::format("  {:<12} {} tensors, {}\n", name, sum.tensors, human_bytes(sum.bytes));
  }
  const text::Tokenizer* tokenizer = facts.text.tokenizer.get();
  out += fmt::format("  tokenizer    {}\n  template     {}\n",
                     tokenizer != nullptr ? fmt::format("{} tokens", tokenizer->vocab_size()) : "none",
                     facts.text.chat_template ? "chat" : "none");
  out += fmt::format("  fingerprint  {}\n  runs on      {}\n", facts.fingerprint, facts.target);
  if (facts.flags.origins) {
    out += "  where values come from:\n";
    for (const auto& [field, origin] : c.origins) out += fmt::format("    {:<28} {}\n", field, origin);
  }
  if (facts.flags.tensors) {
    for (const model::StoredTensor& tensor : facts.model.opened().source->list()) {
      out += fmt::format("    {:<44} {:<8} {:<18} {}\n", tensor.name, model::type_name(tensor),
                         model::shape_text(tensor.shape), human_bytes(tensor.bytes.size()));
    }
  }
  return out;
}

Result<ExitCode> run(Environment& environment, const InspectFlags& flags) {
  install_bus_error_message(flags.model);
  KVERN_TRY(const std::unique_ptr<model::Model> model, model::Model::open(environment.files, flags.model));
  KVERN_TRY(const engine::TextParts text, engine::load_text_parts(environment.files, model->opened()));
  KVERN_TRY(const Facts facts, collect(*model, text, flags));
  if (flags.json) {
    KVERN_TRY_STATUS(write_json(report_json(facts)));
  } else {
    KVERN_TRY_STATUS(write_stdout(report_text(facts)));
  }
  return ExitCode::kOk;
}

}  // namespace

void add_inspect(CLI::App& app, Command& chosen) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App& command = *app.add_subcommand("inspect", "What a model file holds and how it would run");
  command.add_option("model", flags->model, "Model: a .gguf file or a Hugging Face folder")
      ->required()
      ->type_name("MODEL");
  command.add_flag("--tensors", flags->tensors, "List every tensor");
  command.add_flag("--origins", flags->origins, "Say which key of the file each value came from");
  command.add_flag("--json", flags->json, "One JSON object");
  command.footer("Example:\n  kvern inspect model.gguf --tensors");
  command.callback(
      [flags, &chosen] { chosen = [flags](Environment& environment) { return run(environment, *flags); }; });
}

}  // namespace kvern::cli
