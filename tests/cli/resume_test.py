"""kvern serve is killed, again and again, and streams go on: resume_test.py KVERN

Eight clients read streams of all kinds. The server is killed (SIGKILL) at random moments and started again on the same
directory; each client comes back with the id of its answer and the number of its last event. What a client has in the end
must be, byte for byte, what an undisturbed server sends, but for names and times. KVERN_CASES is how often it is killed.
"""

import http.client
import json
import os
import pathlib
import random
import re
import sys
import tempfile
import threading
import time

import kvern_process
from kvern_process import MODEL
from serve_test import PATIENCE, Server

KILLS = int(os.environ.get("KVERN_CASES", "5"))
CLIENTS = 8
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"


def chat(text, **more):
    return CHAT, {"messages": [{"role": "user", "content": text}], "stream": True, "max_tokens": 150,
                  "stream_options": {"include_usage": True}, "cache_prompt": False, **more}


def response(words, **more):
    return RESPONSES, {"input": words, "stream": True, "max_output_tokens": 150, "cache_prompt": False, **more}


REQUESTS = [
    chat("Tell me a story.", seed=1, ignore_eos=True),
    response("Tell me a story.", seed=2),
    chat("Once upon a time", seed=8, temperature=0, logprobs=True, top_logprobs=2),
    chat("Name three animals.", seed=3, n=3, ignore_eos=True, max_tokens=60),
    response("A dog and a cat", seed=4, include=["message.output_text.logprobs"], top_logprobs=1, store=False),
    response("Some JSON.", seed=5, text={"format": {"type": "json_object"}}),
    chat("Who was it?", seed=6, stop=[" the ", "."], frequency_penalty=0.5),
    chat("The sun", seed=7, repeat_penalty=1.2, temperature=1.2, ignore_eos=True),
]

NAMES = re.compile(rb"(?:chatcmpl-|resp_|msg_|rs_|fc_|call_)[0-9a-f]{24}")
TIMES = re.compile(rb'("(?:created|created_at|completed_at)":)\d+')


def plain(event):
    """Without what differs from one run to the next. Names are numbered by normal()."""
    return TIMES.sub(rb"\g<1>0", event)


def normal(events):
    known = {}
    return [NAMES.sub(lambda name: b"name%d" % known.setdefault(name[0], len(known)), plain(event)) for event in events]


class Client:
    """Reads one stream, over as many connections as it takes."""

    def __init__(self, route, body):
        self.route, self.body = route, body
        self.events = []

    @property
    def id(self):
        if not self.events:
            return None
        found = re.search(rb'"id":"((?:chatcmpl-|resp_)[0-9a-f]{24})"', self.events[0])
        return found[1].decode()

    @property
    def done(self):
        return bool(self.events) and (self.events[-1].endswith(b"data: [DONE]") or
                                      b"\nevent: response.completed\n" in self.events[-1] or
                                      b"\nevent: response.incomplete\n" in self.events[-1])

    def _ask(self, connection):
        if self.id is None:
            connection.request("POST", self.route, json.dumps(self.body))
        else:
            connection.request("GET", f"{self.route}/{self.id}?stream=true&starting_after={len(self.events) - 1}")
        return connection.getresponse()

    def read(self, port):
        """Until the end of the stream, or of the connection."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            response = self._ask(connection)
            if response.status != 200:
                raise AssertionError(f"{self.route} {self.id} {len(self.events)}: {response.status} {response.read()}")
            event = []
            for line in response:
                line = line.rstrip(b"\n")
                if line:
                    event.append(line)
                    continue
                self._take(b"\n".join(event))
                event = []
        except (OSError, http.client.HTTPException):
            pass  # the server was killed
        finally:
            connection.close()

    def _take(self, event):
        if event.startswith(b":"):
            return
        number = re.match(rb"id: (\d+)\n", event)
        if number is None or int(number[1]) != len(self.events):
            raise AssertionError(f"event {len(self.events)} of {self.id} is {event[:200]!r}")
        self.events.append(event)


class Load:
    """Clients on a server that comes and goes."""

    def __init__(self, expected):
        self.expected = expected
        self.changed = threading.Condition()
        self.port, self.stopping = None, False
        self.finished = self.interrupted = 0
        self.problems = []
        self.threads = [threading.Thread(target=self._run, args=(i,)) for i in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def _wait_for_port(self, last):
        with self.changed:
            self.changed.wait_for(lambda: self.stopping or self.problems or (self.port and self.port != last), PATIENCE)
            return self.port

    def _run(self, kind):
        try:
            self._serve(kind)
        except Exception as error:  # pylint: disable=broad-except
            with self.changed:
                self.problems.append(repr(error))
                self.changed.notify_all()

    def _serve(self, kind):
        last = None
        while not (self.stopping or self.problems):
            client = Client(*REQUESTS[kind])
            while not client.done:
                last = self._wait_for_port(last)
                if self.problems:
                    return
                client.read(last)
                if client.done:
                    break
                if self.port == last:
                    # Its server was not killed: nothing else may end a stream early.
                    with self.changed:
                        self.changed.wait_for(lambda: self.port != last, 5)
                    if self.port == last:
                        raise AssertionError(f"a stream ended early: {client.events[-1:]}")
                self.interrupted += 1
            if normal(client.events) != self.expected[kind]:
                raise AssertionError(difference(normal(client.events), self.expected[kind]))
            last = None
            self.finished += 1

    def set_port(self, port):
        with self.changed:
            self.port = port
            self.changed.notify_all()

    def stop(self):
        with self.changed:
            self.stopping = True
            self.changed.notify_all()
        for thread in self.threads:
            thread.join(PATIENCE)


def difference(got, expected):
    for i, (a, b) in enumerate(zip(got, expected)):
        if a != b:
            return f"event {i}: {a!r} instead of {b!r}"
    return f"{len(got)} events instead of {len(expected)}"


def undisturbed():
    expected = []
    with Server("-m", MODEL, "--reconnect-time", "1m") as server:
        for route, body in REQUESTS:
            client = Client(route, body)
            client.read(server.port)
            assert client.done, client.events[-1:]
            expected.append(normal(client.events))
    return expected


def main():
    kvern_process.binary = sys.argv[1]
    random.seed(int(os.environ.get("KVERN_SEED", "1")))
    expected = undisturbed()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kvern-test-") as folder:
        load = Load(expected)
        try:
            for _ in range(KILLS):
                with Server("-m", MODEL, "--kv-dir", pathlib.Path(folder) / "kv") as server:
                    load.set_port(server.port)
                    with load.changed:
                        load.changed.wait_for(lambda: load.problems, random.uniform(0.02, 0.6))
                    load.set_port(None)
                    server.process.kill()
                if load.problems:
                    break
            with Server("-m", MODEL, "--kv-dir", pathlib.Path(folder) / "kv") as server:
                load.set_port(server.port)
                load.stop()
        finally:
            load.stop()
    print(f"{KILLS} kills, {load.interrupted} streams interrupted, {load.finished} finished and equal, "
          f"{time.monotonic() - began:.1f} s")
    if load.problems:
        sys.exit("\n".join(load.problems))
    if load.finished < CLIENTS or load.interrupted == 0:
        sys.exit("not enough happened")


if __name__ == "__main__":
    main()
