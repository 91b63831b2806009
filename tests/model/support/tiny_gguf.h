// A small GGUF model in memory whose metadata and tensors a test can change before it is written.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "model/gguf/gguf_writer.h"

namespace kvern::test {

/// Starts as a complete llama of one layer: hidden 64, ffn 96, 4 heads, 2 key-value heads, 32 tokens, all
/// f32.
class TinyGguf {
 public:
  struct Tensor {
    std::vector<int64_t> shape;
    compute::DType type = compute::DType::kF32;
    std::vector<float> values;  ///< of an f32 tensor; empty: all 0.5
  };

  explicit TinyGguf(const std::string& architecture = "llama") : architecture_(architecture) {
    text("general.architecture", architecture);
    u32(key("block_count"), 1);
    u32(key("context_length"), 128);
    u32(key("embedding_length"), 64);
    u32(key("feed_forward_length"), 96);
    u32(key("attention.head_count"), 4);
    u32(key("attention.head_count_kv"), 2);
    f32(key("attention.layer_norm_rms_epsilon"), 1e-5F);
    f32(key("rope.freq_base"), 10000.0F);
    tensors["token_embd.weight"] = {{32, 64}};
    tensors["output_norm.weight"] = {{64}};
    const std::string layer = "blk.0.";
    tensors[layer + "attn_norm.weight"] = {{64}};
    tensors[layer + "attn_q.weight"] = {{64, 64}};
    tensors[layer + "attn_k.weight"] = {{32, 64}};
    tensors[layer + "attn_v.weight"] = {{32, 64}};
    tensors[layer + "attn_output.weight"] = {{64, 64}};
    tensors[layer + "ffn_norm.weight"] = {{64}};
    tensors[layer + "ffn_gate.weight"] = {{96, 64}};
    tensors[layer + "ffn_up.weight"] = {{96, 64}};
    tensors[layer + "ffn_down.weight"] = {{64, 96}};
  }

  std::string key(const std::string& suffix) const { return architecture_ + "." + suffix; }
  void u32(const std::string& k, uint32_t v) {
    entries[k] = [=](model::GgufWriter& w) { w.add_u32(k, v); };
  }
  void i32(const std::string& k, int32_t v) {
    entries[k] = [=](model::GgufWriter& w) { w.add_i32(k, v); };
  }
  void f32(const std::string& k, float v) {
    entries[k] = [=](model::GgufWriter& w) { w.add_f32(k, v); };
  }
  void flag(const std::string& k, bool v) {
    entries[k] = [=](model::GgufWriter& w) { w.add_bool(k, v); };
  }
  void text(const std::string& k, const std::string& v) {
    entries[k] = [=](model::GgufWriter& w) { w.add_string(k, v); };
  }
  void texts(const std::string& k, const std::vector<std::string>& v) {
    entries[k] = [=](model::GgufWriter& w) { w.add_strings(k, v); };
  }
  void i32s(const std::string& k, const std::vector<int32_t>& v) {
    entries[k] = [=](model::GgufWriter& w) { w.add_i32s(k, v); };
  }

  void f32s(const std::string& k, const std::vector<float>& v) {
    entries[k] = [=](model::GgufWriter& w) { w.add_f32s(k, v); };
  }

  Status write(Files& files, const std::string& path) const {
    model::GgufWriter writer;
    for (const auto& [name, add] : entries) add(writer);
    for (const auto& [name, tensor] : tensors) writer.add_tensor(name, tensor.type, tensor.shape);
    KVERN_TRY_STATUS(writer.begin(files, path));
    for (const auto& [name, tensor] : tensors) KVERN_TRY_STATUS(writer.write(bytes_of(tensor)));
    KVERN_TRY(const uint64_t size, writer.finish());
    static_cast<void>(size);
    return Ok{};
  }

  std::map<std::string, std::function<void(model::GgufWriter&)>> entries;
  std::map<std::string, Tensor> tensors;

 private:
  static std::vector<std::byte> bytes_of(const Tensor& tensor) {
    int64_t rows = 1;
    for (size_t i = 0; i + 1 < tensor.shape.size(); ++i) rows *= tensor.shape[i];
    const size_t size = compute::row_bytes(tensor.type, tensor.shape.back()) * static_cast<size_t>(rows);
    if (tensor.type != compute::DType::kF32) return std::vector<std::byte>(size);
    std::vector<float> values = tensor.values;
    values.resize(size / sizeof(float), 0.5F);
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
  }

  std::string architecture_;
};

}  // namespace kvern::test
