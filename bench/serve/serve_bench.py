#!/usr/bin/env python3
"""The server measured: against the engine without HTTP, against llama.cpp, and against what its scheduler promises.

    serve_bench.py overhead MODEL      tokens/s of `kvern serve` over those of the bare loop (loop_bench), at 1 and 16 clients
    serve_bench.py peer MODEL          the same requests for llama.cpp (tools/peers/llama/install.sh) with 1, 4, 8, 16 clients
    serve_bench.py gaps MODEL          8 rows generate while prompts of 4k tokens arrive, for several --step-tokens
    serve_bench.py prefix MODEL        16 requests with one prefix of 4k tokens: counters, not times

Programs alternate run by run (A B A B ...), each in a process of its own with the model in the page cache; a ratio is the median of
one over the median of the other. The peer is a loop over llama.cpp's library without HTTP, JSON and text, which flatters it;
kvern is measured by an HTTP client on the same machine, whose work counts against it. Prints Markdown; --json FILE writes everything.
"""

import argparse
import json
import pathlib
import random
import statistics

import programs
import scripts


def alternate(candidates, requests, rounds):
    """Summaries by program's name, in the order of the rounds."""
    runs = {candidate.name: [] for candidate in candidates}
    for _ in range(rounds):
        for candidate in candidates:
            runs[candidate.name].append(scripts.summary(candidate.run(requests)))
    return runs


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def milliseconds(seconds):
    return "-" if seconds is None else f"{1000 * seconds:.0f}" if seconds >= 0.02 else f"{1000 * seconds:.2f}"


# A kept row has all tokens but the last: that one was sampled, and not yet computed.
KEPT_ALONE = 512
HEAD = ["clients", "program", "tokens/s", "of the other", "first token p50, ms", "p99", "gap p50, ms", "p99"]


def compare(options, candidates):
    """kvern serve first, the other second; a row of the table for each and each number of clients."""
    rows, report = [], []
    for clients in options.clients:
        requests = scripts.closed_loop(clients, options.repeat, options.prompt_tokens, options.new_tokens, vocabulary=options.vocabulary)
        runs = alternate(candidates, requests, options.rounds)
        report.append({"clients": clients, "runs": runs})
        other = median(runs[candidates[1].name], "tokens_per_second")
        for candidate in candidates:
            mine = runs[candidate.name]
            rate = median(mine, "tokens_per_second")
            ratio = f"{rate / other:.3f}" if candidate is candidates[0] else ""
            rows.append([clients, candidate.name, f"{rate:.1f}", ratio] + [
                milliseconds(median(mine, key)) for key in ("first_token_p50", "first_token_p99", "gap_p50", "gap_p99")])
    return scripts.table(HEAD, rows), report


def overhead(options):
    return compare(options, [programs.Kvern(options, "--max-rows", 64), programs.loop(options)])


def peer(options):
    return compare(options, [programs.Kvern(options), programs.peer(options)])


def gaps(options):
    """Gaps of the generating rows before the first long prompt arrives, and from then on. The long prompts are cut off when
    the rows have ended: how long they take is not the question."""
    rows, report = [], []
    for step_tokens in options.scan:
        options.step_tokens = step_tokens
        rng = random.Random(3)
        requests = [scripts.Request(client, scripts.prompt(rng, 16, options.vocabulary), options.new_tokens) for client in range(options.rows)]
        primary = set(range(options.rows))
        requests += [scripts.Request(options.rows + i, scripts.prompt(rng, options.long_prompt, options.vocabulary), 1, arrival=options.arrival)
                     for i in range(options.long_prompts)]
        kvern = programs.Kvern(options)
        outcomes = [outcome for outcome in kvern.run(requests, primary) if outcome.client in primary]
        begin = max(outcome.times[0] for outcome in outcomes)
        alone = [gap for outcome in outcomes for gap in outcome.gaps(begin, options.arrival)]
        mixed = [gap for outcome in outcomes for gap in outcome.gaps(options.arrival)]
        computed = kvern.metrics["kvern_prompt_tokens_computed_total"] - 16 * options.rows
        result = {"step_tokens": step_tokens, "alone": alone, "mixed": mixed, "long_prompt_tokens_computed": computed}
        report.append(result)
        p50, p99 = statistics.median(mixed), scripts.percentile(mixed, 0.99)
        rows.append([step_tokens, milliseconds(statistics.median(alone)) if alone else "-", milliseconds(p50), milliseconds(p99), f"{p99 / p50:.2f}",
                     f"{p99 / statistics.median(alone):.2f}" if alone else "-", f"{computed:.0f}"])
    head = ["--step-tokens", "gap p50 alone, ms", "gap p50 beside prompts, ms", "p99", "p99 / p50", "p99 / p50 alone", "prompt tokens done meanwhile"]
    return scripts.table(head, rows), report


def prefix(options):
    """All at once; what was computed and is held, by /metrics."""
    rng = random.Random(5)
    shared = scripts.prompt(rng, options.long_prompt, options.vocabulary)
    tails = [scripts.prompt(rng, options.tail, options.vocabulary) for _ in range(options.rows)]
    requests = [scripts.Request(client, shared + tail, options.new_tokens) for client, tail in enumerate(tails)]
    kvern, alone = programs.Kvern(options), programs.Kvern(options)
    # What a token takes, from a row of whole pages.
    alone.run([scripts.Request(0, shared[:KEPT_ALONE + 1 - options.new_tokens], options.new_tokens)])
    per_token = alone.metrics['kvern_kv_bytes{kind="live"}'] / KEPT_ALONE
    kvern.run(requests)
    metrics = kvern.metrics
    live = metrics['kvern_kv_bytes{kind="live"}']
    ideal = per_token * (options.long_prompt + options.rows * (options.tail + options.new_tokens - 1))
    rows = [["prompt tokens", f"{metrics['vllm:prompt_tokens_total']:.0f}", options.rows * (options.long_prompt + options.tail)],
            ["computed", f"{metrics['kvern_prompt_tokens_computed_total']:.0f}", options.long_prompt + options.rows * options.tail],
            ["from kept prefixes", f"{metrics['vllm:prefix_cache_hits_total']:.0f}", (options.rows - 1) * options.long_prompt],
            ["bytes live at the end, MiB", f"{live / 2**20:.1f}", f"{ideal / 2**20:.1f}"],
            ["bytes of a token, KiB", f"{per_token / 1024:.2f}", ""],
            ["saved by sharing, MiB", f"{metrics['kvern_kv_saved_bytes'] / 2**20:.1f}", f"{per_token * (options.rows - 1) * options.long_prompt / 2**20:.1f}"]]
    return scripts.table(["counter", "measured", "one prefix and the tails"], rows), {"shared": metrics, "alone": alone.metrics}


def numbers(text):
    return [int(part) for part in text.split(",")]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["overhead", "peer", "gaps", "prefix"])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--kvern", type=pathlib.Path, default=programs.ROOT / "build/release/src/cli/kvern")
    parser.add_argument("--loop", type=pathlib.Path, default=programs.ROOT / "build/release/bench/loop_bench")
    parser.add_argument("--peer", type=pathlib.Path, default=programs.ROOT / "build/peers/llama/peer_loop")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--step-tokens", type=int, default=16)
    parser.add_argument("--clients", type=numbers, help="1,16 or 1,4,8,16 by default")
    parser.add_argument("--rounds", type=int, default=3, help="how often the programs alternate")
    parser.add_argument("--repeat", type=int, default=1, help="requests of each client in a run")
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--new-tokens", type=int, default=32)
    parser.add_argument("--vocabulary", type=int, default=30_000, help="ids of prompts are from 1000 to this")
    parser.add_argument("--rows", type=int, help="that generate: 8; that share: 16")
    parser.add_argument("--scan", type=numbers, default=numbers("8,16,32,64"), help="values of --step-tokens")
    parser.add_argument("--long-prompt", type=int, default=4096)
    parser.add_argument("--long-prompts", type=int, default=2)
    parser.add_argument("--arrival", type=float, default=2, help="of the long prompts, in seconds")
    parser.add_argument("--tail", type=int, default=16, help="tokens of each prompt behind the shared ones")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.clients = options.clients or numbers("1,16" if options.what == "overhead" else "1,4,8,16")
    options.rows = options.rows or (16 if options.what == "prefix" else 8)
    return options


def main():
    options = parse_arguments()
    text, report = {"overhead": overhead, "peer": peer, "gaps": gaps, "prefix": prefix}[options.what](options)
    print(text)
    if options.json:
        settings = {key: str(value) for key, value in vars(options).items()}
        options.json.write_text(json.dumps({"settings": settings, "results": report}, indent=1))


if __name__ == "__main__":
    main()
