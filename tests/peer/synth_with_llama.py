#!/usr/bin/env python3
"""What `kvern synth` writes is a model for llama.cpp too: it loads every type of a preset, and its next-token
distributions over POSITIONS positions are kvern's, with f32 keys and values and without flash attention.

The mean Kullback-Leibler divergence is at most 1e-4 for f32, f16 and bf16, 5e-3 for quantized types, where both programs
also quantize the activations, in different ways. A file is removed before the next is made.
"""

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

import compare

TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k")
EXACT_TYPES = ("f32", "f16", "bf16")
LIMITS = {True: 1e-4, False: 5e-3}
POSITIONS = 48
SMALLEST_VOCABULARY = 256


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def check(arguments, kind, folder):
    """Whether both programs agree on the preset in one type."""
    model, ids, ours, theirs = (folder / name for name in ("model.gguf", "ids", "kvern.npy", "llama.npy"))
    run(arguments.kvern, "synth", "--preset", arguments.preset, "--type", kind, "-o", model)
    choose = random.Random(1)
    ids.write_text(",".join(str(choose.randrange(SMALLEST_VOCABULARY)) for _ in range(POSITIONS)))
    # The context is llama.cpp's: rotary factors of LongRoPE are chosen by it.
    run(arguments.kvern, "logits", model, "--ids", ids, "--kv-type", "f32", "--threads", 1, "--ctx", POSITIONS, "-o", ours)
    run(arguments.peer, "logits", model, "--ids", ids, "-o", theirs, "--kv-type", "f32", "--flash-attention", "off",
        "--threads", 1)
    model.unlink()
    result = compare.divergence(compare.read_npy(theirs), compare.read_npy(ours))
    limit = LIMITS[kind in EXACT_TYPES]
    print(f"{arguments.preset} {kind}: mean KL {result.mean:.3g} (limit {limit:g}), largest {result.largest:.3g}, "
          f"largest difference of a logit {result.logit_difference:.3g}", flush=True)
    return result.positions == POSITIONS and result.mean <= limit


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("kvern", "peer"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--preset", required=True)
    parser.add_argument("--types", default=",".join(TYPES))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kvern-synth-") as folder:
        passed = [check(arguments, kind, pathlib.Path(folder)) for kind in arguments.types.split(",")]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
