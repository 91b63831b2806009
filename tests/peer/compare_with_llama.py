#!/usr/bin/env python3
"""Compares kvern with llama.cpp on one model file, with f32 keys and values and without flash attention.

greedy: 64 greedy tokens after each of a few prompts are the same.
divergence: over 256 positions of a text that the model wrote itself, the mean Kullback-Leibler divergence of kvern's
next-token distributions from llama.cpp's is at most 1e-4 for f32, f16 and bf16, 5e-3 for quantized types (where both
also quantize the activations, in different ways).

The model is first converted to --type by llama.cpp, so that kvern also reads files that others wrote. Exit code 77: the
model is not there.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import compare

SKIPPED = 77
PROMPTS = ([1], [1, 20, 30], [1, 100, 50, 60, 70])
NEW_TOKENS = 64
POSITIONS = 256
EXACT_TYPES = ("f32", "f16", "bf16")
LIMITS = {True: 1e-4, False: 5e-3}


def run(*command):
    """The standard output of a command; its error text and an exception if it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def ids_text(ids):
    return ",".join(map(str, ids))


def converted(arguments):
    """The model in the type that is asked for, made once."""
    path = arguments.work / f"{arguments.type}.gguf"
    if not path.exists() or path.stat().st_mtime < arguments.model.stat().st_mtime:
        partial = path.with_suffix(".partial")
        run(arguments.peer, "quantize", arguments.model, "--type", arguments.type, "-o", partial)
        partial.rename(path)
    return path


def kvern_ids(arguments, model, prompt, *options):
    output = run(arguments.kvern, "generate", "-m", model, "--ids", ids_text(prompt), "--ignore-eos", "--kv-type", "f32",
                 "--json", *options)
    return json.loads(output)["ids"]


def compare_greedy(arguments, model):
    failures = 0
    for prompt in PROMPTS:
        ours = kvern_ids(arguments, model, prompt, "-n", NEW_TOKENS)
        theirs = json.loads(run(arguments.peer, "greedy", model, "--ids", ids_text(prompt), "-n", NEW_TOKENS, "--kv-type",
                                "f32", "--flash-attention", "off"))["ids"]
        difference = compare.first_difference(ours, theirs, NEW_TOKENS)
        if difference is None:
            print(f"prompt {prompt}: {NEW_TOKENS} ids equal")
            continue
        failures += 1
        print(f"prompt {prompt}: {difference}\n  kvern     {ours}\n  llama.cpp {theirs}")
    return failures == 0


def compare_divergence(arguments, model):
    text = [1] + kvern_ids(arguments, model, [1], "-n", POSITIONS - 1, "--temp", "1", "--seed", "1")
    ours_path, theirs_path = (arguments.work / f"{arguments.type}.{who}.npy" for who in ("kvern", "llama"))
    ids_path = arguments.work / f"{arguments.type}.ids"
    ids_path.write_text(ids_text(text))
    run(arguments.kvern, "logits", model, "--ids", ids_path, "--kv-type", "f32", "-o", ours_path)
    run(arguments.peer, "logits", model, "--ids", ids_path, "--kv-type", "f32", "--flash-attention", "off", "-o", theirs_path)
    result = compare.divergence(compare.read_npy(theirs_path), compare.read_npy(ours_path))
    limit = LIMITS[arguments.type in EXACT_TYPES]
    print(f"{result.positions} positions: mean KL {result.mean:.3g} (limit {limit:g}), largest {result.largest:.3g}, "
          f"same first token at {result.same_first}, largest difference of a logit {result.logit_difference:.3g}")
    return result.positions == POSITIONS and result.mean <= limit


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("greedy", "divergence"))
    for name in ("kvern", "peer", "model", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--type", required=True)
    arguments = parser.parse_args()
    if not arguments.model.exists():
        print(f"skipped: there is no {arguments.model}")
        return SKIPPED
    arguments.work.mkdir(parents=True, exist_ok=True)
    model = converted(arguments)
    passed = {"greedy": compare_greedy, "divergence": compare_divergence}[arguments.what](arguments, model)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
