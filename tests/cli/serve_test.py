"""kvern serve as a process: settings, signals, keys and logs. serve_test.py KVERN [CLASS...]"""

import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

import kvern_process
from kvern_process import MODEL, kvern

PATIENCE = 60


class Stream:
    """An answer that is being read."""

    def __init__(self, connection, response):
        self.connection, self.response = connection, response

    def read(self):
        return self.response.read().decode()

    def close(self):
        self.response.close()
        self.connection.close()


class Server:
    """A running server; its log is collected."""

    def __init__(self, *arguments, environment=None):
        self.process = subprocess.Popen(
            [kvern_process.binary, "serve", "--port", "0", "-t", "1", *map(str, arguments)], stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL, text=True, env={**os.environ, **(environment or {})})
        self.lines = []
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.port = int(re.search(r":(\d+)\b", self.wait_for("listening on").rsplit("://")[1])[1])
        self.wait_for("serving ")

    def _read(self):
        for line in self.process.stderr:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()

    def wait_for(self, text, after=0):
        """The first line with the text, from the line `after`."""
        def found():
            return [line for line in self.lines[after:] if text in line]
        with self.changed:
            self.changed.wait_for(lambda: found() or self.process.poll() is not None, PATIENCE)
        self.reader.join(0 if self.process.poll() is None else PATIENCE)
        if not found():
            raise AssertionError(f"no line with {text!r}: {self.lines}")
        return found()[0]

    def request(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return response.status, data

    def stream(self, tokens):
        """An open stream of a generation, behind its first event."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("POST", "/v1/completions", json.dumps(
            {"prompt": "Once", "max_tokens": tokens, "stream": True, "temperature": 0, "ignore_eos": True}))
        response = connection.getresponse()
        assert response.status == 200, response.read()
        response.readline()
        return Stream(connection, response)

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        code = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stderr.close()


class Test(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kvern-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_text(content, encoding="utf-8")
        return str(path)

    def fails(self, arguments, code, *parts, environment=None):
        result = kvern("serve", *arguments, env={**os.environ, **(environment or {})})
        self.assertEqual(result.code, code, result.err)
        for part in parts:
            self.assertIn(part, result.err)

    def settings(self, *arguments, environment=None):
        """What --check prints, by key: (value, origin)."""
        result = kvern("serve", "--check", "--port", "0", *arguments, env={**os.environ, **(environment or {})})
        self.assertEqual(result.code, 0, result.err)
        self.text = result.text
        return {match[1]: (match[2], match[3])
                for match in re.finditer(r"^([a-z][a-z0-9-]*) = (.*?)  # (.*)$", result.text, re.MULTILINE)}


class Settings(Test):
    def test_the_command_line_wins_over_the_environment_and_that_over_the_file(self):
        config = self.file("kvern.conf", f'# a server\nmodel = "{MODEL}"\nmax_queue = 5\nmax-rows = 6\nmax-body = 7KiB\n')
        settings = self.settings("--config", config, "--max-queue", "1",
                                 environment={"KVERN_MAX_QUEUE": "2", "KVERN_MAX_ROWS": "3"})
        self.assertEqual(settings["max-queue"], ('"1"', "flag"))
        self.assertEqual(settings["max-rows"], ('"3"', "KVERN_MAX_ROWS"))
        self.assertEqual(settings["max-body"], ('"7KiB"', f"{config}:5"))
        self.assertEqual(settings["model"], (f'"{MODEL}"', f"{config}:2"))
        self.assertEqual(settings["max-header"], ('"32KiB"', "default"))

    def test_the_file_may_be_named_by_the_environment(self):
        config = self.file("kvern.conf", f'model = "{MODEL}"\nhost = ["127.0.0.1", "::1"]\nopen-metrics = true\n')
        settings = self.settings(environment={"KVERN_CONFIG": config})
        self.assertEqual(settings["host"], ('["127.0.0.1", "::1"]', f"{config}:2"))
        self.assertEqual(settings["open-metrics"], ("true", f"{config}:3"))

    def test_what_check_prints_is_read_back(self):
        first = self.settings("-m", MODEL, "--max-rows", "9", "--timeout", "1.5m", "-a", "one", "-a", "two")
        again = self.file("again.conf",
                          "".join(line + "\n" for line in self.text.splitlines() if not line.startswith("port ")))
        second = self.settings("--config", again)
        self.assertEqual({key: value for key, (value, _) in first.items()},
                         {key: value for key, (value, _) in second.items()})

    def test_lists_in_the_environment_are_separated_by_commas(self):
        settings = self.settings("-m", MODEL, environment={"KVERN_ALIAS": "one,two"})
        self.assertEqual(settings["alias"], ('["one", "two"]', "KVERN_ALIAS"))

    def test_an_empty_variable_is_refused_and_not_taken_for_none(self):
        for name in ("KVERN_API_KEY", "KVERN_API_KEY_FILE", "KVERN_MAX_QUEUE", "KVERN_OPEN_METRICS", "KVERN_CONFIG"):
            with self.subTest(name):
                self.fails(("-m", MODEL), 2, name, "empty", environment={name: ""})
        self.fails(("-m", MODEL), 2, "KVERN_API_KEY", "empty", environment={"KVERN_API_KEY": ",,"})
        settings = self.settings("-m", MODEL, "--max-queue", "4", environment={"KVERN_MAX_QUEUE": ""})
        self.assertEqual(settings["max-queue"], ('"4"', "flag"))

    def test_settings_that_do_nothing_are_refused(self):
        self.fails(("-m", MODEL, "--no-journal"), 2, "--no-journal", "without --kv-dir")
        self.fails(("-m", MODEL, "--kv-save-after", "1s"), 2, "--kv-save-after", "--kv-dir or --kv-remote")
        self.fails(("-m", MODEL), 2, "KVERN_KV_REMOTE_TTL", "--kv-remote", environment={"KVERN_KV_REMOTE_TTL": "5s"})
        settings = self.settings("-m", MODEL, "--kv-dir", str(self.folder / "kv"), "--no-journal", "--kv-save-after", "1s")
        self.assertEqual(settings["no-journal"], ("true", "flag"))

    def test_keys_are_never_printed(self):
        self.settings("-m", MODEL, "--api-key", "alice:secret-1", environment={"KVERN_API_KEY_FILE": self.file("k", "b:x\n")})
        self.assertNotIn("secret-1", self.text)
        self.assertIn("# api-key: 1 given  # flag", self.text)

    def test_errors_name_their_place(self):
        def config(text):
            return ("--config", self.file("bad.conf", text))
        self.fails(config("max-queu = 5\n"), 2, "bad.conf:1", "no setting 'max-queu'")
        self.fails(config("\nmax-queue = many\n"), 2, "bad.conf:2", "max-queue")
        self.fails(config("max-queue = 0\n"), 2, "bad.conf:1", "max-queue")
        self.fails(config("max-body = 3 apples\n"), 2, "bad.conf:1")
        self.fails(config("port = [1, 2]\n"), 2, "bad.conf:1", "one value")
        self.fails(config("config = other\n"), 2, "bad.conf:1", "no setting 'config'")
        self.fails(config("[server]\n"), 2, "bad.conf:1", "no tables")
        self.fails(("--config", str(self.folder / "missing")), 2, "missing")
        self.fails(("-m", MODEL), 2, "KVERN_MAX_QUEUE", environment={"KVERN_MAX_QUEUE": "x"})
        self.fails(("-m", MODEL, "--max-body", "x"), 2, "--max-body")
        self.fails(("-m", MODEL, "--header-timeout", "0"), 2, "--header-timeout")
        for limit in "--max-body", "--max-header", "--max-queued-output":
            self.fails(("-m", MODEL, limit, "0"), 2, limit, "at least 4")
        self.fails(("-m", MODEL, "--port", "70000"), 2, "--port", "65535")
        self.fails((), 2, "--model")

    def test_check_opens_everything_that_is_named(self):
        self.settings("-m", MODEL)
        self.fails(("--check", "-m", self.file("m.gguf", "GGUF")), 2, "m.gguf")
        self.fails(("--check", "-m", MODEL, "--api-key-file", self.file("keys", "alice:\n")), 2, "keys:1")
        self.fails(("--check", "-m", MODEL, "--tls-cert", self.file("c", "x")), 2, "--tls-cert")
        self.fails(("--check", "-m", MODEL, "--tls-cert", self.file("c", "x"), "--tls-key", self.file("k", "x")), 2, "TLS")
        self.fails(("--check", "-m", MODEL, "--host", "nowhere.invalid"), 2, "nowhere.invalid")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.fails(("--check", "-m", MODEL, "--port", port), 1, f"127.0.0.1:{port}", "choose another --port")


class Serving(Test):
    def test_serves_and_names_itself_by_the_file(self):
        with Server("-m", MODEL) as server:
            self.assertEqual(server.request("GET", "/health"), (200, b'{"status":"ok"}'))
            models = json.loads(server.request("GET", "/v1/models")[1])
            self.assertEqual([model["id"] for model in models["data"]], ["kvern-tiny-8m-q8_0"])
            version = json.loads(server.request("GET", "/version")[1])
            self.assertIn("kvern ", version["version"])
            self.assertEqual(server.request("GET", "/nothing")[0], 404)

    def test_a_model_that_cannot_be_loaded_ends_it(self):
        self.fails(("-m", str(self.folder / "none.gguf"), "--port", "0"), 2, "none.gguf")

    def test_logs_a_line_for_each_request_without_what_users_write(self):
        with Server("-m", MODEL, "--log-format", "json", "--api-key", "alice:key1") as server:
            server.request("POST", "/v1/completions", {"prompt": "my secret wish", "max_tokens": 3, "temperature": 0},
                           authorization="Bearer key1", x_request_id="my-id")
            line = json.loads(server.wait_for('"my-id"'))
            self.assertEqual((line["client"], line["route"], line["status"]), ("alice", "/v1/completions", 200))
            self.assertEqual(line["generated_tokens"], 3)
            self.assertGreater(line["ms"], 0)
            for text in server.lines:
                self.assertTrue(json.loads(text)["time"].endswith("Z"))
                self.assertNotIn("secret", text)
                self.assertNotIn("key1", text)

    def test_keys_rotate_without_a_restart(self):
        keys = self.file("keys", "alice:first\n")
        with Server("-m", MODEL, "--api-key-file", keys) as server:
            self.assertEqual(server.request("GET", "/v1/models")[0], 401)
            self.assertEqual(server.request("GET", "/v1/models", authorization="Bearer first")[0], 200)
            self.file("keys", "alice:second\n")
            server.signal(signal.SIGHUP)
            server.wait_for("1 API key counts now")
            self.assertEqual(server.request("GET", "/v1/models", authorization="Bearer first")[0], 401)
            self.assertEqual(server.request("GET", "/v1/models", x_api_key="second")[0], 200)
            self.file("keys", "# empty\n")
            server.wait_for("the old API keys stay")  # noticed without a signal, too
            self.assertEqual(server.request("GET", "/v1/models", authorization="Bearer second")[0], 200)

    def test_tls(self):
        if shutil.which("openssl") is None:
            self.skipTest("no openssl to make a certificate")
        cert, key = str(self.folder / "cert.pem"), str(self.folder / "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                        "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
                       check=True, capture_output=True)
        with Server("-m", MODEL, "--tls-cert", cert, "--tls-key", key) as server:
            connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=PATIENCE,
                                                     context=ssl.create_default_context(cafile=cert))
            connection.request("GET", "/health")
            self.assertEqual(connection.getresponse().status, 200)
            connection.close()

    def test_tells_the_service_manager(self):
        path = str(self.folder / "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(PATIENCE)
            with Server("-m", MODEL, environment={"NOTIFY_SOCKET": path}) as server:
                self.assertEqual(manager.recv(100), b"READY=1")
                self.assertEqual(manager.recv(100), b"WATCHDOG=1")
                server.signal(signal.SIGTERM)
                while (said := manager.recv(100)) == b"WATCHDOG=1":
                    pass
                self.assertEqual(said, b"STOPPING=1")


    def test_warns_of_a_budget_in_which_no_whole_context_fits(self):
        with Server("-m", MODEL, "--ctx", "1024", "--kv-budget", "1MiB") as server:
            line = server.wait_for("more than --kv-budget")
            self.assertIn("one row of the whole context (1024 tokens)", line)
            most = int(re.search(r"of more than (\d+) tokens", line)[1])
            for tokens, status in (most - 10, 200), (most + 20, 400):
                got, body = server.request("POST", "/v1/completions", {"prompt": [1] * tokens, "max_tokens": 1})
                self.assertEqual(got, status, body)
        with Server("-m", MODEL, "--ctx", "1024") as server:
            self.assertFalse([line for line in server.lines if "warning" in line])


    def test_warns_of_a_context_beyond_that_of_the_model(self):
        with Server("-m", MODEL, "--ctx", "5000") as server:
            server.wait_for("--ctx 5000 is more than the 1024 tokens")
        self.assertIn("--ctx 5000", kvern("serve", "--check", "-m", MODEL, "--ctx", "5000", "--port", "0").err)


class Stopping(Test):
    def test_running_requests_end_and_then_the_server(self):
        with Server("-m", MODEL) as server:
            idle = socket.create_connection(("127.0.0.1", server.port))
            stream = server.stream(500)
            server.signal(signal.SIGTERM)
            server.wait_for("stopping")
            text = stream.read()
            self.assertTrue(text.endswith("data: [DONE]\n\n"), text[-300:])
            self.assertIn('"finish_reason":"length"', text)
            self.assertEqual(idle.recv(1), b"")
            idle.close()
            stream.close()
            self.assertEqual(server.wait(), 0)
            with self.assertRaises(OSError):
                socket.create_connection(("127.0.0.1", server.port))

    def test_behind_the_deadline_streams_end_with_an_error(self):
        with Server("-m", MODEL, "--drain-timeout", "0", "--ctx", "1000000") as server:
            stream = server.stream(900_000)
            server.signal(signal.SIGINT)
            text = stream.read()
            self.assertIn("shutting down", text[-2000:])
            stream.close()
            self.assertEqual(server.wait(), 0)

    def test_a_second_signal_ends_it_at_once(self):
        with Server("-m", MODEL, "--drain-timeout", "1h", "--ctx", "1000000") as server:
            stream = server.stream(900_000)
            server.signal(signal.SIGTERM)
            server.wait_for("stopping")
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 0)
            server.wait_for("at once")
            stream.close()

    def test_a_model_file_that_is_overwritten_ends_everything_with_the_reason(self):
        model = self.folder / "model.gguf"
        shutil.copy(MODEL, model)
        with Server("-m", model, "--ctx", "1000000") as server:
            streams = [server.stream(900_000) for _ in range(3)]
            # Weights that are no numbers: the step that runs now reads them.
            with open(model, "r+b") as file:
                file.seek(model.stat().st_size // 4)
                file.write(b"\xff" * (model.stat().st_size // 2))
            for stream in streams:
                self.assertIn('"code":"model_changed"', stream.read()[-1000:])
                stream.close()
            status, body = server.request("POST", "/v1/completions", {"prompt": "A", "max_tokens": 1})
            self.assertEqual((status, json.loads(body)["error"]["code"]), (503, "model_changed"))
            self.assertEqual(server.request("GET", "/health")[0], 503)

    def test_a_client_that_goes_frees_its_row(self):
        with Server("-m", MODEL, "--ctx", "1000000", "--max-rows", "1") as server:
            stream = server.stream(900_000)
            stream.close()
            server.wait_for("whole=false")
            # The only row is free again.
            self.assertEqual(server.request("POST", "/v1/completions", {"prompt": "A", "max_tokens": 1})[0], 200)


if __name__ == "__main__":
    kvern_process.binary = sys.argv.pop(1)
    unittest.main()
