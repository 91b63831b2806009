#!/usr/bin/env python3
"""Makes the Hugging Face folder with float16 weights from a training checkpoint. Needs numpy.

Usage: export_hf.py CHECKPOINT.safetensors TOKENIZER.json OUT_DIR
"""
import json
import os
import shutil
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chatml  # noqa: E402
import tensor_file  # noqa: E402
from config import CONFIG, END_OF_TEXT_ID, IM_END_ID  # noqa: E402


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, ensure_ascii=False, indent=2)
        f.write("\n")


def tokenizer_config():
    return {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": chatml.END_OF_TEXT, "eos_token": chatml.END_OF_TEXT,
            "pad_token": chatml.END_OF_TEXT, "add_bos_token": False, "add_eos_token": False, "clean_up_tokenization_spaces": False,
            "model_max_length": CONFIG["max_position_embeddings"], "chat_template": chatml.CHAT_TEMPLATE}


def main():
    checkpoint, tokenizer, out = sys.argv[1:4]
    os.makedirs(out, exist_ok=True)
    tensors = {name: array.astype("<f2") for name, array in tensor_file.read(checkpoint).items()}
    if any(not np.isfinite(array).all() for array in tensors.values()):
        sys.exit("a weight does not fit float16")
    tensor_file.write(os.path.join(out, "model.safetensors"), tensors)
    write_json(os.path.join(out, "config.json"), {**CONFIG, "torch_dtype": "float16"})
    write_json(os.path.join(out, "generation_config.json"),
               {"bos_token_id": END_OF_TEXT_ID, "pad_token_id": END_OF_TEXT_ID, "eos_token_id": [END_OF_TEXT_ID, IM_END_ID],
                "do_sample": True, "temperature": 0.7, "top_p": 0.95})
    write_json(os.path.join(out, "tokenizer_config.json"), tokenizer_config())
    shutil.copyfile(tokenizer, os.path.join(out, "tokenizer.json"))


if __name__ == "__main__":
    main()
