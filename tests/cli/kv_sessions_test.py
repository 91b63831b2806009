"""Saved prefixes over HTTP: names, files, what others may see. kv_sessions_test.py KVERN [CLASS...]"""

import http.client
import json
import pathlib
import sys
import unittest

import kvern_process
from kvern_process import EXPORT, MODEL, kvern
from kv_dir_test import STORY
from serve_test import PATIENCE, Server, Test

MESSAGES = [{"role": "system", "content": "You tell stories to small children."}, {"role": "user", "content": STORY}]


class SessionTest(Test):
    def setUp(self):
        super().setUp()
        self.directory = self.folder / "kv"

    def serve(self, *arguments, directory=None):
        return Server("-m", MODEL, "--kv-dir", directory or self.directory, *arguments)

    def ask(self, server, method, path, body=None, status=200, **headers):
        got, data = server.request(method, path, body, **headers)
        self.assertEqual(got, status, data)
        return json.loads(data)

    def refused(self, server, method, path, body, status, *parts, **headers):
        message = json.dumps(self.ask(server, method, path, body, status, **headers)["error"])
        for part in parts:
            self.assertIn(part, message)

    def send(self, server, path, data, status=200, **headers):
        """A body that is no JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        connection.request("POST", path, data, headers)
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        self.assertEqual(response.status, status, answer)
        return json.loads(answer)

    def download(self, server, path, status=200, **headers):
        got, data = server.request("GET", path, **headers)
        self.assertEqual(got, status, data[:300])
        return data

    def cached(self, server, messages, **fields):
        answer = self.ask(server, "POST", "/v1/chat/completions", {"messages": messages, "max_tokens": 2, **fields})
        return answer["usage"]["prompt_tokens_details"]["cached_tokens"]


class Sessions(SessionTest):
    def test_a_conversation_gets_a_name_and_comes_back(self):
        with self.serve() as server:
            made = self.ask(server, "POST", "/v1/kv/sessions", {"name": "lily", "messages": MESSAGES})
            self.assertEqual((made["object"], made["name"], made["cached_tokens"]), ("kv.session", "lily", 0))
            self.assertEqual(made["computed_tokens"], made["tokens"])
            self.assertTrue(made["prefix"]["pinned"])
            self.assertGreaterEqual(made["prefix"]["usable_tokens"], made["tokens"])
            # It was there: nothing is computed.
            again = self.ask(server, "POST", "/v1/kv/sessions", {"name": "lily", "messages": MESSAGES})
            self.assertEqual((again["computed_tokens"], again["prefix"]["name"]), (0, made["prefix"]["name"]))
            server.process.kill()
            server.wait()
        with self.serve() as server:
            self.assertEqual([session["name"] for session in self.ask(server, "GET", "/v1/kv/sessions")["data"]], ["lily"])
            shown = self.ask(server, "GET", "/v1/kv/sessions/lily")
            self.assertEqual(len(shown["token_ids"]), made["tokens"])
            self.assertIn("little girl named Lily", shown["text"])
            restored = self.ask(server, "POST", "/v1/kv/sessions/lily/restore")
            self.assertEqual(restored["cached_tokens"], made["tokens"] - 1)
            # From memory, not from the directory.
            before = self.ask(server, "GET", "/v1/kv/stats")["tiers"][0]["restores"]
            self.assertGreaterEqual(self.cached(server, MESSAGES), made["tokens"] - 1)
            self.assertEqual(self.ask(server, "GET", "/v1/kv/stats")["tiers"][0]["restores"], before)

    def test_forks_share_what_they_have(self):
        with self.serve() as server:
            made = self.ask(server, "POST", "/v1/kv/sessions", {"name": "a", "prompt": STORY})
            fork = self.ask(server, "POST", "/v1/kv/sessions/a/fork", {"name": "b/ä"})
            self.assertEqual(fork["prefix"]["name"], made["prefix"]["name"])
            name = made["prefix"]["name"]
            self.ask(server, "DELETE", "/v1/kv/sessions/a")
            self.assertTrue(self.ask(server, "GET", f"/v1/kv/prefixes/{name}")["pinned"])
            self.assertEqual(self.ask(server, "DELETE", "/v1/kv/sessions/b%2F%C3%A4")["deleted"], True)
            self.assertFalse(self.ask(server, "GET", f"/v1/kv/prefixes/{name}")["pinned"])
            self.refused(server, "GET", "/v1/kv/sessions/a", None, 404, "no session of this name")

    def test_a_prefix_that_is_gone_is_computed_again(self):
        with self.serve() as server:
            made = self.ask(server, "POST", "/v1/kv/sessions", {"name": "a", "prompt": STORY})
            self.ask(server, "DELETE", f"/v1/kv/prefixes/{made['prefix']['name']}")
            self.assertIsNone(self.ask(server, "GET", "/v1/kv/sessions/a")["prefix"])
            self.refused(server, "POST", "/v1/kv/sessions/a/fork", {"name": "b"}, 404, "restore it first")
            self.refused(server, "GET", "/v1/kv/sessions/a/export", None, 404, "restore it first")
            self.ask(server, "POST", "/v1/kv/sessions/a/restore")
            token_ids = self.ask(server, "GET", "/v1/kv/sessions/a")["token_ids"]
            self.assertIsNotNone(self.ask(server, "POST", "/v1/kv/sessions", {"name": "a", "prompt": token_ids})["prefix"])

    def test_requests_that_are_wrong(self):
        with self.serve() as server:
            path = "/v1/kv/sessions"
            for body, *parts in (({"prompt": STORY}, "name"), ({"name": "a"}, "messages"), ({"name": "", "prompt": STORY}, "name"),
                                 ({"name": "a\nb", "prompt": STORY}, "name"), ({"name": "a", "prompt": "Once"}, "are not saved"),
                                 ({"name": "a", "prompt": STORY, "messages": MESSAGES}, "either"),
                                 ({"name": "a", "prompt": STORY, "temperature": 1}, "temperature"),
                                 ({"name": "a", "prompt": STORY * 60}, "maximum context length")):
                self.refused(server, "POST", path, body, 400, *parts)
            self.refused(server, "POST", path, {"name": "a", "prompt": STORY, "model": "other"}, 404, "model")
            self.refused(server, "POST", path + "/none/restore", None, 404, "no session")
            self.refused(server, "DELETE", path + "/none", None, 404, "no session")
            self.assertEqual(server.request("PUT", path)[0], 405)


class Prefixes(SessionTest):
    def test_are_listed_kept_and_removed(self):
        with self.serve() as server:
            self.cached(server, MESSAGES)
            self.ask(server, "POST", "/v1/kv/flush")
            prefixes = self.ask(server, "GET", "/v1/kv/prefixes")["data"]
            self.assertGreaterEqual(len(prefixes), 1)
            path = "/v1/kv/prefixes/" + prefixes[0]["name"][:16]
            self.assertTrue(self.ask(server, "POST", path, {"pinned": True})["pinned"])
            self.assertIsNotNone(self.ask(server, "POST", path, {"seconds_to_live": 60})["expires"])
            self.refused(server, "POST", path, {"seconds_to_live": -1}, 400, "seconds_to_live")
            self.refused(server, "POST", path, {"colour": 1}, 400, "colour")
            stats = self.ask(server, "GET", "/v1/kv/stats")
            self.assertEqual((stats["prefixes"], stats["pinned"]), (len(prefixes), 1))
            self.assertEqual(stats["tiers"][0]["name"], "disk")
            self.assertTrue(self.ask(server, "DELETE", path)["deleted"])
            self.refused(server, "GET", path, None, 404, "no such saved prefix")
            self.refused(server, "GET", "/v1/kv/prefixes/xyz", None, 400, "hexadecimal")

    def test_go_to_another_machine_as_a_file(self):
        other = self.folder / "other"
        with self.serve() as server:
            made = self.ask(server, "POST", "/v1/kv/sessions", {"name": "a", "messages": MESSAGES})
            data = self.download(server, "/v1/kv/sessions/a/export")
            self.assertEqual(data, self.download(server, f"/v1/kv/prefixes/{made['prefix']['name']}/export"))
        with self.serve(directory=other) as server:
            report = self.send(server, "/v1/kv/import?pinned=true", data)
            self.assertEqual((report["saved"], report["there"], report["names"]), (1, 0, [made["prefix"]["name"]]))
            self.assertEqual(self.send(server, "/v1/kv/import", data)["there"], 1)
            self.assertGreaterEqual(self.cached(server, MESSAGES), made["tokens"] - 1)
            self.send(server, "/v1/kv/import", data[:-10], status=400)
            self.send(server, "/v1/kv/import", data[:5000] + b"x" + data[5001:], status=400)
            self.assertIn("model", self.send(server, "/v1/kv/import", pathlib.Path(EXPORT).read_bytes(), status=400)["error"]["message"])
        # The same file for the command line, with the text of its tokens.
        path = self.folder / "a.kvx"
        path.write_bytes(data)
        third = self.folder / "third"
        self.assertEqual(kvern("kv", "import", third, path, "-m", MODEL).code, 0)
        shown = kvern("kv", "show", third, made["prefix"]["name"][:10], "-m", MODEL)
        self.assertEqual(shown.code, 0, shown.err)
        self.assertIn("little girl named Lily", shown.text)

    def test_nothing_of_a_request_is_passed_over(self):
        with self.serve() as server:
            name = self.ask(server, "POST", "/v1/kv/sessions", {"name": "a", "prompt": STORY})["prefix"]["name"]
            data = self.download(server, "/v1/kv/sessions/a/export")
            for method, path in (("GET", "/v1/kv/stats"), ("GET", "/v1/kv/prefixes"), ("GET", "/v1/kv/sessions"),
                                 ("GET", "/v1/kv/sessions/a"), ("POST", "/v1/kv/sessions/a/restore"), ("DELETE", "/v1/kv/sessions/a"),
                                 ("GET", "/v1/kv/sessions/a/export"), ("GET", "/v1/kv/prefixes/" + name),
                                 ("DELETE", "/v1/kv/prefixes/" + name), ("GET", f"/v1/kv/prefixes/{name}/export")):
                self.refused(server, method, path + "?limit=5", None, 400, '"param": "limit"', "no parameter")
                self.refused(server, method, path + "?cache_salt=&cache_salt=x", None, 400, '"param": "cache_salt"', "twice")
                self.refused(server, method, path, {"force": True}, 400, '"param": "force"', "no parameter")
            self.refused(server, "POST", "/v1/kv/prefixes/" + name + "?pinned=true", {}, 400, '"param": "pinned"')
            self.refused(server, "POST", "/v1/kv/sessions?name=b", {"name": "b", "prompt": STORY}, 400, '"param": "name"')
            self.refused(server, "POST", "/v1/kv/sessions/a/fork?x=1", {"name": "b"}, 400, '"param": "x"')
            self.assertIn("true or false", self.send(server, "/v1/kv/import?pinned=yes", data, status=400)["error"]["message"])
            self.assertEqual(self.send(server, "/v1/kv/import?pin=true", data, status=400)["error"]["param"], "pin")
            # All of it is as it was.
            self.assertEqual(self.ask(server, "POST", "/v1/kv/sessions/a/restore", {})["prefix"]["name"], name)

    def test_the_command_line_works_beside_a_server(self):
        with self.serve() as server:
            made = self.ask(server, "POST", "/v1/kv/sessions", {"name": "a", "messages": MESSAGES})
            name = made["prefix"]["name"]
            self.assertIn(name[:8], kvern("kv", "ls", self.directory).text)
            self.assertEqual(kvern("kv", "verify", self.directory).code, 0)
            self.assertEqual(kvern("kv", "gc", self.directory).code, 0)
            self.assertEqual(kvern("kv", "rm", self.directory, name).code, 0)
            self.assertIsNone(self.ask(server, "GET", "/v1/kv/sessions/a")["prefix"])

    def test_imports_have_a_limit_and_read_only_directories_take_none(self):
        with self.serve("--kv-max-import", "1KiB") as server:
            self.send(server, "/v1/kv/import", b"x" * 2000, status=413)
            self.ask(server, "POST", "/v1/kv/sessions", {"name": "a", "prompt": STORY})
        with self.serve("--kv-read-only") as server:
            self.assertEqual(len(self.ask(server, "GET", "/v1/kv/prefixes")["data"]), 1)
            self.refused(server, "POST", "/v1/kv/sessions", {"name": "b", "prompt": STORY}, 400, "reading only")


class Clients(SessionTest):
    KEYS = ("--api-key", "alice:a", "--api-key", "bob:b")
    ALICE = {"Authorization": "Bearer a"}
    BOB = {"Authorization": "Bearer b"}

    def test_see_only_their_own(self):
        with self.serve(*self.KEYS) as server:
            made = self.ask(server, "POST", "/v1/kv/sessions", {"name": "a", "prompt": STORY}, **self.ALICE)
            name = made["prefix"]["name"]
            for method, path in (("GET", "/v1/kv/sessions/a"), ("POST", "/v1/kv/sessions/a/restore"),
                                 ("DELETE", "/v1/kv/sessions/a"), ("GET", "/v1/kv/sessions/a/export"),
                                 ("GET", "/v1/kv/prefixes/" + name), ("DELETE", "/v1/kv/prefixes/" + name),
                                 ("GET", f"/v1/kv/prefixes/{name}/export")):
                self.assertEqual(server.request(method, path)[0], 401, path)
                self.assertEqual(server.request(method, path, **self.BOB)[0], 404, path)
            self.assertEqual(self.ask(server, "GET", "/v1/kv/sessions", **self.BOB)["data"], [])
            self.assertEqual(self.ask(server, "GET", "/v1/kv/prefixes", **self.BOB)["data"], [])
            self.assertEqual(self.ask(server, "GET", "/v1/kv/stats", **self.BOB)["prefixes"], 0)
            data = self.download(server, "/v1/kv/sessions/a/export", **self.ALICE)
            self.assertIn("client", self.send(server, "/v1/kv/import", data, status=400, **self.BOB)["error"]["message"])
            self.assertEqual(self.send(server, "/v1/kv/import", data, **self.ALICE)["there"], 1)

    def test_may_have_salts(self):
        with self.serve() as server:
            self.ask(server, "POST", "/v1/kv/sessions?cache_salt=x", {"name": "a", "messages": MESSAGES})
            self.refused(server, "GET", "/v1/kv/sessions/a", None, 404, "no session")
            self.ask(server, "GET", "/v1/kv/sessions/a?cache_salt=x")
            self.assertEqual(self.cached(server, MESSAGES), 0)
            self.assertGreater(self.cached(server, MESSAGES, cache_salt="x"), 40)


if __name__ == "__main__":
    kvern_process.binary = sys.argv.pop(1)
    unittest.main()
