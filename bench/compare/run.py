#!/usr/bin/env python3
"""kvern against llama.cpp on the same synthetic models, on this machine, in one run.

    bench/compare/run.py                                    the whole table, about half an hour
    bench/compare/run.py --models q8_0 --tests decode:0,batch:8 --rounds 3

The two programs alternate test by test (A B A B ...), each in a process of its own with the model in the page cache, so
that a slow minute of the machine hits both. Medians over all repetitions of all rounds; a ratio is the median of one over
the median of the other. Differences under 10 % on a noisy machine are ties. Prints a Markdown table; --output writes
everything as JSON. Needs a built kvern and an installed peer (tools/peers/llama/install.sh).

A model is PRESET:TYPE or TYPE (of llama-3.2-1b), written once into --cache by `kvern synth`.
"""

import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFAULT_PRESET = "llama-3.2-1b"
MODELS = "q8_0,q4_0,q4_k,f16,bf16"
TESTS = "prefill:512,decode:0,decode:2048,decode:8192,batch:1,batch:4,batch:8,batch:16"


def log(text):
    print(text, file=sys.stderr, flush=True)


def run_json(command, options):
    command = shlex.split(options.prefix) + [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=options.timeout)
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


class Kvern:
    """`kvern bench`; each call also gives the ceilings that were measured in the same minute."""

    name = "kvern"

    def __init__(self, arguments):
        self.arguments = arguments

    def measure(self, model, test):
        options = self.arguments
        report = run_json([options.kvern, "bench", model, "--tests", test, "--reps", options.reps, "--steps", options.steps,
                           "--threads", options.threads, "--kv-type", options.kv_type, "--json"], options)
        (result,) = report["results"]
        ceilings = {key: report[key] for key in
                    ("read_bytes_per_second", "int8_ops_per_second", "f32_ops_per_second") if key in report}
        return result["seconds"], {"share_of_ceiling": result["share_of_ceiling"], **ceilings}


class Llama:
    """The peer's `bench` with flash attention on or off."""

    def __init__(self, arguments, flash_attention):
        self.arguments = arguments
        self.flash_attention = flash_attention
        self.name = f"llama.cpp FA {flash_attention}"

    def measure(self, model, test):
        options = self.arguments
        report = run_json([options.peer, "bench", model, "--tests", test, "--reps", options.reps, "--steps", options.steps,
                           "--threads", options.threads, "--kv-type",
                           options.peer_kv_type or options.kv_type, "--flash-attention",
                           self.flash_attention], options)
        (result,) = report["results"]
        return result["seconds"], {"version": report["version"]}


def tokens_of(test):
    """Tokens in the time that a test reports: a whole prompt, or one step of one or more rows."""
    kind, size = test.split(":")
    return 1 if kind == "decode" else int(size)


def measure_alternating(engines, model, test, rounds):
    """For each engine: tokens per second (median, least and most) and what else it reported."""
    seconds = {engine.name: [] for engine in engines}
    notes = {engine.name: [] for engine in engines}
    for _ in range(rounds):
        for engine in engines:
            times, note = engine.measure(model, test)
            seconds[engine.name] += times
            notes[engine.name].append(note)
    tokens = tokens_of(test)
    return {name: {"tokens_per_second": tokens / statistics.median(times), "least": tokens / max(times),
                   "most": tokens / min(times), "seconds": times, "notes": notes[name]}
            for name, times in seconds.items()}


def synthetic_model(arguments, name):
    preset, _, kind = name.rpartition(":")
    preset = preset or DEFAULT_PRESET
    path = arguments.cache / f"{preset}-{kind}.gguf"
    if not path.exists():
        arguments.cache.mkdir(parents=True, exist_ok=True)
        log(f"writing {path}")
        partial = path.with_suffix(".partial.gguf")
        subprocess.run([arguments.kvern, "synth", "--preset", preset, "--type", kind, "-o", partial], check=True,
                       stdout=subprocess.DEVNULL)
        partial.rename(path)
    with open(path, "rb") as file:  # into the page cache, so that no engine pays for the disk
        while file.read(1 << 24):
            pass
    return path


def table_row(result):
    kvern = result["engines"]["kvern"]
    peers = [engine for name, engine in result["engines"].items() if name != "kvern"]
    share = statistics.median(note["share_of_ceiling"] for note in kvern["notes"])
    cells = [result["model"], result["test"], f"{kvern['tokens_per_second']:.1f}"]
    cells += [f"{peer['tokens_per_second']:.1f}" for peer in peers]
    cells += [f"{kvern['tokens_per_second'] / peer['tokens_per_second']:.2f}" for peer in peers]
    cells.append(f"{100 * share:.0f} %")
    return "| " + " | ".join(cells) + " |"


def table_head(peers):
    cells = ["model", "test", "kvern, tokens/s"] + [f"{peer}, tokens/s" for peer in peers]
    cells += [f"kvern / {peer}" for peer in peers] + ["kvern, share of the ceiling"]
    return "| " + " | ".join(cells) + " |\n|" + " --- |" * len(cells)


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown processor"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kvern", type=pathlib.Path, default=ROOT / "build/release/src/cli/kvern")
    parser.add_argument("--peer", type=pathlib.Path, default=ROOT / "build/peers/llama/peer_llama")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build/bench-models", help="where the models are kept")
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--tests", default=TESTS)
    parser.add_argument("--rounds", type=int, default=3, help="how often the programs alternate")
    parser.add_argument("--reps", type=int, default=2, help="repetitions in one process")
    parser.add_argument("--steps", type=int, default=16, help="steps in a repetition of decode and batch")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--kv-type", default="f16")
    parser.add_argument("--peer-kv-type", default="", help="of llama.cpp, where it is not the same: q8_0 for q8, say")
    parser.add_argument("--flash-attention", choices=("on", "off", "both"), default="both", help="of llama.cpp")
    parser.add_argument("--prefix", default="", help="put before each measured command, for example 'taskset -c 0,1'")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for one process")
    parser.add_argument("--output", type=pathlib.Path, help="a JSON file of all figures")
    arguments = parser.parse_args()
    for program in (arguments.kvern, arguments.peer):
        if not program.exists():
            parser.error(f"there is no {program}")
    return arguments


def main():
    arguments = parse_arguments()
    modes = ("on", "off") if arguments.flash_attention == "both" else (arguments.flash_attention,)
    engines = [Kvern(arguments)] + [Llama(arguments, mode) for mode in modes]
    print(f"{processor()}, {arguments.threads} threads, KV {arguments.kv_type}"
          f"{' against ' + arguments.peer_kv_type if arguments.peer_kv_type else ''}, medians of "
          f"{arguments.rounds * arguments.reps}\n\n{table_head([engine.name for engine in engines[1:]])}", flush=True)
    results = []
    for name in arguments.models.split(","):
        model = synthetic_model(arguments, name)
        for test in arguments.tests.split(","):
            log(f"{name} {test}")
            results.append({"model": name, "test": test,
                            "engines": measure_alternating(engines, model, test, arguments.rounds)})
            print(table_row(results[-1]), flush=True)
            if arguments.output:
                arguments.output.write_text(json.dumps({"processor": processor(), "threads": arguments.threads,
                                                        "kv_type": arguments.kv_type, "results": results}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
