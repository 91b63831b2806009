// kvern kv ls, show, stats: what is in a directory of saved state.
#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/plural.h"
#include "cli/kv_commands.h"
#include "cli/output.h"
#include "engine/load/text_parts.h"
#include "model/fingerprint.h"
#include "model/model.h"
#include "store/disk/entry_names.h"

namespace kvern::cli {
namespace {

struct ListFlags : KvFlags {
  std::string name;
  std::string model;
};

std::string age_text(int64_t seconds) {
  if (seconds < 0) return "later";
  constexpr std::pair<int64_t, const char*> kUnits[] = {{86400, "d"}, {3600, "h"}, {60, "min"}};
  for (const auto& [length, unit] : kUnits) {
    if (seconds >= length) return fmt::format("{} {}", seconds / length, unit);
  }
  return fmt::format("{} s", seconds);
}

int64_t now_seconds(const Environment& environment) {
  return std::chrono::duration_cast<std::chrono::seconds>(environment.clock.wall_now().time_since_epoch())
      .count();
}

std::string notes_of(const store::ListedEntry& entry, int64_t now) {
  std::vector<std::string> notes;
  if (entry.pinned) notes.emplace_back("pinned");
  if (entry.extras) notes.emplace_back("extras");
  if (entry.expires > now) notes.push_back("for " + age_text(entry.expires - now));
  if (entry.expires > 0 && entry.expires <= now) notes.emplace_back("expired");
  if (entry.usable < entry.length) notes.push_back(fmt::format("damaged: whole to {}", entry.usable));
  return fmt::format("{}", fmt::join(notes, ", "));
}

Result<ExitCode> run_list(Environment& environment, const ListFlags& flags) {
  KVERN_TRY(const OpenedStore opened, open_store(environment, flags.directory, StoreAccess::kRead));
  KVERN_TRY(const auto entries, opened->list());
  KVERN_TRY(const store::DiskStats stats, opened->stats());
  if (flags.json) {
    json::array lines;
    for (const store::ListedEntry& entry : entries) lines.push_back(entry_json(entry));
    KVERN_TRY_STATUS(write_json(json::object{{"entries", std::move(lines)}, {"bytes", stats.totals.bytes}}));
    return ExitCode::kOk;
  }
  const size_t digits = store::distinct_digits(entries);
  const int64_t now = now_seconds(environment);
  std::string text;
  if (!entries.empty())
    text = fmt::format("{:<{}}  {:>8}  {:>11}  {:>8}  {:<8}  {}\n", "name", digits, "tokens", "size", "used",
                       "model", "notes");
  for (const store::ListedEntry& entry : entries) {
    std::string line =
        fmt::format("{}  {:>8}  {:>11}  {:>8}  {}  {}", entry.manifest.to_string().substr(0, digits),
                    entry.length, human_bytes(entry.bytes), age_text(now - entry.used),
                    entry.model.to_string().substr(0, 8), notes_of(entry, now));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  text += fmt::format("{}, {}\n", counted(std::ssize(entries), "prefix", "prefixes"),
                      human_bytes(stats.totals.bytes));
  KVERN_TRY_STATUS(write_stdout(text));
  return ExitCode::kOk;
}

/// The text of an entry's tokens, by the tokenizer of the model that made it.
Result<std::string> text_of(Environment& environment, const store::Manifest& manifest,
                            const std::string& path) {
  KVERN_TRY(const std::unique_ptr<model::Model> model, model::Model::open(environment.files, path));
  KVERN_TRY(const ModelFingerprint fingerprint,
            model::sampled_fingerprint(*model->opened().source, model->config()));
  if (fingerprint != manifest.model) {
    return fail(
        ErrorCode::kInvalidArgument,
        "this model is " + fingerprint.to_string() + ", and the prefix is of " + manifest.model.to_string(),
        path);
  }
  KVERN_TRY(const engine::TextParts parts, engine::load_text_parts(environment.files, model->opened()));
  if (parts.tokenizer == nullptr)
    return fail(ErrorCode::kInvalidArgument, "this model has no tokenizer, so there is no text", path);
  return parts.tokenizer->decode(manifest.tokens, {.skip_special = false});
}

/// Its lines; those that are equal and follow each other once, with how many there are.
std::vector<std::string> lines_of(const std::string& identity) {
  std::vector<std::pair<std::string, int64_t>> runs;
  std::istringstream in(identity);
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    if (runs.empty() || runs.back().first != line) runs.emplace_back(line, 0);
    ++runs.back().second;
  }
  std::vector<std::string> lines;
  lines.reserve(runs.size());
  for (const auto& [line, count] : runs)
    lines.push_back(count == 1 ? line : fmt::format("{} x {}", count, line));
  return lines;
}

/// What reaches a terminal has no control characters but line ends and tabs.
std::string for_people(std::string text) {
  for (char& c : text) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F) c = '?';
  }
  return text;
}

/// What `show` is made from.
struct Shown {
  store::EntryDetails details;
  store::Manifest manifest;
  std::optional<std::string> text;
};

json::object shown_json(const Shown& shown) {
  const store::Manifest& m = shown.manifest;
  const store::BlockUse& blocks = shown.details.blocks;
  json::object object = entry_json(shown.details.entry);
  object["created"] = utc_text(m.created_seconds);
  object["tokenizer"] = to_hex(m.tokenizer);
  object["namespace"] = to_hex(m.space);
  object["root"] = to_hex(m.root);
  object["kv"] = m.identity;
  object["page"] = m.page;
  object["blocks"] = {{"count", blocks.blocks},
                      {"bytes", blocks.bytes},
                      {"shared", blocks.shared_blocks},
                      {"shared_bytes", blocks.shared_bytes},
                      {"lost", blocks.lost_blocks}};
  json::array stores;
  for (const store::ManifestStore& s : m.stores) stores.push_back(json::value(s.store.text));
  object["stores"] = std::move(stores);
  json::array attachments;
  for (const store::Attachment& a : m.attachments)
    attachments.push_back(json::object{{"name", a.name}, {"bytes", a.data.size()}});
  object["attachments"] = std::move(attachments);
  object["checkpoint"] = nullptr;
  if (m.checkpoint) {
    object["checkpoint"] = {{"key", to_hex(m.checkpoint->key)},
                            {"prompt_tokens", m.checkpoint->prompt_tokens},
                            {"generated_tokens", m.checkpoint->generated_tokens},
                            {"seed", m.checkpoint->seed}};
  }
  object["token_ids"] = json::array(m.tokens.begin(), m.tokens.end());
  if (shown.text) object["text"] = *shown.text;
  return object;
}

std::string shown_text(const Shown& shown, int64_t now) {
  const store::Manifest& m = shown.manifest;
  const store::ListedEntry& entry = shown.details.entry;
  const store::BlockUse& blocks = shown.details.blocks;
  std::string out = fmt::format("{}\n", entry.manifest.to_string());
  const auto line = [&](std::string_view name, const std::string& value) {
    out += fmt::format("  {:<12} {}\n", name, value);
  };
  line("tokens", fmt::format("{}, of use from {} to {}", entry.length, entry.minimum, entry.usable));
  line("size",
       fmt::format("{} in all: {} of its own, {} shared with other prefixes", human_bytes(entry.bytes),
                   human_bytes(entry.bytes - blocks.shared_bytes), human_bytes(blocks.shared_bytes)));
  line("blocks", fmt::format("{} of {} positions, {} shared{}", blocks.blocks, m.page, blocks.shared_blocks,
                             blocks.lost_blocks > 0 ? fmt::format(", {} lost", blocks.lost_blocks) : ""));
  line("created", utc_text(m.created_seconds));
  line("used", utc_text(entry.used));
  if (const std::string notes = notes_of(entry, now); !notes.empty()) line("notes", notes);
  line("model", entry.model.to_string());
  line("tokenizer", to_hex(m.tokenizer));
  line("namespace", to_hex(m.space));
  for (const std::string& part : lines_of(m.identity)) line("kv", for_people(part));
  for (const store::Attachment& a : m.attachments)
    line("attachment", for_people(a.name) + ", " + human_bytes(a.data.size()));
  if (m.checkpoint) {
    line("checkpoint", fmt::format("{} of a prompt and {} generated; seed {}",
                                   counted(m.checkpoint->prompt_tokens, "token"),
                                   m.checkpoint->generated_tokens, m.checkpoint->seed));
  }
  if (shown.text) out += "\n" + for_people(*shown.text) + "\n";
  return out;
}

Result<ExitCode> run_show(Environment& environment, const ListFlags& flags) {
  KVERN_TRY(const OpenedStore opened, open_store(environment, flags.directory, StoreAccess::kRead));
  KVERN_TRY(const auto found, entries_named(*opened.store, {&flags.name, 1}));
  Shown shown;
  KVERN_TRY(shown.details, opened->details(found.front().manifest));
  KVERN_TRY(shown.manifest, opened->manifest(found.front().manifest));
  if (!flags.model.empty()) {
    KVERN_TRY(shown.text, text_of(environment, shown.manifest, flags.model));
  }
  if (flags.json) {
    KVERN_TRY_STATUS(write_json(shown_json(shown)));
  } else {
    KVERN_TRY_STATUS(write_stdout(shown_text(shown, now_seconds(environment))));
  }
  return ExitCode::kOk;
}

struct ModelSum {
  int64_t entries = 0;
  int64_t tokens = 0;
};

Result<ExitCode> run_stats(Environment& environment, const ListFlags& flags) {
  KVERN_TRY(const OpenedStore opened, open_store(environment, flags.directory, StoreAccess::kRead));
  KVERN_TRY(const auto entries, opened->list());
  KVERN_TRY(const store::DiskStats stats, opened->stats());
  std::map<std::string, ModelSum> models;
  uint64_t apart = 0;
  int64_t pinned = 0;
  int64_t damaged = 0;
  for (const store::ListedEntry& entry : entries) {
    ModelSum& sum = models[entry.model.to_string()];
    ++sum.entries;
    sum.tokens += entry.length;
    apart += entry.bytes;
    pinned += entry.pinned ? 1 : 0;
    damaged += entry.usable < entry.length ? 1 : 0;
  }
  if (flags.json) {
    json::object by_model;
    for (const auto& [name, sum] : models)
      by_model[name] = {{"entries", sum.entries}, {"tokens", sum.tokens}};
    KVERN_TRY_STATUS(write_json(json::object{{"entries", stats.totals.entries},
                                             {"blocks", stats.totals.blocks},
                                             {"bytes", stats.totals.bytes},
                                             {"bytes_unshared", apart},
                                             {"bytes_beside", stats.other_bytes},
                                             {"pinned", pinned},
                                             {"bytes_pinned", stats.totals.pinned_bytes},
                                             {"damaged", damaged},
                                             {"page", opened->page()},
                                             {"models", std::move(by_model)}}));
    return ExitCode::kOk;
  }
  std::string text =
      fmt::format("{} in {} of {} positions, {}\n", counted(stats.totals.entries, "prefix", "prefixes"),
                  counted(stats.totals.blocks, "block"), opened->page(), human_bytes(stats.totals.bytes));
  text += fmt::format("each by itself they would take {}; {} pinned ({}), {} damaged\n", human_bytes(apart),
                      pinned, human_bytes(stats.totals.pinned_bytes), damaged);
  text += fmt::format("index, journal and other files: {}\n", human_bytes(stats.other_bytes));
  for (const auto& [name, sum] : models)
    text += fmt::format("  model {}  {}, {}\n", name, counted(sum.entries, "prefix", "prefixes"),
                        counted(sum.tokens, "token"));
  KVERN_TRY_STATUS(write_stdout(text));
  return ExitCode::kOk;
}

}  // namespace

void add_kv_list_commands(CLI::App& kv, Command& chosen) {
  using ListCommand = KvCommand<ListFlags>;
  const auto flags = [] { return std::make_shared<ListFlags>(); };
  ListCommand{"ls", "List the saved prefixes, those used last first", run_list}.add_to(kv, chosen, flags());
  const auto show = flags();
  CLI::App& command =
      ListCommand{"show", "All that is known of one prefix", run_show}.add_to(kv, chosen, show);
  command.add_option("name", show->name, "The prefix")->required()->type_name("NAME");
  command.add_option("-m,--model", show->model, "The model that made it: shows the text, too")
      ->type_name("MODEL");
  ListCommand{"stats", "How much there is, and how much is shared", run_stats}.add_to(kv, chosen, flags());
}

}  // namespace kvern::cli
