#!/usr/bin/env python3
"""Compares kvern with llama.cpp on one model file, with f32 keys and values and without flash attention.

greedy: 64 greedy tokens after each of a few beginnings of stories are the same. For f32, f16 and bf16 each program goes its
own way, and the ids must be equal. With quantized weights both also quantize the activations, in different ways, so that
the order of two tokens of nearly equal logits is a matter of chance, and one such place makes the rest another story. There
kvern follows llama.cpp's ids, and must choose the same one at each position, except at few where llama.cpp's own logits of
the two choices differ by less than TIE.

divergence: over 256 positions of a text that the model wrote itself, the mean Kullback-Leibler divergence of kvern's
next-token distributions from llama.cpp's is at most 1e-4 for f32, f16 and bf16, 5e-3 for quantized types.

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
TEXTS = ("Once upon a time", "Tom had a red ball.", "The little dog")
# One thread: the models are small, and llama.cpp's threads wait by spinning, which takes minutes on a busy machine.
PEER_OPTIONS = ("--kv-type", "f32", "--flash-attention", "off", "--threads", 1)
NEW_TOKENS = 64
POSITIONS = 256
EXACT_TYPES = ("f32", "f16", "bf16")
LIMITS = {True: 1e-4, False: 5e-3}
TIE = 0.1
MOST_TIES = 3


def run(*command, text=None):
    """The standard output of a command; its error text and an exception if it fails."""
    done = subprocess.run([str(part) for part in command], input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def peer_options(arguments):
    """With the kernels of AVX2 on every x86 processor (tools/peers/llama/install.sh): those for AMX round products of f16
    otherwise, and where two logits differ by 2e-6 that makes another story."""
    return (*PEER_OPTIONS, "--libraries", arguments.peer.parent / "oracle")


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
                 "--threads", 1, "--json", *options)
    return json.loads(output)["ids"]


def prompts(arguments, model):
    """Token ids of TEXTS."""
    lines = "".join(json.dumps(text) + "\n" for text in TEXTS)
    return [json.loads(line) for line in run(arguments.kvern, "tokenize", model, "--json", text=lines).splitlines()]


def logits_of_both(arguments, model, ids):
    """The logits of every position: kvern's, llama.cpp's."""
    ours, theirs = (arguments.work / f"{arguments.type}.{who}.npy" for who in ("kvern", "llama"))
    ids_path = arguments.work / f"{arguments.type}.ids"
    ids_path.write_text(ids_text(ids))
    run(arguments.kvern, "logits", model, "--ids", ids_path, "--kv-type", "f32", "--threads", 1, "-o", ours)
    run(arguments.peer, "logits", model, "--ids", ids_path, "-o", theirs, *peer_options(arguments))
    return compare.read_npy(ours), compare.read_npy(theirs)


def same_free_run(arguments, model, prompt, theirs):
    ours = kvern_ids(arguments, model, prompt, "-n", NEW_TOKENS)
    difference = compare.first_difference(ours, theirs, NEW_TOKENS)
    if difference is None:
        print(f"prompt {prompt}: {NEW_TOKENS} ids equal")
        return True
    print(f"prompt {prompt}: {difference}\n  kvern     {ours}\n  llama.cpp {theirs}")
    return False


def same_choices(arguments, model, prompt, theirs):
    ours, reference = logits_of_both(arguments, model, (prompt + theirs)[:-1])
    first = len(prompt) - 1
    gaps = compare.choice_gaps(reference[first:], ours[first:])
    for position, gap in gaps.items():
        print(f"prompt {prompt}, new token {position}: another choice, {gap:.3g} below llama.cpp's")
    print(f"prompt {prompt}: {len(theirs) - len(gaps)} of {len(theirs)} choices equal")
    return len(theirs) == NEW_TOKENS and len(gaps) <= MOST_TIES and all(gap < TIE for gap in gaps.values())


def compare_greedy(arguments, model):
    same = same_free_run if arguments.type in EXACT_TYPES else same_choices
    passed = True
    for prompt in prompts(arguments, model):
        theirs = json.loads(run(arguments.peer, "greedy", model, "--ids", ids_text(prompt), "-n", NEW_TOKENS,
                                *peer_options(arguments)))["ids"]
        passed = same(arguments, model, prompt, theirs) and passed
    return passed


def compare_divergence(arguments, model):
    prompt = prompts(arguments, model)[0]
    text = prompt + kvern_ids(arguments, model, prompt, "-n", POSITIONS - len(prompt), "--temp", "1", "--seed", "1")
    ours, theirs = logits_of_both(arguments, model, text)
    result = compare.divergence(theirs, ours)
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
