// A minimal server's loop over llama.cpp's public C API, without HTTP: continuous batching as llama-server
// does it, for bench/serve/serve_bench.py. It has none of a server's work (no sockets, JSON, templates or
// text), which flatters it.
//
//   peer_loop MODEL --script FILE [--threads 2] [--batch 2048] [--flash-attention on]
//
// Script and output are those of bench/serve/loop_bench.cc. Each step is one llama_decode: a token for each
// request that generates, then as many tokens of waiting prompts, in the order of arrival, as fit into
// --batch (llama-server's -b, 2048, is its default; llama.cpp computes it in pieces of 512). Every request
// has a sequence of its own and joins at the next step.
#include "ggml-backend.h"
#include "llama.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

struct Options {
  std::string model;
  std::string script;
  std::string libraries;
  int threads = 2;
  int batch = 2048;
  bool flash_attention = true;
};

Options parse(int argc, char** argv) {
  if (argc < 4 || argc % 2 != 0)
    throw std::runtime_error(
        "usage: peer_loop MODEL --script FILE [--threads N] [--batch N] [--flash-attention on|off]");
  Options options;
  options.model = argv[1];
  options.libraries = (std::filesystem::canonical("/proc/self/exe").parent_path() / "libraries").string();
  for (int i = 2; i < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--script")
      options.script = value;
    else if (name == "--threads")
      options.threads = std::stoi(value);
    else if (name == "--batch")
      options.batch = std::stoi(value);
    else if (name == "--flash-attention")
      options.flash_attention = value != "off";
    else
      throw std::runtime_error("unknown option " + name);
  }
  return options;
}

struct Request {
  int client = 0;
  double arrival = 0;
  int new_tokens = 0;
  std::vector<llama_token> prompt;
  // What happened.
  double start = 0;
  size_t computed = 0;  // of the prompt
  llama_token last = 0;
  std::vector<double> times;

  bool generates() const { return computed == prompt.size(); }
  int position() const { return static_cast<int>(prompt.size() + times.size()) - 1; }
};

std::vector<Request> read_script(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<Request> requests;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    Request request;
    std::string ids;
    if (!(fields >> request.client >> request.arrival >> request.new_tokens >> ids))
      throw std::runtime_error("a line is wrong: " + line);
    std::istringstream list(ids);
    for (std::string id; std::getline(list, id, ',');) request.prompt.push_back(std::stoi(id));
    requests.push_back(std::move(request));
  }
  return requests;
}

struct Free {
  void operator()(llama_model* model) const { llama_model_free(model); }
  void operator()(llama_context* context) const { llama_free(context); }
};
using Model = std::unique_ptr<llama_model, Free>;
using Context = std::unique_ptr<llama_context, Free>;

Model load_model(const Options& options) {
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  ggml_backend_load_all_from_path(options.libraries.c_str());
  Model model(llama_model_load_from_file(options.model.c_str(), llama_model_default_params()));
  if (!model) throw std::runtime_error("cannot load " + options.model);
  return model;
}

/// One buffer of keys and values for all clients, with room for the longest request of each.
Context make_context(const Options& options, llama_model* model, const std::vector<Request>& requests) {
  std::map<int, size_t> longest;
  for (const Request& request : requests) {
    size_t& size = longest[request.client];
    size = std::max(size, request.prompt.size() + static_cast<size_t>(request.new_tokens));
  }
  size_t cells = 0;
  for (const auto& [client, size] : longest) cells += size;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>((cells + 255) / 256 * 256);
  params.n_batch = static_cast<uint32_t>(options.batch);
  params.n_seq_max = static_cast<uint32_t>(longest.rbegin()->first + 1);
  params.kv_unified = true;
  params.n_threads = options.threads;
  params.n_threads_batch = options.threads;
  params.flash_attn_type =
      options.flash_attention ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  Context context(llama_init_from_model(model, params));
  if (!context) throw std::runtime_error("cannot make a context");
  return context;
}

class Loop {
 public:
  Loop(llama_context* context, const Options& options, std::vector<Request> requests)
      : context_(context), capacity_(options.batch), batch_(llama_batch_init(options.batch, 0, 1)) {
    vocabulary_ = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(context)));
    for (Request& request : requests) waiting_[request.client].push_back(std::move(request));
  }
  ~Loop() { llama_batch_free(batch_); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  std::vector<Request> run() {
    start_ = std::chrono::steady_clock::now();
    while (!waiting_.empty() || !running_.empty()) {
      admit();
      if (running_.empty())
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      else
        step();
    }
    return std::move(ended_);
  }

 private:
  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  /// A client's next request starts when its last one has ended and its time has come.
  void admit() {
    for (auto client = waiting_.begin(); client != waiting_.end();) {
      auto& [number, requests] = *client;
      const bool busy =
          std::any_of(running_.begin(), running_.end(), [&](const Request& r) { return r.client == number; });
      if (!busy && requests.front().arrival <= now()) {
        running_.push_back(std::move(requests.front()));
        running_.back().start = now();
        requests.pop_front();
      }
      client = requests.empty() ? waiting_.erase(client) : std::next(client);
    }
  }

  void add(llama_token token, int position, int sequence) {
    const int at = batch_.n_tokens++;
    batch_.token[at] = token;
    batch_.pos[at] = position;
    batch_.n_seq_id[at] = 1;
    batch_.seq_id[at][0] = sequence;
    batch_.logits[at] = 0;
  }

  void step() {
    batch_.n_tokens = 0;
    std::vector<std::pair<Request*, int>> outputs;  // and where in the batch its logits are
    const auto want_last = [&](Request& request) {
      batch_.logits[batch_.n_tokens - 1] = 1;
      outputs.emplace_back(&request, batch_.n_tokens - 1);
    };
    for (Request& request : running_) {
      if (!request.generates()) continue;
      add(request.last, request.position(), request.client);
      want_last(request);
    }
    for (Request& request : running_) {
      if (request.generates()) continue;
      while (!request.generates() && batch_.n_tokens < capacity_) {
        add(request.prompt[request.computed], static_cast<int>(request.computed), request.client);
        ++request.computed;
      }
      if (request.generates()) want_last(request);
    }
    if (llama_decode(context_, batch_) != 0) throw std::runtime_error("llama_decode failed");
    for (const auto& [request, at] : outputs) sample(*request, at);
    retire();
  }

  void sample(Request& request, int at) {
    const float* logits = llama_get_logits_ith(context_, at);
    request.last = static_cast<llama_token>(std::max_element(logits, logits + vocabulary_) - logits);
    request.times.push_back(now());
  }

  void retire() {
    for (auto request = running_.begin(); request != running_.end();) {
      if (static_cast<int>(request->times.size()) < request->new_tokens) {
        ++request;
        continue;
      }
      llama_memory_seq_rm(llama_get_memory(context_), request->client, -1, -1);
      ended_.push_back(std::move(*request));
      request = running_.erase(request);
    }
  }

  llama_context* context_;
  int capacity_;
  int vocabulary_ = 0;
  llama_batch batch_;
  std::chrono::steady_clock::time_point start_;
  std::map<int, std::deque<Request>> waiting_;
  std::deque<Request> running_;  // in the order of arrival
  std::vector<Request> ended_;
};

void print(const std::vector<Request>& requests) {
  std::printf("{\"version\":\"%s\",\"requests\":[", PEER_LLAMA_VERSION);
  for (size_t i = 0; i < requests.size(); ++i) {
    std::printf("%s{\"client\":%d,\"start\":%.6f,\"times\":[", i == 0 ? "" : ",", requests[i].client,
                requests[i].start);
    for (size_t t = 0; t < requests[i].times.size(); ++t)
      std::printf("%s%.6f", t == 0 ? "" : ",", requests[i].times[t]);
    std::printf("]}");
  }
  std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    std::vector<Request> requests = read_script(options.script);
    if (requests.empty()) throw std::runtime_error("the script is empty");
    const Model model = load_model(options);
    const Context context = make_context(options, model.get(), requests);
    print(Loop(context.get(), options, std::move(requests)).run());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peer_loop: %s\n", error.what());
    return 2;
  }
}
