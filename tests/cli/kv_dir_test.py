"""kvern serve --kv-dir as a process: what is saved outlives it. kv_dir_test.py KVERN [CLASS...]"""

import json
import os
import re
import shutil
import signal
import sys
import unittest

import kvern_process
from kvern_process import MODEL, kvern
from serve_test import Server, Test

STORY = ("Once upon a time there was a little girl named Lily who lived in a small house near the big forest. "
         "Every day she walked to the river with her dog and looked at the fish. One day she found a red ball.")


class Saved(Test):
    def setUp(self):
        super().setUp()
        self.directory = str(self.folder / "kv")

    def serve(self, *arguments):
        return Server("-m", MODEL, "--kv-dir", self.directory, *arguments)

    def chat(self, server, messages, **fields):
        """(text, cached tokens)"""
        status, data = server.request("POST", "/v1/chat/completions", {
            "messages": messages, "max_tokens": 24, "temperature": 0, "ignore_eos": True, **fields})
        self.assertEqual(status, 200, data)
        answer = json.loads(data)
        return (answer["choices"][0]["message"]["content"],
                answer["usage"]["prompt_tokens_details"]["cached_tokens"])

    def metric(self, server, name):
        status, data = server.request("GET", "/metrics")
        self.assertEqual(status, 200)
        return float(re.search(rf"^{name}(?:{{[^}}]*}})? (\S+)$", data.decode(), re.MULTILINE)[1])


class Restarts(Saved):
    FIRST = [{"role": "user", "content": STORY}]

    def conversation(self, answer):
        return [*self.FIRST, {"role": "assistant", "content": answer}, {"role": "user", "content": "What then?"}]

    def test_a_conversation_goes_on_after_a_stop(self):
        with self.serve() as server:
            first, cached = self.chat(server, self.FIRST)
            self.assertEqual(cached, 0)
            second, _ = self.chat(server, self.conversation(first))
            self.assertIn("0 entries", server.wait_for("saved prefixes in"))
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 0)
            self.assertRegex(server.wait_for("prefixes saved"), r"\b[1-9][0-9]* prefixes saved")
        with self.serve() as server:
            self.assertNotIn(" 0 entries", server.wait_for("saved prefixes in"))
            again, cached = self.chat(server, self.conversation(first))
            self.assertEqual(again, second)
            self.assertGreater(cached, 60)
            self.assertEqual(self.metric(server, "kvern_tier_restores_total"), 1)
            self.assertGreater(self.metric(server, "kvern_tier_restored_tokens_total"), 60)

    def test_what_was_flushed_outlives_a_kill(self):
        with self.serve("--kv-save-after", "1h") as server:
            first, _ = self.chat(server, self.FIRST)
            status, data = server.request("POST", "/v1/kv/flush")
            self.assertEqual(status, 200, data)
            report = json.loads(data)
            self.assertEqual((report["durable"], report["failed"], report["dropped"], report["left"]), (True, 0, 0, 0))
            self.assertGreaterEqual(report["saved"], 1)
            server.signal(signal.SIGKILL)
            server.wait()
        with self.serve() as server:
            again, cached = self.chat(server, self.FIRST)
            self.assertEqual(again, first)
            self.assertGreater(cached, 40)

    def test_another_cache_finds_nothing_and_leaves_what_is_there(self):
        with self.serve() as server:
            first, _ = self.chat(server, self.FIRST)
            server.signal(signal.SIGTERM)
            server.wait()
        with self.serve("--kv-type", "q8") as server:
            self.assertEqual(self.chat(server, self.FIRST)[1], 0)
            server.signal(signal.SIGTERM)
            server.wait()
        for arguments in ([], ["--kv-read-only"]):
            with self.serve(*arguments) as server:
                self.assertEqual(self.chat(server, self.FIRST)[0], first)
                self.assertGreater(self.chat(server, self.FIRST)[1], 40)
                server.signal(signal.SIGTERM)
                server.wait()

    def test_a_model_that_is_written_to_is_served_no_more(self):
        model = self.folder / "model.gguf"
        shutil.copyfile(MODEL, model)
        with Server("-m", model, "--kv-dir", self.directory, "--alias", "m", "--kv-save-after", "1h") as server:
            self.chat(server, self.FIRST)
            self.assertEqual(server.request("GET", "/health")[0], 200)
            with open(model, "r+b") as file:
                file.seek(-100, os.SEEK_END)
                file.write(b"other weights")
            for method, path in (("GET", "/health"), ("POST", "/v1/chat/completions"), ("POST", "/v1/kv/flush")):
                status, data = server.request(method, path)
                self.assertEqual(status, 503, path)
                self.assertIn("model.gguf: the file changed while in use", json.loads(data)["error"]["message"])
            server.signal(signal.SIGTERM)
            server.wait()
        self.assertEqual(os.listdir(self.directory + "/manifests"), [])

    def test_a_conversation_at_the_terminal_is_saved(self):
        flags = ("run", MODEL, "--kv-dir", self.directory, "--temp", 0, "-n", 12)
        first = kvern(*flags, stdin=STORY.encode() + b"\n")
        second = kvern(*flags, stdin=STORY.encode() + b"\n")
        self.assertEqual((first.code, second.code), (0, 0), first.err + second.err)
        self.assertEqual(first.text, second.text)
        entries = kvern("kv", "ls", self.directory, "--json")
        self.assertEqual(entries.code, 0, entries.err)
        self.assertEqual(len(entries.json["entries"]), 1, entries.text)

    def test_a_conversation_that_is_too_short_to_be_saved_is_said(self):
        flags = ("run", MODEL, "--kv-dir", self.directory, "--temp", 0, "-n", 2)
        short = kvern(*flags, stdin=b"Hi\n")
        self.assertEqual(short.code, 0, short.err)
        self.assertRegex(short.err, r"The conversation is not saved: it has \d+ tokens, and those of less than 32 are not")
        self.assertEqual(kvern("kv", "ls", self.directory).text, "0 prefixes, 0 B\n")
        self.assertNotIn("not saved", kvern(*flags, stdin=STORY.encode() + b"\n").err)
        self.assertIn("1 prefix, ", kvern("kv", "ls", self.directory).text)
        self.assertEqual(kvern(*flags, stdin=b"").err, "")

    def test_keys_do_not_share(self):
        keys = ("--api-key", "alice:a", "--api-key", "bob:b")
        asking = {"alice": {"Authorization": "Bearer a"}, "bob": {"Authorization": "Bearer b"}}

        def cached(server, name):
            status, data = server.request("POST", "/v1/chat/completions",
                                          {"messages": self.FIRST, "max_tokens": 2}, **asking[name])
            self.assertEqual(status, 200, data)
            return json.loads(data)["usage"]["prompt_tokens_details"]["cached_tokens"]
        with self.serve(*keys) as server:
            self.assertEqual(cached(server, "alice"), 0)
            server.signal(signal.SIGTERM)
            server.wait()
        with self.serve(*keys) as server:
            self.assertEqual(cached(server, "bob"), 0)
            self.assertGreater(cached(server, "alice"), 40)
            self.assertEqual(server.request("POST", "/v1/kv/flush")[0], 401)


class Memory(Saved):
    """That the gauges name what a process takes: what it grows by under load is what they say."""

    def sizes(self, server):
        """(resident bytes, bytes of keys and values by kind)"""
        text = server.request("GET", "/metrics")[1].decode()
        return (float(re.search(r"^process_resident_memory_bytes\{[^}]*\} (\S+)$", text, re.MULTILINE)[1]),
                {kind: float(value) for kind, value in re.findall(r'^kvern_kv_bytes\{[^}]*kind="(\w+)"\} (\S+)$', text, re.MULTILINE)})

    def load(self, server, prompts):
        for number in prompts:
            prompt = [(number * 7919 + i * i) % 1900 + 10 for i in range(200)]
            status, data = server.request("POST", "/v1/completions", {"prompt": prompt, "max_tokens": 2, "temperature": 0})
            self.assertEqual(status, 200, data)
        self.assertEqual(server.request("POST", "/v1/kv/flush")[0], 200)

    def test_b58_the_gauges_add_up_to_what_is_resident(self):
        with self.serve("--kv-budget", "1GiB", "--max-rows", "4", "--kv-save-after", "100ms") as server:
            self.load(server, range(20))
            before, kinds_before = self.sizes(server)
            self.load(server, range(20, 90))
            after, kinds = self.sizes(server)
            gauges = sum(kinds.values()) - sum(kinds_before.values())
            told = f"resident {before:.0f}, then {after:.0f}; {kinds_before}, then {kinds}"
            self.assertGreater(gauges, 40 * 2**20, told)
            self.assertLess(abs(after - before - gauges), 0.05 * gauges + 3 * 2**20, told)
            # Besides keys and values there are the mapped model, the program and its stacks.
            self.assertLess(after - sum(kinds.values()) - os.path.getsize(MODEL), 40 * 2**20, told)


class Settings(Saved):
    def test_a_directory_that_cannot_be_is_an_error(self):
        self.fails(["-m", MODEL, "--check", "--kv-dir", str(self.folder / "no/such")], 2, "saved prefixes cannot", "no/such")
        file = self.file("file", "text")
        self.fails(["-m", MODEL, "--check", "--kv-dir", file], 2, "saved prefixes cannot", file)
        result = kvern("serve", "-m", MODEL, "--port", "0", "--kv-dir", file)
        self.assertEqual(result.code, 2)
        self.assertNotIn("listening", result.err, "nobody was to hear of it")
        self.fails(["-m", MODEL, "--kv-read-only"], 2, "--kv-dir")
        self.fails(["-m", MODEL, "--kv-dir", self.directory, "--kv-dir-size", "many"], 2, "--kv-dir-size")

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_one_that_may_only_be_read_says_how(self):
        os.mkdir(self.directory, 0o500)
        self.fails(["-m", MODEL, "--check", "--kv-dir", self.directory], 1, "--kv-read-only")

    def test_another_servers_journal_is_an_error_before_anybody_hears(self):
        with Server("-m", MODEL, "--kv-dir", self.directory):
            result = kvern("serve", "-m", MODEL, "--port", "0", "--kv-dir", self.directory)
            self.assertEqual(result.code, 1, result.err)
            self.assertIn("--no-journal", result.err)
            self.assertNotIn("listening", result.err)

    def test_a_check_shows_them(self):
        settings = self.settings("-m", MODEL, "--kv-dir", self.directory, environment={"KVERN_KV_DIR_SIZE": "3GiB"})
        self.assertEqual(settings["kv-dir"], (f'"{self.directory}"', "flag"))
        self.assertEqual(settings["kv-dir-size"], ('"3GiB"', "KVERN_KV_DIR_SIZE"))
        self.assertEqual(settings["kv-flush-timeout"][1], "default")

    def test_without_a_directory_there_is_nothing_to_flush_to(self):
        with Server("-m", MODEL) as server:
            status, data = server.request("POST", "/v1/kv/flush")
            self.assertEqual(status, 501, data)
            self.assertEqual(json.loads(data)["error"]["code"], "no_kv_directory")


if __name__ == "__main__":
    kvern_process.binary = sys.argv.pop(1)
    unittest.main()
