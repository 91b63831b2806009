#!/usr/bin/env python3
"""Makes a GGUF v3 file from the Hugging Face folder. Needs numpy.

Usage: export_gguf.py HF_DIR OUT.gguf [q8_0|f16|f32]

Layout after the GGUF specification of ggml: header, key-value pairs, tensor infos, then tensor data, each tensor aligned to 32
bytes. Matrices are stored in the type asked for, norms in F32. llama.cpp's "llama" architecture turns neighbouring pairs of a
head's rows in its rotary embedding, transformers the two halves: rows of q and k are therefore interleaved here.
"""
import json
import os
import struct
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tensor_file  # noqa: E402
from config import NAME  # noqa: E402

ALIGNMENT = 32
UINT32, FLOAT32, BOOL, STRING, ARRAY, INT32 = 4, 6, 7, 8, 9, 5
GGML_TYPES = {"f32": 0, "f16": 1, "q8_0": 8}
FILE_TYPES = {"f32": 0, "f16": 1, "q8_0": 7}
TOKEN_NORMAL, TOKEN_CONTROL, TOKEN_USER_DEFINED = 1, 3, 4
BLOCK = 32
LAYER_NAMES = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def text(value):
    data = value.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def scalar(kind, value):
    if kind == STRING:
        return text(value)
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}[kind], value)


def pair(key, kind, value):
    return text(key) + struct.pack("<I", kind) + scalar(kind, value)


def array_pair(key, kind, values):
    return text(key) + struct.pack("<IIQ", ARRAY, kind, len(values)) + b"".join(scalar(kind, value) for value in values)


def gguf_name(name):
    if name == "model.embed_tokens.weight":
        return "token_embd.weight"
    if name == "model.norm.weight":
        return "output_norm.weight"
    _, _, layer, rest = name.split(".", 3)
    return f"blk.{layer}.{LAYER_NAMES[rest.removesuffix('.weight')]}.weight"


def interleave(matrix, heads):
    """Rows of each head from two halves to neighbouring pairs."""
    rows, cols = matrix.shape
    return matrix.reshape(heads, 2, rows // heads // 2, cols).swapaxes(1, 2).reshape(rows, cols)


def encode_q8_0(matrix):
    """Blocks of 32: a float16 scale (largest absolute value / 127) and 32 signed bytes, halves rounded away from zero."""
    blocks = matrix.astype(np.float32).reshape(-1, BLOCK)
    scale = np.abs(blocks).max(axis=1) / np.float32(127)
    inverse = np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale != 0)
    scaled = blocks * inverse[:, None]
    integers = np.trunc(scaled + np.copysign(np.float32(0.5), scaled)).astype(np.int8)
    out = np.zeros(len(blocks), dtype=[("scale", "<f2"), ("values", "i1", BLOCK)])
    out["scale"], out["values"] = scale.astype("<f2"), integers
    return out.tobytes()


def encode(matrix, kind):
    if kind == "q8_0":
        return encode_q8_0(matrix)
    return matrix.astype({"f16": "<f2", "f32": "<f4"}[kind]).tobytes()


def tensors(folder, config, kind):
    """[(name, shape, type name, bytes)]."""
    out = []
    for name, array in tensor_file.read(os.path.join(folder, "model.safetensors")).items():
        array = array.astype(np.float32)
        if "q_proj" in name:
            array = interleave(array, config["num_attention_heads"])
        if "k_proj" in name:
            array = interleave(array, config["num_key_value_heads"])
        own = kind if array.ndim == 2 else "f32"
        out.append((gguf_name(name), array.shape, own, encode(array, own)))
    return out


def geometry(config, kind):
    head_dim = config["head_dim"]
    return [
        pair("general.architecture", STRING, "llama"), pair("general.type", STRING, "model"), pair("general.name", STRING, NAME),
        pair("general.description", STRING, "A very small model for stories, simple chats, JSON and tool calls"),
        pair("general.license", STRING, "apache-2.0"), pair("general.file_type", UINT32, FILE_TYPES[kind]),
        pair("general.quantization_version", UINT32, 2), pair("llama.vocab_size", UINT32, config["vocab_size"]),
        pair("llama.context_length", UINT32, config["max_position_embeddings"]), pair("llama.embedding_length", UINT32, config["hidden_size"]),
        pair("llama.block_count", UINT32, config["num_hidden_layers"]), pair("llama.feed_forward_length", UINT32, config["intermediate_size"]),
        pair("llama.attention.head_count", UINT32, config["num_attention_heads"]),
        pair("llama.attention.head_count_kv", UINT32, config["num_key_value_heads"]),
        pair("llama.attention.key_length", UINT32, head_dim), pair("llama.attention.value_length", UINT32, head_dim),
        pair("llama.attention.layer_norm_rms_epsilon", FLOAT32, config["rms_norm_eps"]),
        pair("llama.rope.dimension_count", UINT32, head_dim), pair("llama.rope.freq_base", FLOAT32, config["rope_theta"]),
    ]


def token_types(data, count):
    types = [TOKEN_NORMAL] * count
    for token in data["added_tokens"]:
        types[token["id"]] = TOKEN_CONTROL if token["special"] else TOKEN_USER_DEFINED
    return types


def tokenizer_pairs(folder):
    with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as f:
        data = json.load(f)
    with open(os.path.join(folder, "tokenizer_config.json"), encoding="utf-8") as f:
        template = json.load(f)["chat_template"]
    vocab = data["model"]["vocab"]
    tokens = [token for token, _ in sorted(vocab.items(), key=lambda item: item[1])]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in data["model"]["merges"]]
    ids = {token: index for index, token in enumerate(tokens)}
    return [
        pair("tokenizer.ggml.model", STRING, "gpt2"), pair("tokenizer.ggml.pre", STRING, "llama-bpe"),
        array_pair("tokenizer.ggml.tokens", STRING, tokens), array_pair("tokenizer.ggml.token_type", INT32, token_types(data, len(tokens))),
        array_pair("tokenizer.ggml.merges", STRING, merges), pair("tokenizer.ggml.bos_token_id", UINT32, ids["<|endoftext|>"]),
        pair("tokenizer.ggml.eos_token_id", UINT32, ids["<|endoftext|>"]), pair("tokenizer.ggml.eot_token_id", UINT32, ids["<|im_end|>"]),
        pair("tokenizer.ggml.padding_token_id", UINT32, ids["<|endoftext|>"]), pair("tokenizer.ggml.add_bos_token", BOOL, False),
        pair("tokenizer.ggml.add_eos_token", BOOL, False), pair("tokenizer.chat_template", STRING, template),
    ]


def padded(data):
    return data + b"\0" * (-len(data) % ALIGNMENT)


def main():
    folder, out = sys.argv[1:3]
    kind = sys.argv[3] if len(sys.argv) > 3 else "q8_0"
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    pairs = geometry(config, kind) + tokenizer_pairs(folder)
    stored = tensors(folder, config, kind)
    infos, offset = [], 0
    for name, shape, own, data in stored:
        dims = struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", size) for size in reversed(shape))
        infos.append(text(name) + dims + struct.pack("<IQ", GGML_TYPES[own], offset))
        offset += len(padded(data))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(stored), len(pairs)) + b"".join(pairs) + b"".join(infos)
    with open(out, "wb") as f:
        f.write(padded(head))
        for _, _, _, data in stored:
            f.write(padded(data))
    print(f"{out}: {os.path.getsize(out)} bytes, {len(stored)} tensors")


if __name__ == "__main__":
    main()
