#include "cli/serve_flags.h"

#include <map>
#include <utility>

#include <CLI/CLI.hpp>

#include "cli/numbers.h"
#include "server/config/values.h"

namespace kvern::cli {
namespace {

constexpr int64_t kMaxRows = 4096;
constexpr int64_t kMaxCount = int64_t{1} << 24;
/// Of the sizes of what is read and sent.
constexpr size_t kLeastLimit = size_t{4} << 10;

/// An option whose text is read by one of ours; `store` takes the value.
template <typename Read, typename Store>
CLI::Option* parsed_option(CLI::App& command, const std::string& name, Read read, Store store) {
  return command.add_option_function<std::string>(name, [name, read, store](const std::string& text) {
    const auto value = read(text);
    if (!value) throw CLI::ValidationError(name, "'" + text + "': " + value.error().message);
    store(*value);
  });
}

void add_bytes(CLI::App& command, const std::string& name, size_t& target, const std::string& help) {
  parsed_option(command, name, server::parse_bytes, [&target](size_t value) { target = value; })
      ->description(help)
      ->type_name("SIZE")
      ->default_str(server::bytes_text(target));
}

void add_optional_bytes(CLI::App& command, const std::string& name, std::optional<size_t>& target,
                        const std::string& help) {
  parsed_option(command, name, server::parse_bytes, [&target](size_t value) { target = value; })
      ->description(help)
      ->type_name("SIZE");
}

void add_time(CLI::App& command, const std::string& name, std::chrono::milliseconds& target,
              const std::string& help) {
  parsed_option(command, name, server::parse_duration,
                [&target](std::chrono::milliseconds value) { target = value; })
      ->description(help)
      ->type_name("TIME")
      ->default_str(server::duration_text(target));
}

template <typename T>
void add_count(CLI::App& command, const std::string& name, T& target, const std::string& help,
               int64_t least = 1) {
  command.add_option(name, target, help)
      ->check(whole_number(least, kMaxCount))
      ->capture_default_str()
      ->type_name("N");
}

CLI::Option* add_list(CLI::App& command, const std::string& name, std::vector<std::string>& target,
                      const std::string& help, const std::string& type) {
  return command.add_option(name, target, help)->allow_extra_args(false)->type_name(type);
}

void add_listening(CLI::App& command, ServeFlags& flags) {
  add_list(command, "--host", flags.hosts, "Address to listen on; may be repeated", "HOST")
      ->default_str("127.0.0.1");
  command.add_option("--port", flags.port, "0 = any free port, which the log names")
      ->check(whole_number(0, 65535))
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--tls-cert", flags.tls_certificate, "Certificate chain (PEM): serves HTTPS alone")
      ->type_name("FILE");
  command.add_option("--tls-key", flags.tls_key, "Its private key (PEM)")->type_name("FILE");
  add_list(command, "--cors-origin", flags.cors_origins,
           "Web pages of this origin may ask (\"*\": of all); may be repeated", "ORIGIN");
}

void add_access(CLI::App& command, ServeFlags& flags) {
  add_list(command, "--api-key", flags.keys.keys,
           "Key that clients must send, or NAME:KEY; may be repeated. Other users of this machine can see "
           "command lines: prefer a file or KVERN_API_KEY",
           "KEY");
  command
      .add_option(
          "--api-key-file", flags.keys.file,
          "File of keys, one a line, # begins a comment line; read again when it changes and on SIGHUP")
      ->type_name("FILE");
  command.add_flag("--open-metrics", flags.open_metrics, "/metrics needs no key");
}

void add_sharing(CLI::App& command, ServeFlags& flags) {
  add_list(command, "-a,--alias", flags.aliases,
           "Name of the model for clients; the first one is in answers; may be repeated [name of the file]",
           "NAME");
  command
      .add_option("--max-rows,-j,--parallel", flags.loop.max_rows,
                  "Most rows computed together; a request has one for each choice")
      ->check(whole_number(1, kMaxRows))
      ->capture_default_str()
      ->type_name("N");
  add_count(command, "--max-queue", flags.loop.max_queue,
            "Most requests that wait; more are told to come back (429)");
  add_count(command, "--step-tokens", flags.loop.mixed_tokens,
            "Most prompt tokens in a step beside rows that generate: less makes their gaps shorter");
  add_optional_bytes(
      command, "--kv-budget", flags.model.engine.kv_budget_bytes,
      "Memory for keys and values, kept prefixes included; 0 = no limit [3/4 of what is free]");
  add_optional_bytes(command, "--prefix-cache", flags.prefix_bytes,
                     "Of this, the most for kept prefixes; 0 keeps none [half of it]");
  add_optional_bytes(
      command, "--kv-outside", flags.loop.outside_bytes,
      "Most memory beside --kv-budget for rows that gave way for a while; what might come to need "
      "more waits; 0: nobody gives way [a quarter of the budget]");
}

void add_saving(CLI::App& command, ServeFlags& flags) {
  command
      .add_option("--kv-dir", flags.kv.path,
                  "Directory in which prefixes are saved: they survive restarts. Made if it is not there")
      ->type_name("DIR");
  parsed_option(command, "--kv-dir-size", server::parse_bytes,
                [&flags](size_t value) { flags.kv.max_bytes = value; })
      ->description("Of all its files, at most; prefixes used least go first; 0 = no limit")
      ->type_name("SIZE")
      ->default_str(server::bytes_text(flags.kv.max_bytes));
  command.add_flag("--kv-read-only", flags.kv.read_only,
                   "Prefixes are taken from the directory and not saved to it");
  add_time(command, "--kv-save-after", flags.loop.tiers.settle,
           "For which a prefix has been kept before it is saved");
  add_time(command, "--kv-flush-timeout", flags.limits.flush_timeout,
           "For /v1/kv/flush to save all that is kept, and for the same when the server is stopped");
}

void add_remote(CLI::App& command, ServeFlags& flags) {
  command
      .add_option(
          "--kv-remote", flags.remote.url,
          "Redis server through which machines share prefixes: redis://[user:password@]host[:port][/db], "
          "rediss:// for TLS, unix:///path")
      ->type_name("URL");
  command
      .add_option("--kv-remote-ca", flags.remote.authorities,
                  "File of certificates that rediss:// trusts [the system's]")
      ->type_name("FILE");
  add_time(command, "--kv-remote-timeout", flags.remote.timeout,
           "For each of its answers, beside what the bytes take; then it is left alone for a while");
  add_time(command, "--kv-remote-wait", flags.remote.lookup_wait,
           "For which a request may wait to hear what it has; later is a miss");
  add_time(command, "--kv-remote-ttl", flags.remote.time_to_live,
           "For which it keeps a prefix that nobody saves again; 0 = until it needs the room");
}

void add_limits(CLI::App& command, ServeFlags& flags) {
  server::HttpLimits& http = flags.http.limits;
  add_count(command, "--max-tokens", flags.limits.max_new_tokens,
            "Most new tokens that a request may ask for; 0 = what the context takes", 0);
  add_count(command, "--max-choices", flags.limits.max_choices, "Most choices of a request (n, best_of)");
  add_count(command, "--store-responses", flags.limits.max_stored_responses,
            "Most answers of /v1/responses that are kept; 0 keeps none", 0);
  add_bytes(command, "--store-bytes", flags.limits.max_stored_bytes, "Memory for them");
  add_time(command, "--store-time", flags.limits.stored_for, "For which they are kept");
  add_time(command, "--timeout", flags.limits.request_timeout,
           "For a whole generation, waiting included; 0 = none");
  add_bytes(command, "--max-body", http.body_bytes, "Longest body of a request");
  add_bytes(command, "--kv-max-import", flags.limits.max_import_bytes,
            "Longest file of saved prefixes that is sent here; it is held in memory");
  command
      .add_option("--kv-exports", flags.limits.max_exports,
                  "Files of saved prefixes that are sent at a time; more get 503")
      ->check(whole_number(1, 64))
      ->capture_default_str()
      ->type_name("N");
  add_bytes(command, "--max-header", http.header_bytes, "Longest headers of a request");
  add_bytes(command, "--max-queued-output", http.queued_bytes, "Of a stream that its client does not read");
  add_count(command, "--max-connections", http.connections, "Open connections; more get 503");
  add_time(command, "--header-timeout", http.header_timeout, "For the headers of a request to arrive");
  add_time(command, "--body-timeout", http.body_timeout, "For its body, beyond 1 s for each KiB");
  add_time(command, "--idle-timeout", http.idle_timeout, "For a connection without a request");
  add_time(command, "--write-timeout", http.write_timeout, "For a client that takes nothing of its answer");
  add_time(command, "--ping-interval", flags.limits.ping_after,
           "Between comments in a stream that is silent");
  add_time(command, "--drain-timeout", flags.drain_timeout,
           "For running requests to end when the server is stopped");
  command.add_option("--io-threads", flags.http.io_threads, "Threads for the network")
      ->check(whole_number(1, 2))
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--http-workers", flags.http.workers, "Threads that read requests' contents")
      ->check(whole_number(1, 64))
      ->capture_default_str()
      ->type_name("N");
}

/// A reader of words for parsed_option().
template <typename T>
auto one_of(std::map<std::string, T> words) {
  return [words = std::move(words)](const std::string& text) -> Result<T> {
    if (const auto found = words.find(text); found != words.end()) return found->second;
    std::string list;
    for (const auto& [word, value] : words) list += (list.empty() ? "" : ", ") + word;
    return fail(ErrorCode::kInvalidArgument, "there are: " + list);
  };
}

void add_saved(CLI::App& command, ServeFlags& flags) {
  command.add_flag(
      "--no-journal", flags.no_journal,
      "Requests are not written down in --kv-dir: unfinished ones do not go on in the next server");
  parsed_option(command, "--journal-sync",
                one_of<store::JournalSync>({{"always", store::JournalSync::kAlways},
                                            {"interval", store::JournalSync::kInterval},
                                            {"never", store::JournalSync::kNever}}),
                [&flags](store::JournalSync sync) { flags.journal_sync = sync; })
      ->description(
          "When tokens survive a power cut: always, interval (50 ms) or never. Lost ones are sampled "
          "again, and are the same")
      ->default_str("interval")
      ->type_name("WHEN");
  parsed_option(command, "--reconnect-time", server::parse_duration,
                [&flags](std::chrono::milliseconds time) { flags.reconnect_for = time; })
      ->description(
          "For which a stream goes on without its client, and its events are kept; 0 = it ends with "
          "its connection [1m with a journal, else 0]")
      ->type_name("TIME");
}

void add_log(CLI::App& command, ServeFlags& flags) {
  const std::map<std::string, LogLevel> levels{{"debug", LogLevel::kDebug},
                                               {"info", LogLevel::kInfo},
                                               {"warning", LogLevel::kWarning},
                                               {"error", LogLevel::kError}};
  const std::map<std::string, LogFormat> formats{{"text", LogFormat::kText}, {"json", LogFormat::kJson}};
  parsed_option(command, "--log-level", one_of(levels),
                [&flags](LogLevel level) { flags.log.minimum = level; })
      ->description("debug, info, warning or error")
      ->default_str("info")
      ->type_name("LEVEL");
  parsed_option(command, "--log-format", one_of(formats),
                [&flags](LogFormat format) { flags.log.format = format; })
      ->description("text, or json: a line for each request either way")
      ->default_str("text")
      ->type_name("FORMAT");
  command.add_flag("--log-prompts", flags.log_prompts, "Texts of users may stand in the log");
}

}  // namespace

void add_serve_flags(CLI::App& command, ServeFlags& flags) {
  add_model_flags(command, flags.model, ModelArgument::kFlag);
  // It may also come from the environment or the file.
  command.get_option("--model")->required(false);
  add_sharing(command, flags);
  add_listening(command, flags);
  add_access(command, flags);
  add_saving(command, flags);
  add_remote(command, flags);
  add_limits(command, flags);
  add_saved(command, flags);
  add_log(command, flags);
  command
      .add_option("--config", flags.config_path, "File of lines 'flag = value'; flags and environment win")
      ->type_name("FILE");
  command.add_flag("--check", flags.check,
                   "Check settings, keys, certificate, addresses and model; print the settings");
}

const std::vector<std::string>& secret_serve_options() {
  static const std::vector<std::string> names = {"api-key", "kv-remote"};
  return names;
}

Status check_serve_flags(const ServeFlags& flags) {
  if (flags.model.engine.model_path.empty())
    return fail(ErrorCode::kInvalidArgument, "a model is needed: give a .gguf file or a Hugging Face folder",
                "--model");
  if (flags.tls_certificate.empty() != flags.tls_key.empty()) {
    return fail(ErrorCode::kInvalidArgument, "certificate and key are given together",
                flags.tls_key.empty() ? "--tls-cert" : "--tls-key");
  }
  if (flags.remote.url.empty() && !flags.remote.authorities.empty())
    return fail(ErrorCode::kInvalidArgument, "there is no server to trust: give --kv-remote",
                "--kv-remote-ca");
  if (flags.remote.timeout.count() < 1)
    return fail(ErrorCode::kInvalidArgument, "it must be at least 1 ms", "--kv-remote-timeout");
  if (flags.kv.read_only && flags.kv.path.empty())
    return fail(ErrorCode::kInvalidArgument, "there is no directory to read: give --kv-dir",
                "--kv-read-only");
  for (const auto& [name, bytes] : {std::pair{"--max-body", flags.http.limits.body_bytes},
                                    std::pair{"--max-header", flags.http.limits.header_bytes},
                                    std::pair{"--max-queued-output", flags.http.limits.queued_bytes}}) {
    if (bytes < kLeastLimit)
      return fail(ErrorCode::kInvalidArgument,
                  "must be at least " + server::bytes_text(kLeastLimit) + ", or no request could pass", name);
  }
  if (flags.limits.ping_after.count() == 0)
    return fail(ErrorCode::kInvalidArgument, "must be longer than nothing", "--ping-interval");
  for (const auto& [name, time] : {std::pair{"--header-timeout", flags.http.limits.header_timeout},
                                   std::pair{"--body-timeout", flags.http.limits.body_timeout},
                                   std::pair{"--idle-timeout", flags.http.limits.idle_timeout},
                                   std::pair{"--write-timeout", flags.http.limits.write_timeout}}) {
    if (time.count() == 0) return fail(ErrorCode::kInvalidArgument, "must be longer than nothing", name);
  }
  return Ok{};
}

Status check_has_effect(const ConfigOrigins& origins) {
  struct Need {
    const char* setting;
    std::vector<std::string> needed;  // one of them
  };
  const Need needs[] = {{"kv-dir-size", {"kv-dir"}},
                        {"no-journal", {"kv-dir"}},
                        {"journal-sync", {"kv-dir"}},
                        {"kv-save-after", {"kv-dir", "kv-remote"}},
                        {"kv-flush-timeout", {"kv-dir", "kv-remote"}},
                        {"kv-remote-ttl", {"kv-remote"}},
                        {"kv-remote-timeout", {"kv-remote"}}};
  for (const auto& [setting, needed] : needs) {
    const auto is_there = [&](const std::string& name) { return origins.contains(name); };
    const auto given = origins.find(setting);
    if (given == origins.end() || std::ranges::any_of(needed, is_there)) continue;
    // A file may hold all settings, as --check prints them.
    if (given->second != "flag" && !given->second.starts_with("KVERN_")) continue;
    std::string flags;
    for (const std::string& name : needed) flags += (flags.empty() ? "--" : " or --") + name;
    const std::string where = given->second == "flag" ? std::string("--") + setting : given->second;
    return fail(ErrorCode::kInvalidArgument, std::string(setting) + " does nothing without " + flags, where);
  }
  return Ok{};
}

}  // namespace kvern::cli
