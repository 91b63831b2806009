#!/usr/bin/env python3
"""What the journal costs: streams of chats from `kvern serve` without it, with it, and with each --journal-sync.

    journal_bench.py MODEL [--clients 1,8] [--rounds 3] [--new-tokens 100]

Servers alternate run by run (A B C A B C ...), each in a process of its own on a directory of its own. All streams begin together; a
run's rate is the tokens behind the first one of every stream over the time from the last of these to the last token of all. The ratio is the median of the
pairs of a round. Prints Markdown.
"""

import argparse
import http.client
import json
import mmap
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = {"streams that end with their connection": [], "without a journal": ["--reconnect-time", "1m"],
         "interval": ["--kv-dir"], "always": ["--journal-sync", "always", "--kv-dir"], "never": ["--journal-sync", "never", "--kv-dir"]}


# Sizes of GGUF's values by type; 8 is a string, 9 an array.
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"


def skip_value(data, at, kind):
    if kind == 8:
        return at + 8 + struct.unpack_from("<Q", data, at)[0]
    if kind != 9:
        return at + SIZES[kind]
    kind, count = struct.unpack_from("<IQ", data, at)
    at += 12
    if kind in SIZES:
        return at + SIZES[kind] * count
    for _ in range(count):
        at = skip_value(data, at, kind)
    return at


def add_template(source, target):
    """A copy of a GGUF file (`kvern synth` makes them without) that can chat. Values first, then tensors, then their data, aligned to 32."""
    data = memoryview(mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ))
    tensors, values = struct.unpack_from("<QQ", data, 8)
    at = 24
    for _ in range(values):
        at += 8 + struct.unpack_from("<Q", data, at)[0]
        at = skip_value(data, at + 4, struct.unpack_from("<I", data, at)[0])
    end = at
    for _ in range(tensors):
        end += 8 + struct.unpack_from("<Q", data, end)[0]
        end += 4 + 8 * struct.unpack_from("<I", data, end)[0] + 12
    name = b"tokenizer.chat_template"
    head = (bytes(data[:16]) + struct.pack("<Q", values + 1) + bytes(data[24:at]) + struct.pack("<Q", len(name)) + name +
            struct.pack("<IQ", 8, len(TEMPLATE)) + TEMPLATE.encode() + bytes(data[at:end]))
    target.write(head + bytes(-len(head) % 32))
    target.write(data[end + -end % 32:])


class Stream(threading.Thread):
    def __init__(self, port, number, tokens):
        super().__init__()
        self.port, self.number, self.tokens, self.times = port, number, tokens, []

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("POST", "/v1/chat/completions", json.dumps(
            {"messages": [{"role": "user", "content": f"Story {self.number}."}], "stream": True, "max_tokens": self.tokens, "seed": self.number,
             "ignore_eos": True, "return_token_ids": True}))
        response = connection.getresponse()
        if response.status != 200:
            raise RuntimeError(response.read())
        for line in response:
            if b'"token_ids":[' in line and b'"prompt_token_ids"' not in line:
                self.times.append(time.monotonic())


def rate(options, flags, clients):
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        flags = [*flags, folder + "/kv"] if flags and flags[-1] == "--kv-dir" else flags
        server = subprocess.Popen([options.kvern, "serve", "-m", options.model, "--port", "0", "-t", str(options.threads), *flags],
                                  stderr=subprocess.PIPE, text=True)
        try:
            port = None
            for line in server.stderr:
                if "listening on" in line:
                    port = int(line.rsplit(":", 1)[1])
                if " serving " in f" {line}":
                    break
            threading.Thread(target=server.stderr.read, daemon=True).start()
            streams = [Stream(port, number, options.new_tokens) for number in range(clients)]
            for stream in streams:
                stream.start()
            for stream in streams:
                stream.join()
        finally:
            server.kill()
            server.wait()
    begin = max(stream.times[0] for stream in streams)
    later = [moment for stream in streams for moment in stream.times if moment > begin]
    return len(later) / (max(later) - begin)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--kvern", default=str(ROOT / "build/release/src/cli/kvern"))
    parser.add_argument("--clients", default="1,8")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--new-tokens", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--directory", help="on the disk to be measured")
    parser.add_argument("--add-template", action="store_true", help="MODEL cannot chat: measure a copy that can")
    return parser.parse_args()


def with_template(options):
    if not options.add_template:
        return measure(options)
    with open(options.model, "rb") as source, tempfile.NamedTemporaryFile(suffix=".gguf", dir=options.directory) as target:
        add_template(source, target)
        target.flush()
        options.model = target.name
        return measure(options)


def measure(options):
    kinds = options.kinds.split(",")
    print("| clients | journal | tokens/s | of the first |\n| --- | --- | --- | --- |")
    for clients in map(int, options.clients.split(",")):
        rounds = [{kind: rate(options, KINDS[kind], clients) for kind in kinds} for _ in range(options.rounds)]
        for kind in kinds:
            ratio = statistics.median(each[kind] / each[kinds[0]] for each in rounds)
            print(f"| {clients} | {kind} | {statistics.median(each[kind] for each in rounds):.1f} | {ratio:.3f} |")
            sys.stdout.flush()


if __name__ == "__main__":
    with_template(parse_arguments())
