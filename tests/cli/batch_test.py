"""kvern batch as a process: batch_test.py KVERN [CLASS...]"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import kvern_process
from kvern_process import MODEL, Terminal, kvern


def chat(custom_id, question="Who are you?", tokens=6, **more):
    body = {"model": "tiny", "messages": [{"role": "user", "content": question}], "max_tokens": tokens, "temperature": 0,
            **more}
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body})


class Batch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kvern-test-")
        self.addCleanup(folder.cleanup)
        self.input = pathlib.Path(folder.name, "in.jsonl")
        self.output = pathlib.Path(folder.name, "out.jsonl")

    def arguments(self, *more):
        return ["batch", self.input, "-o", self.output, "-m", MODEL, "-a", "tiny", "-t", "1", *more]

    def run_batch(self, lines, code=0, more=()):
        self.input.write_text("\n".join(lines) + "\n", encoding="utf-8")
        result = kvern(*self.arguments(*more))
        self.assertEqual(result.code, code, result.err)
        self.assertEqual(result.out, b"")
        return result

    def results(self):
        lines = self.output.read_text(encoding="utf-8").splitlines()
        results = {result["custom_id"]: result for result in map(json.loads, lines)}
        self.assertEqual(len(results), len(lines), "one result for each request")
        return results

    def test_each_request_gets_a_result(self):
        text = {"custom_id": "text", "method": "POST", "url": "/v1/completions",
                "body": {"model": "tiny", "prompt": "One day", "max_tokens": 4}}
        schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"enum": [12, 34]}}}
        result = self.run_batch([chat("chat"), json.dumps(text), "", chat("json", response_format=schema)])
        self.assertIn("3 requests answered, 0 of them with an error", result.err)
        results = self.results()
        self.assertEqual(sorted(results), ["chat", "json", "text"])
        for result in results.values():
            self.assertIsNone(result["error"])
            self.assertEqual(result["response"]["status_code"], 200)
        chat_body = results["chat"]["response"]["body"]
        self.assertEqual(chat_body["object"], "chat.completion")
        self.assertEqual(chat_body["usage"]["completion_tokens"], 6)
        self.assertEqual(results["text"]["response"]["body"]["object"], "text_completion")
        self.assertIn(json.loads(results["json"]["response"]["body"]["choices"][0]["message"]["content"]), [12, 34])

    def test_rows_do_not_show_in_answers(self):
        lines = [chat(f"r{i}", f"What is number {i}?") for i in range(10)]
        texts = []
        for rows in (1, 10):
            self.output.unlink(missing_ok=True)
            self.run_batch(lines, more=("--max-rows", rows))
            texts.append({name: result["response"]["body"]["choices"][0]["message"]["content"]
                          for name, result in self.results().items()})
        self.assertEqual(texts[0], texts[1])

    def test_bad_lines_are_named_and_the_others_done(self):
        other = chat("other").replace("tiny", "gpt-9")
        result = self.run_batch(["not json", chat("a"), chat("a"), '{"custom_id": "b"}', other, chat("c")], code=1)
        for line, part in ((1, "syntax"), (3, "before"), (4, "method")):
            self.assertRegex(result.err, rf"in\.jsonl:{line}: .*{part}")
        self.assertIn("3 lines could not be used", result.err)
        results = self.results()
        self.assertEqual(sorted(results), ["a", "c", "other"])
        self.assertEqual(results["other"]["response"]["status_code"], 404)

    def test_results_that_are_there_are_kept(self):
        lines = [chat(f"r{i}") for i in range(4)]
        self.run_batch(lines)
        whole = self.output.read_bytes()
        kept = whole.splitlines(keepends=True)[:2]
        self.output.write_bytes(b"".join(kept) + whole.splitlines()[2][:50])
        result = self.run_batch(lines)
        self.assertIn("cut off", result.err)
        self.assertIn("2 had results already", result.err)
        self.assertTrue(self.output.read_bytes().startswith(b"".join(kept)))
        self.assertEqual(sorted(self.results()), ["r0", "r1", "r2", "r3"])
        done = self.output.read_bytes()
        self.assertIn("0 requests answered", self.run_batch(lines).err)
        self.assertEqual(self.output.read_bytes(), done)

    def test_an_interrupt_keeps_what_is_done(self):
        lines = [chat(f"r{i}", tokens=4 if i == 0 else 400) for i in range(12)]
        self.input.write_text("\n".join(lines), encoding="utf-8")
        process = subprocess.Popen([kvern_process.binary, *map(str, self.arguments("--max-rows", 2))],
                                   stderr=subprocess.PIPE)
        while not (self.output.exists() and self.output.stat().st_size) and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn(b"interrupted", err)
        before = self.results()
        self.assertIn("r0", before)
        self.assertLess(len(before), 12)
        self.assertIn(f"{len(before)} had results already", self.run_batch(lines).err)
        after = self.results()
        self.assertEqual(len(after), 12)
        for name, result in before.items():
            self.assertEqual(after[name], result)

    def test_a_terminal_sees_how_far_it_is(self):
        self.input.write_text("\n".join(chat(f"r{i}") for i in range(3)), encoding="utf-8")
        terminal = Terminal(*self.arguments())
        terminal.read_until(b" / 3 requests")
        terminal.read_until(b"3 requests answered")
        self.assertEqual(terminal.close(), 0)

    def test_files_are_looked_at_before_the_model(self):
        def fails(*parts, model="no-such-model.gguf"):
            result = kvern("batch", self.input, "-o", self.output, "-m", model)
            self.assertEqual(result.code, 2, result.err)
            for part in parts:
                self.assertIn(part, result.err)

        fails("in.jsonl")
        self.input.write_text(chat("a"), encoding="utf-8")
        self.output.write_text("Dear diary\n", encoding="utf-8")
        fails("out.jsonl", "line 1")
        self.assertEqual(self.output.read_text(encoding="utf-8"), "Dear diary\n")
        self.output.unlink()
        fails("no-such-model.gguf")
        result = kvern("batch", self.input, "-o", self.input, "-m", MODEL)
        self.assertEqual(result.code, 2, result.err)


def main():
    kvern_process.binary = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)


if __name__ == "__main__":
    main()
