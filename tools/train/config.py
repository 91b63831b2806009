"""Geometry and names of the bundled model, shared by training and the exporters."""

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 4096, "hidden_size": 256, "intermediate_size": 768,
    "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 32, "max_position_embeddings": 1024,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "rope_scaling": None, "hidden_act": "silu", "tie_word_embeddings": True,
    "attention_bias": False, "mlp_bias": False, "attention_dropout": 0.0, "initializer_range": 0.02, "use_cache": True,
    "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0,
}
END_OF_TEXT_ID, IM_START_ID, IM_END_ID = 0, 1, 2
NAME = "kvern-tiny-8m"
