#!/usr/bin/env python3
"""Writes the test goldens of the bundled model: greedy ids, logits, token ids, chats, all from transformers and tokenizers.

Usage: make_goldens.py HF_DIR OUT_DIR

float32 on the CPU with eager attention on the float16 weights. Of the candidate prompts, those with the clearest greedy choices
are kept: two stories, one sentence, one chat.
"""
import json
import os
import sys

import numpy as np
import tokenizers
import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

STORIES = ["Once upon a time", "One day, a small boy named Tom found a", "There was once a clever girl whose name was Mia. She",
           "Once upon a time, in a small village, there lived a brave fox called Leo.", "It was a sunny day in the village where Anna lived."]
SENTENCES = ["The king said to his daughter:", "Alice was beginning to get very tired", "The wind blew and the rain fell, and",
             "“Good morning,” said the old man, “where are you going?”", "the boy ran to the", "She opened the door and saw"]
CHATS = [
    [{"role": "user", "content": "What is the capital of France?"}],
    [{"role": "system", "content": "You are a helpful assistant."}, {"role": "user", "content": "Tell me a short story about a fox."}],
    [{"role": "user", "content": "Hi, my name is Clara."}, {"role": "assistant", "content": "Hello Clara! Nice to meet you."},
     {"role": "user", "content": "Please tell me a bedtime story."}],
    [{"role": "user", "content": "Write a story about a girl named Ella."}],
]
WEATHER_TOOL = {"type": "function", "function": {
    "name": "get_weather", "description": "Get the weather in a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "Name of the city"}}, "required": ["city"]}}}
CALL = {"type": "function", "function": {"name": "get_weather", "arguments": {"city": "São Paulo"}}}
TEMPLATE_CASES = [
    {"messages": CHATS[0], "add_generation_prompt": True},
    {"messages": CHATS[2], "add_generation_prompt": True},
    {"messages": CHATS[2] + [{"role": "assistant", "content": "Good night!"}], "add_generation_prompt": False},
    {"messages": CHATS[0], "tools": [WEATHER_TOOL], "add_generation_prompt": True},
    {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How is it in São Paulo & Rome?"},
                  {"role": "assistant", "content": "", "tool_calls": [CALL, CALL]},
                  {"role": "tool", "name": "get_weather", "content": '{"weather": "hot"}'},
                  {"role": "tool", "name": "get_weather", "content": '{"weather": "<wet>"}'}],
     "tools": [WEATHER_TOOL], "add_generation_prompt": True},
]
STRINGS = [
    "", " ", "  ", "Hello", " Hello", "hello world", "Hello, world!", "Once upon a time, there was a little fox.", "don't I'll we've HE'S",
    "123 4567 1,000,000", "3.14159", "x=1;\n\ty += 2", "line\nline\n\nline\r\n", "   three spaces", "trailing   ", "tab\t\ttab", "CamelCaseWords",
    "snake_case_name", "naïve café", "Ünïcödé", "日本語のテキスト", "Привет, мир", "مرحبا", "🙂 emoji 👩‍👩‍👧", "e\u0301 \u00e9", "\u00a0nbsp\u3000wide",
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", "<|endoftext|>", "a<|im_end|>b", "<tool_call>\n{\"name\": \"f\"}\n</tool_call>",
    "<|im_start", "{\"name\": \"Tom\", \"age\": 7}", "\"Why?\" asked the old man.", "!!!???...", "a" * 40, "\u0000\u0001\u007f", "½ ² Ⅳ ٣",
]
TEXT = ("A dog lived on a farm near the hill. Every morning it ran to the gate and waited for the boy. \"Good morning,\" said the boy, and gave "
        "it some bread. One day the boy did not come. The dog waited until the sun was high. Then it ran down the road, over the bridge and "
        "into the village. The boy was ill and lay in his bed. When he saw the dog, he laughed, and after two days he was well again.")


def greedy(model, prompt, count):
    """(ids, smallest gap between the two best logits), recomputed from scratch at each step."""
    ids, gap = list(prompt), float("inf")
    for _ in range(count):
        with torch.no_grad():
            row = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]
        best = torch.topk(row, 2).values
        gap = min(gap, float(best[0] - best[1]))
        ids.append(int(row.argmax()))
    return ids[len(prompt):], gap


def logits_of(model, ids):
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].float()


def write_prompts(model, tokenizer, out):
    kept = []
    groups = [("story", STORIES, 2), ("sentence", SENTENCES, 1),
              ("chat", [tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True) for chat in CHATS], 1)]
    for kind, texts, count in groups:
        tried = []
        for text in texts:
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            new, gap = greedy(model, ids, 64)
            tried.append((gap, text, ids, new))
        tried.sort(key=lambda item: -item[0])
        kept += [(kind, *item) for item in tried[:count]]
    entries = []
    for index, (kind, gap, text, ids, new) in enumerate(kept):
        name = f"p{index}"
        tail = logits_of(model, ids)[-8:].numpy()
        np.save(os.path.join(out, f"{name}_prompt_ids.npy"), np.array(ids, dtype="<i4"))
        np.save(os.path.join(out, f"{name}_greedy_ids.npy"), np.array(new, dtype="<i4"))
        np.save(os.path.join(out, f"{name}_last_logits.npy"), np.ascontiguousarray(tail, dtype="<f4"))
        entries.append({"name": name, "kind": kind, "prompt": text, "greedy_text": tokenizer.decode(new), "min_top_gap": round(gap, 6),
                        "logit_positions": len(tail)})
        print(name, kind, round(gap, 4), repr(text[:40]), repr(entries[-1]["greedy_text"][:160]), flush=True)
    return entries


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, ensure_ascii=False, indent=1)
        f.write("\n")


def tokenizer_goldens(folder):
    raw = tokenizers.Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    return [{"text": text, "ids": (ids := raw.encode(text, add_special_tokens=False).ids),
             "decoded": raw.decode(ids, skip_special_tokens=False), "decoded_plain": raw.decode(ids, skip_special_tokens=True)} for text in STRINGS]


def template_goldens(tokenizer):
    out = []
    for case in TEMPLATE_CASES:
        arguments = {"add_generation_prompt": case["add_generation_prompt"], "tools": case.get("tools")}
        text = tokenizer.apply_chat_template(case["messages"], tokenize=False, **arguments)
        out.append({**case, "rendered": text, "ids": tokenizer(text, add_special_tokens=False)["input_ids"]})
    return out


def perplexity_golden(model, tokenizer):
    ids = tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    logits = logits_of(model, ids).double()
    losses = torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(ids[1:]), reduction="none")
    return {"text": TEXT, "ids": ids, "scored_tokens": len(ids) - 1, "mean_nll": float(losses.mean()), "perplexity": float(losses.mean().exp())}


def main():
    folder, out = sys.argv[1:3]
    os.makedirs(out, exist_ok=True)
    transformers.logging.set_verbosity_error()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    versions = {"torch": torch.__version__, "transformers": transformers.__version__, "tokenizers": tokenizers.__version__}
    write_json(os.path.join(out, "goldens.json"), {"versions": versions, "prompts": write_prompts(model, tokenizer, out),
                                                  "perplexity": perplexity_golden(model, tokenizer)})
    write_json(os.path.join(out, "tokenizer_golden.json"), tokenizer_goldens(folder))
    write_json(os.path.join(out, "template_golden.json"), template_goldens(tokenizer))


if __name__ == "__main__":
    main()
