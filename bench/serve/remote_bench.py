#!/usr/bin/env python3
"""What a Redis server as a tier gives and costs.

restore: time to the first token of a prompt that has to be computed, that a directory has, and that a Redis server on this
machine has; each in a new process, the page cache full. hang: the time between two tokens of a row that runs while other
prompts come and a Redis server does not answer, beside the same without that server.
"""

import argparse
import http.client
import json
import pathlib
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Server:
    def __init__(self, options, *flags):
        self.process = subprocess.Popen(
            [options.kvern, "serve", "-m", options.model, "-t", "2", "--port", "0", "--open-metrics", *flags],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "http://" in line:
                self.port = int(line.split("http://")[1].split(":")[1].split("/")[0].split()[0])
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        while self.get("/health").status != 200:
            time.sleep(0.01)
        self.times([1, 2, 3, 4, 5, 6, 7, 8], 2)  # the model's pages

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path)
        return connection.getresponse()

    def post(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return connection.getresponse()

    def times(self, prompt, tokens):
        """When the request was sent, and when each token came."""
        begin = time.monotonic()
        body = {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "stream": True, "ignore_eos": True}
        response = self.post("/v1/completions", body)
        if response.status != 200:
            raise RuntimeError(response.read())
        return [begin] + [time.monotonic() for line in response if line.startswith(b"data: {")]

    def metric(self, name):
        text = self.get("/metrics").read().decode()
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))

    def flush(self):
        response = self.post("/v1/kv/flush", {})
        if response.status != 200:
            raise RuntimeError(response.read())
        response.read()

    def stop(self):
        self.process.terminate()
        self.process.wait()


def redis(folder):
    path = f"{folder}/redis.sock"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder, "--unixsocket", path],
                               stdout=subprocess.DEVNULL)
    while not pathlib.Path(path).exists():
        time.sleep(0.01)
    return process, f"redis://127.0.0.1:{port}"


def first_token(options, prompt, *flags):
    server = Server(options, *flags)
    before = server.metric("kvern_tier_restored_bytes_total")
    times = server.times(prompt, 3)
    restored = server.metric("kvern_tier_restored_bytes_total") - before
    server.stop()
    return times[1] - times[0], times[2] - times[1], restored


def measure_restore(options, folder):
    rng = random.Random(1)
    prompt = [rng.randrange(options.vocabulary) for _ in range(options.tokens)]
    process, url = redis(folder)
    places = {"disk": ["--kv-dir", f"{folder}/kv"], "redis": ["--kv-remote", url, "--kv-remote-wait", "50ms"]}
    try:
        server = Server(options, *places["disk"], *places["redis"])
        times = server.times(prompt, 3)
        print(f"computed: first token after {(times[1] - times[0]) * 1e3:.0f} ms")
        server.flush()
        while server.metric("kvern_tier_pending{") > 0:
            time.sleep(0.1)
        server.stop()
        firsts = {name: [] for name in places}
        for _ in range(options.rounds):
            for name, flags in places.items():
                more = ["--kv-read-only"] if name == "disk" else []
                first, step, restored = first_token(options, prompt, *flags, *more)
                firsts[name].append((first, first - step, restored))
        for name, all_of in firsts.items():
            first, rest, restored = (statistics.median(x) for x in zip(*all_of))
            print(f"{name}: first token after {first * 1e3:.0f} ms; {restored / 1e6:.0f} MB in {rest * 1e3:.0f} ms = {restored / rest / 1e9:.2f} GB/s")
    finally:
        process.terminate()
        process.wait()


def gaps(options, url):
    server = Server(options, *(["--kv-remote", url] if url else []))
    found = []
    row = threading.Thread(target=lambda: found.extend(server.times(list(range(10, 30)), options.new_tokens)))
    row.start()
    rng = random.Random(2)
    others = []
    while row.is_alive():
        prompt = [rng.randrange(options.vocabulary) for _ in range(64)]
        times = server.times(prompt, 1)
        others.append(times[1] - times[0])
    server.stop()
    between = sorted(b - a for a, b in zip(found[1:], found[2:]))
    print(f"{'a server that hangs' if url else 'no server'}: gaps p50 {statistics.median(between) * 1e3:.1f} ms, "
          f"p99 {between[int(len(between) * 0.99)] * 1e3:.1f} ms, longest {between[-1] * 1e3:.1f} ms; "
          f"other requests p50 {statistics.median(others) * 1e3:.1f} ms, longest {max(others) * 1e3:.1f} ms ({len(others)})")


def measure_hang(options):
    with socket.socket() as hangs:
        hangs.bind(("127.0.0.1", 0))
        hangs.listen(64)  # the system accepts, nobody answers
        url = f"redis://127.0.0.1:{hangs.getsockname()[1]}"
        for _ in range(options.rounds):
            gaps(options, None)
            gaps(options, url)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["restore", "hang"])
    parser.add_argument("model")
    parser.add_argument("--kvern", default=ROOT / "build/release/src/cli/kvern")
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--new-tokens", type=int, default=400)
    parser.add_argument("--vocabulary", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.what == "restore":
            measure_restore(options, folder)
        else:
            measure_hang(options)


if __name__ == "__main__":
    sys.exit(main())
