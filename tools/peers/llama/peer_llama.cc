// llama.cpp through its public C API: the commands that kvern's peer tests and bench/compare ask for.
//
// peer_llama greedy MODEL --ids 1,2,3 -n 64
//   {"ids":[...]}: the new ones, also past end-of-generation tokens
// peer_llama logits MODEL --ids LIST|FILE -o out.npy
//   float32 [positions, vocabulary]
// peer_llama quantize MODEL --type q4_0 -o out.gguf
//   all matrices in that type
// peer_llama bench MODEL --tests prefill:512,decode:8192,batch:8 --reps 5
//   a JSON object
//
// Options of all: --threads N, --kv-type f32|f16|q8_0, --flash-attention on|off, and --libraries DIR (of the
// CPU plug-ins; the folder `libraries` beside the program by default). Tight comparisons want --kv-type f32
// --flash-attention off.
#include "ggml-backend.h"
#include "llama.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

struct Options {
  std::string command;
  std::string model;
  std::string ids;
  std::string output;
  std::string tests = "prefill:512,decode:0";
  std::string kv_type = "f16";
  std::string type;
  std::string libraries;
  bool flash_attention = true;
  int count = 64;
  int repetitions = 5;
  int steps = 16;
  int threads = 2;
};

int to_int(const std::string& text) {
  size_t used = 0;
  const int value = std::stoi(text, &used);
  if (used != text.size()) throw std::runtime_error("not a number: " + text);
  return value;
}

void set_option(Options& options, const std::string& name, const std::string& value) {
  if (name == "--ids")
    options.ids = value;
  else if (name == "-o")
    options.output = value;
  else if (name == "--tests")
    options.tests = value;
  else if (name == "--kv-type")
    options.kv_type = value;
  else if (name == "--type")
    options.type = value;
  else if (name == "--libraries")
    options.libraries = value;
  else if (name == "--flash-attention")
    options.flash_attention = value != "off";
  else if (name == "-n")
    options.count = to_int(value);
  else if (name == "--reps")
    options.repetitions = to_int(value);
  else if (name == "--steps")
    options.steps = to_int(value);
  else if (name == "--threads")
    options.threads = to_int(value);
  else
    throw std::runtime_error("unknown option " + name);
}

Options parse(int argc, char** argv) {
  if (argc < 3) throw std::runtime_error("usage: peer_llama greedy|quantize|logits|bench MODEL [options]");
  Options options;
  options.command = argv[1];
  options.model = argv[2];
  options.libraries = (std::filesystem::canonical("/proc/self/exe").parent_path() / "libraries").string();
  for (int i = 3; i < argc; i += 2) {
    if (i + 1 == argc) throw std::runtime_error(std::string("no value for ") + argv[i]);
    set_option(options, argv[i], argv[i + 1]);
  }
  return options;
}

std::vector<std::string> split(const std::string& text, const char* separators) {
  std::vector<std::string> parts;
  for (size_t at = 0; (at = text.find_first_not_of(separators, at)) != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(separators, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
  return parts;
}

/// A list "1,2,3", or a file of ids separated by commas, spaces, lines or brackets.
std::vector<llama_token> parse_ids(std::string text) {
  if (std::ifstream file(text); file && !text.empty()) {
    std::stringstream content;
    content << file.rdbuf();
    text = content.str();
  }
  std::vector<llama_token> ids;
  for (const auto& part : split(text, ", \n\r\t[]")) ids.push_back(to_int(part));
  if (ids.empty()) throw std::runtime_error("--ids names no token");
  return ids;
}

ggml_type kv_type(const std::string& name) {
  if (name == "f32") return GGML_TYPE_F32;
  if (name == "f16") return GGML_TYPE_F16;
  if (name == "bf16") return GGML_TYPE_BF16;
  if (name == "q8_0") return GGML_TYPE_Q8_0;
  throw std::runtime_error("--kv-type must be f32, f16, bf16 or q8_0, not " + name);
}

struct Free {
  void operator()(llama_model* model) const { llama_model_free(model); }
  void operator()(llama_context* context) const { llama_free(context); }
};
using Model = std::unique_ptr<llama_model, Free>;
using Context = std::unique_ptr<llama_context, Free>;

Model load_model(const Options& options) {
  // Only errors: the notes about every tensor are of no use here.
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

struct ContextSize {
  int tokens = 0;
  int sequences = 1;
  /// One buffer for all sequences, so that cells can be tagged for another one without a copy.
  bool unified = false;
};

Context make_context(const Options& options, llama_model* model, const ContextSize& size) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(size.tokens);
  params.n_batch = static_cast<uint32_t>(size.tokens);
  params.n_seq_max = static_cast<uint32_t>(size.sequences);
  params.kv_unified = size.unified;
  params.n_threads = options.threads;
  params.n_threads_batch = options.threads;
  params.flash_attn_type =
      options.flash_attention ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.type_k = kv_type(options.kv_type);
  params.type_v = kv_type(options.kv_type);
  Context context(llama_init_from_model(model, params));
  if (!context) throw std::runtime_error("cannot make a context");
  return context;
}

int vocabulary_size(const llama_model* model) { return llama_vocab_n_tokens(llama_model_get_vocab(model)); }

enum class Outputs : uint8_t { kLast, kAll };

class Batch {
 public:
  explicit Batch(int capacity) : batch_(llama_batch_init(capacity, 0, 1)) {}
  ~Batch() { llama_batch_free(batch_); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void clear() { batch_.n_tokens = 0; }
  void add(llama_token token, int position, int sequence) {
    const int at = batch_.n_tokens++;
    batch_.token[at] = token;
    batch_.pos[at] = position;
    batch_.n_seq_id[at] = 1;
    batch_.seq_id[at][0] = sequence;
    batch_.logits[at] = 0;
  }
  void want(Outputs outputs) {
    for (int i = 0; i < batch_.n_tokens; ++i)
      batch_.logits[i] = outputs == Outputs::kAll || i + 1 == batch_.n_tokens ? 1 : 0;
  }
  void decode(llama_context* context) {
    if (llama_decode(context, batch_) != 0) throw std::runtime_error("llama_decode failed");
  }

 private:
  llama_batch batch_;
};

/// Tokens at positions [first, first + n) of sequence 0.
void decode_run(llama_context* context, const std::vector<llama_token>& tokens, int first) {
  Batch batch(static_cast<int>(tokens.size()));
  for (size_t i = 0; i < tokens.size(); ++i) batch.add(tokens[i], first + static_cast<int>(i), 0);
  batch.want(Outputs::kLast);
  batch.decode(context);
}

int greedy(const Options& options) {
  const Model model = load_model(options);
  const auto prompt = parse_ids(options.ids);
  const Context context =
      make_context(options, model.get(), {.tokens = static_cast<int>(prompt.size()) + options.count});
  const int size = vocabulary_size(model.get());
  decode_run(context.get(), prompt, 0);
  std::vector<llama_token> ids;
  while (static_cast<int>(ids.size()) < options.count) {
    const float* logits = llama_get_logits_ith(context.get(), -1);
    ids.push_back(static_cast<llama_token>(std::max_element(logits, logits + size) - logits));
    if (static_cast<int>(ids.size()) < options.count)
      decode_run(context.get(), {ids.back()}, static_cast<int>(prompt.size() + ids.size()) - 1);
  }
  std::printf("{\"ids\":[");
  for (size_t i = 0; i < ids.size(); ++i) std::printf("%s%d", i == 0 ? "" : ",", ids[i]);
  std::printf("]}\n");
  return 0;
}

llama_ftype file_type(const std::string& name) {
  const std::pair<const char*, llama_ftype> types[] = {
      {"f32", LLAMA_FTYPE_ALL_F32},        {"f16", LLAMA_FTYPE_MOSTLY_F16},
      {"bf16", LLAMA_FTYPE_MOSTLY_BF16},   {"q8_0", LLAMA_FTYPE_MOSTLY_Q8_0},
      {"q4_0", LLAMA_FTYPE_MOSTLY_Q4_0},   {"q4_1", LLAMA_FTYPE_MOSTLY_Q4_1},
      {"q5_0", LLAMA_FTYPE_MOSTLY_Q5_0},   {"q5_1", LLAMA_FTYPE_MOSTLY_Q5_1},
      {"q4_k", LLAMA_FTYPE_MOSTLY_Q4_K_S}, {"q5_k", LLAMA_FTYPE_MOSTLY_Q5_K_S},
      {"q6_k", LLAMA_FTYPE_MOSTLY_Q6_K},
  };
  for (const auto& [known, type] : types)
    if (name == known) return type;
  throw std::runtime_error("unknown --type " + name);
}

int quantize(const Options& options) {
  // Notes about each tensor come without a level, so all are dropped.
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  ggml_backend_load_all_from_path(options.libraries.c_str());
  llama_model_quantize_params params = llama_model_quantize_default_params();
  params.nthread = options.threads;
  params.ftype = file_type(options.type);
  params.allow_requantize = true;
  params.pure = true;
  if (llama_model_quantize(options.model.c_str(), options.output.c_str(), &params) != 0)
    throw std::runtime_error("cannot quantize " + options.model);
  return 0;
}

/// Version 1.0 of the .npy format: magic, length, a Python dictionary padded to 64 bytes.
std::string npy_header(size_t rows, size_t columns) {
  std::string dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) +
                           ", " + std::to_string(columns) + "), }";
  constexpr size_t kPreamble = 10;
  dictionary.append(63 - (kPreamble + dictionary.size()) % 64, ' ');
  dictionary.push_back('\n');
  std::string header("\x93NUMPY\x01\x00", 8);
  header.push_back(static_cast<char>(dictionary.size() & 0xFF));
  header.push_back(static_cast<char>(dictionary.size() >> 8));
  return header + dictionary;
}

int logits(const Options& options) {
  constexpr int kChunk = 256;
  const Model model = load_model(options);
  const auto ids = parse_ids(options.ids);
  const auto columns = static_cast<size_t>(vocabulary_size(model.get()));
  const Context context = make_context(options, model.get(), {.tokens = static_cast<int>(ids.size())});
  std::ofstream file(options.output, std::ios::binary);
  file << npy_header(ids.size(), columns);
  Batch batch(kChunk);
  for (size_t done = 0; done < ids.size();) {
    const size_t count = std::min<size_t>(kChunk, ids.size() - done);
    batch.clear();
    for (size_t i = 0; i < count; ++i) batch.add(ids[done + i], static_cast<int>(done + i), 0);
    batch.want(Outputs::kAll);
    batch.decode(context.get());
    for (size_t i = 0; i < count; ++i)
      file.write(reinterpret_cast<const char*>(llama_get_logits_ith(context.get(), static_cast<int32_t>(i))),
                 static_cast<std::streamsize>(columns * sizeof(float)));
    done += count;
  }
  if (!file.flush()) throw std::runtime_error("cannot write " + options.output);
  return 0;
}

std::vector<llama_token> random_tokens(const llama_model* model, int count) {
  std::minstd_rand generator(1);
  const auto size = static_cast<uint32_t>(vocabulary_size(model));
  std::vector<llama_token> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(static_cast<llama_token>(generator() % size));
  return tokens;
}

/// What one repetition of a test took, and how many tokens it made.
struct Timing {
  std::vector<double> seconds;
  double tokens = 0;

  double median() const {
    auto sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    const size_t n = sorted.size();
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  }
};

template <typename Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Timing time_prefill(const Options& options, llama_model* model, int size) {
  const Context context = make_context(options, model, {.tokens = size});
  const auto tokens = random_tokens(model, size);
  Timing timing{.seconds = {}, .tokens = static_cast<double>(size)};
  for (int i = 0; i < options.repetitions; ++i) {
    llama_memory_clear(llama_get_memory(context.get()), true);
    timing.seconds.push_back(seconds_of([&] { decode_run(context.get(), tokens, 0); }));
  }
  return timing;
}

/// Fills sequence 0 with `depth` tokens. A prompt of that length would take minutes, so a short one is
/// computed, and its saved state is loaded again and again at later positions: a step then costs what it
/// costs after the long one.
void fill(llama_context* context, const llama_model* model, int depth) {
  const int piece = std::min(depth, 512);
  decode_run(context, random_tokens(model, piece), 0);
  std::vector<uint8_t> state(llama_state_seq_get_size(context, 0));
  llama_state_seq_get_data(context, state.data(), state.size(), 0);
  llama_memory_t memory = llama_get_memory(context);
  for (int filled = piece; filled < depth; filled += piece) {
    if (llama_state_seq_set_data(context, state.data(), state.size(), 1) == 0)
      throw std::runtime_error("cannot load the state of a sequence");
    llama_memory_seq_rm(memory, 1, depth - filled, -1);
    llama_memory_seq_add(memory, 1, 0, -1, filled);
    llama_memory_seq_cp(memory, 1, 0, -1, -1);
    llama_memory_seq_rm(memory, 1, -1, -1);
  }
  if (llama_memory_seq_pos_max(memory, 0) != depth - 1)
    throw std::runtime_error("filling the context failed");
}

Timing time_decode(const Options& options, llama_model* model, int depth) {
  const Context context =
      make_context(options, model, {.tokens = depth + options.steps + 512, .sequences = 2, .unified = true});
  if (depth > 0) fill(context.get(), model, depth);
  const auto tokens = random_tokens(model, options.steps);
  Timing timing{.seconds = {}, .tokens = 1};
  decode_run(context.get(), {tokens[0]}, depth);  // shifts the filled keys, warms up
  for (int i = 0; i < options.repetitions; ++i) {
    llama_memory_seq_rm(llama_get_memory(context.get()), 0, depth, -1);
    const double seconds = seconds_of([&] {
      for (int step = 0; step < options.steps; ++step)
        decode_run(context.get(), {tokens[static_cast<size_t>(step)]}, depth + step);
    });
    timing.seconds.push_back(seconds / options.steps);
  }
  return timing;
}

Timing time_batch(const Options& options, llama_model* model, int rows) {
  constexpr int kPrompt = 32;
  const int cells = kPrompt + options.steps;
  const Context context =
      make_context(options, model, {.tokens = rows * (cells + 16), .sequences = rows, .unified = false});
  const auto tokens = random_tokens(model, rows * cells);
  const auto token = [&](int row, int position) {
    return tokens[static_cast<size_t>(row * cells + position)];
  };
  Batch batch(rows * kPrompt);
  for (int row = 0; row < rows; ++row)
    for (int position = 0; position < kPrompt; ++position) batch.add(token(row, position), position, row);
  batch.want(Outputs::kLast);
  batch.decode(context.get());
  Timing timing{.seconds = {}, .tokens = static_cast<double>(rows)};
  const auto step = [&](int position) {
    batch.clear();
    for (int row = 0; row < rows; ++row) batch.add(token(row, position), position, row);
    batch.want(Outputs::kAll);
    batch.decode(context.get());
  };
  for (int i = 0; i < options.repetitions; ++i) {
    for (int row = 0; row < rows; ++row)
      llama_memory_seq_rm(llama_get_memory(context.get()), row, kPrompt, -1);
    const double seconds = seconds_of([&] {
      for (int position = kPrompt; position < cells; ++position) step(position);
    });
    timing.seconds.push_back(seconds / options.steps);
  }
  return timing;
}

Timing time_test(const Options& options, llama_model* model, const std::string& test) {
  const auto parts = split(test, ":");
  if (parts.size() != 2) throw std::runtime_error("a test is prefill:N, decode:N or batch:N, not " + test);
  const int size = to_int(parts[1]);
  if (parts[0] == "prefill") return time_prefill(options, model, size);
  if (parts[0] == "decode") return time_decode(options, model, size);
  if (parts[0] == "batch") return time_batch(options, model, size);
  throw std::runtime_error("a test is prefill:N, decode:N or batch:N, not " + test);
}

int bench(const Options& options) {
  const Model model = load_model(options);
  std::printf(
      "{\"engine\":\"llama.cpp\",\"version\":\"%s\",\"threads\":%d,\"kv_type\":\"%s\",\"flash_attention\":%"
      "s,",
      PEER_LLAMA_VERSION, options.threads, options.kv_type.c_str(),
      options.flash_attention ? "true" : "false");
  std::printf("\"model_bytes\":%llu,\"results\":[",
              static_cast<unsigned long long>(llama_model_size(model.get())));
  bool first = true;
  for (const auto& test : split(options.tests, ",")) {
    const Timing timing = time_test(options, model.get(), test);
    std::printf("%s{\"test\":\"%s\",\"tokens_per_second\":%.4f,\"seconds\":[", first ? "" : ",", test.c_str(),
                timing.tokens / timing.median());
    for (size_t i = 0; i < timing.seconds.size(); ++i)
      std::printf("%s%.6f", i == 0 ? "" : ",", timing.seconds[i]);
    std::printf("]}");
    std::fflush(stdout);
    first = false;
  }
  std::printf("]}\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    if (options.command == "greedy") return greedy(options);
    if (options.command == "quantize") return quantize(options);
    if (options.command == "logits") return logits(options);
    if (options.command == "bench") return bench(options);
    throw std::runtime_error("unknown command " + options.command);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peer_llama: %s\n", error.what());
    return 2;
  }
}
