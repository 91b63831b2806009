"""The bundled model for training: a Llama decoder whose parameters carry Hugging Face's names.

Shapes: ids [batch, time] -> logits [batch, time, vocab]. Rotary embedding in the half-split form of transformers.
"""
import torch
import torch.nn.functional as F
from torch import nn

from config import CONFIG


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight.to(x.dtype), CONFIG["rms_norm_eps"])


def rotary_tables(time, device):
    """cos and sin, each [time, head_dim]."""
    dim = CONFIG["head_dim"]
    frequency = CONFIG["rope_theta"] ** (-torch.arange(0, dim, 2, device=device).float() / dim)
    angle = torch.arange(time, device=device).float()[:, None] * frequency[None, :]
    angle = torch.cat([angle, angle], dim=1)
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    turned = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
    return (x * cos + turned * sin).to(x.dtype)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        hidden, dim = CONFIG["hidden_size"], CONFIG["head_dim"]
        self.heads, self.kv_heads, self.dim = CONFIG["num_attention_heads"], CONFIG["num_key_value_heads"], dim
        self.q_proj = nn.Linear(hidden, self.heads * dim, bias=False)
        self.k_proj = nn.Linear(hidden, self.kv_heads * dim, bias=False)
        self.v_proj = nn.Linear(hidden, self.kv_heads * dim, bias=False)
        self.o_proj = nn.Linear(self.heads * dim, hidden, bias=False)

    def forward(self, x, cos, sin):
        batch, time, _ = x.shape
        q = self.q_proj(x).view(batch, time, self.heads, self.dim).transpose(1, 2)
        k = self.k_proj(x).view(batch, time, self.kv_heads, self.dim).transpose(1, 2)
        v = self.v_proj(x).view(batch, time, self.kv_heads, self.dim).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.o_proj(out.transpose(1, 2).reshape(batch, time, -1))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        hidden, inner = CONFIG["hidden_size"], CONFIG["intermediate_size"]
        self.gate_proj = nn.Linear(hidden, inner, bias=False)
        self.up_proj = nn.Linear(hidden, inner, bias=False)
        self.down_proj = nn.Linear(inner, hidden, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


def row_dropout(x, keep):
    """Dropout with a rate of its own for each row. keep [batch, 1, 1] is the share kept, or None outside training."""
    if keep is None:
        return x
    return x * (torch.rand_like(x) < keep).to(x.dtype) / keep.to(x.dtype)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn, self.mlp = Attention(), Mlp()
        self.input_layernorm = RMSNorm(CONFIG["hidden_size"])
        self.post_attention_layernorm = RMSNorm(CONFIG["hidden_size"])

    def forward(self, x, cos, sin, keep):
        x = x + row_dropout(self.self_attn(self.input_layernorm(x), cos, sin), keep)
        return x + row_dropout(self.mlp(self.post_attention_layernorm(x)), keep)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(CONFIG["vocab_size"], CONFIG["hidden_size"])
        self.layers = nn.ModuleList([Layer() for _ in range(CONFIG["num_hidden_layers"])])
        self.norm = RMSNorm(CONFIG["hidden_size"])


class TinyLlama(nn.Module):
    """`forward` gives the weighted sum of the losses; `logits` the scores."""

    def __init__(self):
        super().__init__()
        self.model = Decoder()
        layers = CONFIG["num_hidden_layers"]
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=CONFIG["initializer_range"])
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                nn.init.normal_(parameter, std=CONFIG["initializer_range"] / (2 * layers) ** 0.5)

    def logits(self, ids, keep=None):
        x = row_dropout(self.model.embed_tokens(ids), keep)
        cos, sin = rotary_tables(ids.shape[1], ids.device)
        for layer in self.model.layers:
            x = layer(x, cos, sin, keep)
        return F.linear(self.model.norm(x), self.model.embed_tokens.weight)

    def forward(self, ids, targets, weights, keep=None):
        """ids, targets [batch, time] int64, weights [batch, time] f32 -> (weighted sum of losses, sum of weights)."""
        scores = self.logits(ids, keep).float().flatten(0, 1)
        losses = F.cross_entropy(scores, targets.flatten(), reduction="none") * weights.flatten()
        return losses.sum(), weights.sum()
