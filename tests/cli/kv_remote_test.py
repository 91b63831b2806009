"""Machines that share prefixes: two kvern serve, redis-server, haproxy. kv_remote_test.py KVERN [CLASS...]"""

import http.client
import json
import shutil
import socket
import subprocess
import sys
import time
import unittest

import kvern_process
from kvern_process import MODEL, ROOT
from serve_test import PATIENCE, Server, Test

STORY = ("Once upon a time there was a little girl named Lily who lived in a small house near the big forest. "
         "Every day she walked to the river with her dog and looked at the fish. One day she found a red ball.")


def until(holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)


def takes_connections(family, address):
    with socket.socket(family) as probe:
        return probe.connect_ex(address) == 0


class Redis:
    """Debian's redis-server on a Unix socket, without persistence."""

    def __init__(self, folder):
        self.path = str(folder / "redis.sock")
        self.process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "",
                                         "--dir", str(folder)], stdout=subprocess.DEVNULL)
        until(lambda: takes_connections(socket.AF_UNIX, self.path))

    @property
    def url(self):
        return "unix://" + self.path

    def keys(self):
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(self.path)
            link.sendall(b"DBSIZE\r\n")
            return int(link.makefile().readline()[1:])

    def stop(self):
        self.process.kill()
        self.process.wait()


class RemoteTest(Test):
    def setUp(self):
        super().setUp()
        if shutil.which("redis-server") is None:
            self.skipTest("redis-server is not installed (tools/setup.sh test)")

    def redis(self):
        redis = Redis(self.folder)
        self.addCleanup(redis.stop)
        return redis

    def chat(self, server, **headers):
        """(text, cached tokens)"""
        status, data = server.request("POST", "/v1/chat/completions", {
            "messages": [{"role": "user", "content": STORY}], "max_tokens": 16, "temperature": 0, "ignore_eos": True}, **headers)
        self.assertEqual(status, 200, data)
        answer = json.loads(data)
        return (answer["choices"][0]["message"]["content"], answer["usage"]["prompt_tokens_details"]["cached_tokens"])

    def metric(self, server, name, labels):
        status, data = server.request("GET", "/metrics")
        self.assertEqual(status, 200)
        for line in data.decode().splitlines():
            if line.startswith(name + "{") and all(label in line for label in labels):
                return float(line.rsplit(" ", 1)[1])
        raise AssertionError(f"no {name} {labels} in {data.decode()}")


class Sharing(RemoteTest):
    # A loaded machine may be slow to answer; what is tested is who has what.
    PATIENT = ("--kv-remote-timeout", "60s", "--kv-remote-wait", "60s")

    def test_what_one_computed_the_other_has(self):
        redis = self.redis()
        with Server("-m", MODEL, "--kv-remote", redis.url, *self.PATIENT) as one:
            self.assertIn(redis.url, one.wait_for("shared through"))
            first, cached = self.chat(one)
            self.assertEqual(cached, 0)
            status, data = one.request("POST", "/v1/kv/flush")
            self.assertEqual((status, json.loads(data)["durable"]), (200, True), data)
            with Server("-m", MODEL, "--kv-remote", redis.url, *self.PATIENT) as two:
                again, cached = self.chat(two)
                self.assertEqual(again, first)
                self.assertGreater(cached, 40)
                self.assertEqual(self.metric(two, "kvern_tier_restores_total", ['tier="remote"']), 1)

    def test_clients_and_types_do_not_share(self):
        redis = self.redis()
        keys = ("--api-key", "alice:a", "--api-key", "bob:b")
        with Server("-m", MODEL, "--kv-remote", redis.url, *self.PATIENT, *keys) as one:
            self.chat(one, Authorization="Bearer a")
            self.assertEqual(one.request("POST", "/v1/kv/flush", Authorization="Bearer a")[0], 200)
        with Server("-m", MODEL, "--kv-remote", redis.url, *self.PATIENT, *keys) as two:
            self.assertEqual(self.chat(two, Authorization="Bearer b")[1], 0)
            self.assertGreater(self.chat(two, Authorization="Bearer a")[1], 40)
        with Server("-m", MODEL, "--kv-remote", redis.url, *self.PATIENT, "--kv-type", "q8") as three:
            self.assertEqual(self.chat(three)[1], 0)

    def test_the_directory_comes_first_and_both_get_what_is_new(self):
        redis = self.redis()
        arguments = ("-m", MODEL, "--kv-remote", redis.url, *self.PATIENT, "--kv-dir", self.folder / "kv")
        with Server(*arguments, "--kv-save-after", "10ms") as one:
            first, _ = self.chat(one)
            until(lambda: self.metric(one, "kvern_tier_saves_total", ['tier="remote"', 'result="saved"']) > 0)
            self.assertEqual(one.request("POST", "/v1/kv/flush")[0], 200)
        self.assertGreater(redis.keys(), 0)
        with Server(*arguments) as two:
            again, cached = self.chat(two)
            self.assertEqual(again, first)
            self.assertGreater(cached, 40)
            self.assertEqual(self.metric(two, "kvern_tier_restores_total", ['tier="disk"']), 1)

    def test_a_server_that_is_not_there_costs_nothing(self):
        with Server("-m", MODEL, "--kv-remote", f"unix://{self.folder}/nobody", "--kv-dir", self.folder / "kv") as server:
            self.assertEqual(self.chat(server)[1], 0)
            self.assertGreater(self.chat(server)[1], 40)
            status, data = server.request("POST", "/v1/kv/flush")
            self.assertEqual((status, json.loads(data)["durable"]), (200, True), data)

    def test_a_server_that_goes_is_a_miss(self):
        redis = self.redis()
        with Server("-m", MODEL, "--kv-remote", redis.url, *self.PATIENT) as server:
            first, _ = self.chat(server)
            redis.stop()
            for _ in range(3):
                self.assertEqual(self.chat(server)[0], first)

    def test_settings(self):
        self.fails(["-m", MODEL, "--check", "--kv-remote", "http://x"], 2, "scheme is unknown", "redis://")
        self.fails(["-m", MODEL, "--kv-remote-ca", "x"], 2, "--kv-remote")
        self.fails(["-m", MODEL, "--check", "--kv-remote", "rediss://x", "--kv-remote-ca", str(self.folder / "none")], 2, "none")
        self.settings("-m", MODEL, "--kv-remote", "redis://me:secret@127.0.0.1:1/2")
        self.assertNotIn("secret", self.text)


class Balancing(RemoteTest):
    def setUp(self):
        super().setUp()
        if shutil.which("haproxy") is None:
            self.skipTest("haproxy is not installed (tools/setup.sh test)")

    def balancer(self, servers):
        """packaging/haproxy.cfg with the servers' ports; its own port."""
        text = (ROOT / "packaging/haproxy.cfg").read_text()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        for old, new in (("8000", port), ("8081", servers[0].port), ("8082", servers[1].port)):
            self.assertEqual(text.count(f"127.0.0.1:{old}"), 1)
            text = text.replace(f"127.0.0.1:{old}", f"127.0.0.1:{new}")
        # A connection that is just being closed still counts as load; few as there are here, that would tip the scales.
        self.assertEqual(text.count("hash-balance-factor 150"), 1)
        config = self.file("haproxy.cfg", text.replace("hash-balance-factor 150", "hash-balance-factor 0"))
        checked = subprocess.run(["haproxy", "-c", "-f", config], capture_output=True, text=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertNotIn("WARNING", checked.stdout + checked.stderr)
        process = subprocess.Popen(["haproxy", "-db", "-f", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        until(lambda: takes_connections(socket.AF_INET, ("127.0.0.1", port)))
        return port

    def ask(self, port, **headers):
        """Which server answered."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        connection.request("POST", "/v1/completions", json.dumps({"prompt": "Once", "max_tokens": 1}),
                           {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        data = response.read()
        connection.close()
        self.assertEqual(response.status, 200, data)
        return json.loads(data)["model"]

    def test_requests_that_begin_alike_go_to_the_same_server(self):
        with Server("-m", MODEL, "--alias", "one") as one, Server("-m", MODEL, "--alias", "two") as two:
            port = self.balancer([one, two])
            chosen = {}
            for name in map(str, range(12)):
                chosen[name] = self.ask(port, X_Kvern_Prefix=name)
                self.assertEqual(self.ask(port, X_Kvern_Prefix=name, X_Conversation_Id="c" + name), chosen[name])
            self.assertEqual(set(chosen.values()), {"one", "two"})
            for header in ("X-Conversation-Id", "Authorization", "x-api-key"):
                self.assertEqual(len({self.ask(port, **{header: "a"}) for _ in range(3)}), 1)
            # Without a name they take turns.
            self.assertEqual({self.ask(port) for _ in range(4)}, {"one", "two"})
            # Events come one by one.
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            connection.request("POST", "/v1/completions", json.dumps(
                {"prompt": "Once", "max_tokens": 3, "stream": True, "ignore_eos": True}))
            self.assertTrue(connection.getresponse().readline().startswith(b"data: "))
            connection.close()
            # One goes: its prefixes move, the others stay.
            one.process.kill()
            one.wait()
            for name, server in chosen.items():
                self.assertEqual(self.ask(port, X_Kvern_Prefix=name), "two", server)


if __name__ == "__main__":
    kvern_process.binary = sys.argv.pop(1)
    unittest.main()
