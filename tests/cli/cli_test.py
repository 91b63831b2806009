"""The command line on the bundled model: cli_test.py KVERN [CLASS...]"""

import json
import math
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import kvern_process
from kvern_process import BARE, FOLDER, GOLDENS, MODEL, PROMPT, Terminal, generate, kvern, read_npy

TARGETS = ("avx2", "avx512", "avx512-vnni", "avx512-amx")


def machine_targets():
    """Those that this machine runs; the first line of --version that lists them names what was compiled."""
    ran = [target for target in TARGETS
           if generate("--ids", "1", "-n", "1", "--cpu-target", target).code == 0]
    assert ran, "no CPU target runs"
    return ran


class Test(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kvern-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content=""):
        path = self.folder / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content, encoding="utf-8")
        return str(path)

    def ok(self, result):
        self.assertEqual(result.code, 0, result.err)
        return result

    def fails(self, result, code, *parts):
        self.assertEqual(result.code, code, f"{result.out!r} {result.err}")
        for part in parts:
            self.assertIn(part, result.err)
        return result


class Generate(Test):
    def greedy(self, *arguments, **options):
        return self.ok(generate("--temp", 0, "--json", *arguments, **options)).json

    def test_text_goes_to_stdout_and_speeds_to_stderr(self):
        result = self.ok(generate("-p", PROMPT, "-n", 8, "--temp", 0))
        self.assertEqual(result.text, self.greedy("-p", PROMPT, "-n", 8)["text"] + "\n")
        self.assertIn("generated 8 tokens", result.err)

    def test_text_streams(self):
        # The first piece arrives while there is still much to do.
        process = subprocess.Popen([kvern_process.binary, "generate", "-m", MODEL, "-t", "1", "-p", "A", "-n", "900",
                                    "--ignore-eos"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        first = os.read(process.stdout.fileno(), 65536)
        self.assertTrue(first)
        self.assertIsNone(process.poll())
        rest = process.stdout.read()
        self.assertGreater(len(rest), len(first))
        process.stdout.close()
        self.assertEqual(process.wait(), 0)

    def test_json_has_the_documented_fields(self):
        answer = self.greedy("-p", PROMPT, "-n", 5)
        self.assertEqual(set(answer), {"text", "ids", "prompt_ids", "finish_reason", "timings"})
        self.assertEqual(set(answer["timings"]), {"load_ms", "prefill_ms", "decode_ms", "prompt_tokens", "new_tokens"})
        self.assertEqual(len(answer["ids"]), 5)
        self.assertEqual(answer["finish_reason"], "length")
        self.assertEqual(answer["timings"]["prompt_tokens"], len(answer["prompt_ids"]))
        self.assertEqual(answer["timings"]["new_tokens"], 5)

    def test_logprobs_and_hashes_are_added_on_request(self):
        answer = self.greedy("-p", PROMPT, "-n", 3, "--logprobs", 4, "--logit-hashes")
        self.assertEqual(set(answer), {"text", "ids", "prompt_ids", "finish_reason", "timings", "logprobs", "logit_hashes"})
        self.assertEqual([len(answer[key]) for key in ("logprobs", "logit_hashes")], [3, 3])
        for position, token in zip(answer["logprobs"], answer["ids"]):
            self.assertEqual(position["id"], token)
            self.assertEqual(len(position["top"]), 4)
            self.assertEqual(position["top"][0]["id"], token)  # greedy
            self.assertTrue(-50 < position["logprob"] <= 0)
        for value in answer["logit_hashes"]:
            self.assertRegex(value, "^[0-9a-f]{16}$")
        none = self.greedy("-p", PROMPT, "-n", 1, "--logprobs", 0)
        self.assertEqual(none["logprobs"][0]["top"], [])

    def test_a_prompt_comes_from_an_option_a_file_or_ids(self):
        expected = self.greedy("-p", PROMPT, "-n", 6)
        ids = ",".join(map(str, expected["prompt_ids"]))
        for arguments in (("-f", self.file("prompt.txt", PROMPT)), ("--ids", ids), ("--ids", self.file("ids", ids)),
                          ("--ids", self.file("ids2", "[" + ids.replace(",", ", ") + "]\n"))):
            self.assertEqual(self.greedy(*arguments, "-n", 6)["ids"], expected["ids"], arguments)

    def test_ids_are_greedy_unless_a_temperature_is_given(self):
        ids = "41,1174,755"
        one = self.ok(generate("--ids", ids, "-n", 12, "--json", "--seed", 1)).json["ids"]
        two = self.ok(generate("--ids", ids, "-n", 12, "--json", "--seed", 2)).json["ids"]
        self.assertEqual(one, two)
        hot = self.ok(generate("--ids", ids, "-n", 12, "--json", "--seed", 2, "--temp", 1.5)).json["ids"]
        self.assertNotEqual(one, hot)

    def test_no_new_tokens(self):
        answer = self.greedy("-p", PROMPT, "-n", 0)
        self.assertEqual((answer["ids"], answer["text"], answer["finish_reason"]), ([], "", "length"))

    def test_stop_strings_cut_the_text(self):
        whole = self.greedy("-p", PROMPT, "-n", 30)["text"]
        stop = whole[12:15]
        answer = self.greedy("-p", PROMPT, "-n", 30, "--stop", "not there", "--stop", stop)
        self.assertEqual(answer["text"], whole[:whole.index(stop)])
        self.assertEqual(answer["finish_reason"], "stop")

    def test_end_tokens_end_the_text_unless_ignored(self):
        bias = ("-l", "2+1000")
        answer = self.greedy("-p", PROMPT, "-n", 4, *bias)
        self.assertEqual((answer["ids"], answer["finish_reason"]), ([2], "stop"))
        answer = self.greedy("-p", PROMPT, "-n", 4, *bias, "--ignore-eos")
        self.assertEqual((answer["ids"], answer["finish_reason"]), ([2, 2, 2, 2], "length"))

    def test_a_seed_repeats_a_text(self):
        def text(*arguments):
            return self.ok(generate("-p", PROMPT, "-n", 20, "--temp", 1, *arguments)).text
        self.assertEqual(text("--seed", 7), text("--seed", 7))
        self.assertNotEqual(text("--seed", 7), text("--seed", 8))
        self.assertEqual(text(), text("--seed", 0))  # the default that --help states

    def test_every_sampling_flag_acts(self):
        base = ("-p", "The dog and the dog and the dog", "-n", 24, "--seed", 3, "--temp", 1.2, "--top-k", 0, "--top-p", 1,
                "--min-p", 0)
        def ids(*arguments):
            return self.ok(generate("--json", *base, *arguments)).json["ids"]
        free = ids()
        for arguments in (("--temp", 0.1), ("--top-k", 1), ("--top-p", 0.1), ("--min-p", 0.9), ("--typical", 0.1),
                          ("--repeat-penalty", 3), ("--presence-penalty", 5), ("--frequency-penalty", 5),
                          ("--xtc-probability", 1, "--xtc-threshold", 0.02), ("--logit-bias", f"{free[0]}-inf")):
            changed = [a for a in base]
            for name in arguments[::2]:  # given once only
                if name in changed:
                    del changed[changed.index(name):changed.index(name) + 2]
            result = self.ok(generate("--json", *changed, *arguments)).json["ids"]
            self.assertNotEqual(result, free, arguments)
        off = ids("--repeat-penalty", 3, "--repeat-last-n", 0)
        self.assertEqual(off, free)

    def test_the_context_limits_prompt_and_generation(self):
        answer = self.greedy("--ids", "41,1174,755", "-n", 50, "--ctx", 8, "--ignore-eos")
        self.assertEqual((len(answer["ids"]), answer["finish_reason"]), (6, "length"))
        self.fails(generate("--ids", "41,1174,755", "--ctx", 2), 2, "3", "2")

    def test_a_model_without_a_tokenizer_takes_and_gives_ids(self):
        result = self.ok(generate("--ids", "1,2,3", "-n", 4, model=BARE))
        self.assertEqual(len(result.text.strip().split(",")), 4)
        self.fails(generate("-p", "text", model=BARE), 2, "no tokenizer", "--ids")


class Exactness(Test):
    def hashes(self, *arguments):
        answer = self.ok(generate("-f", self.prompt, "-n", 6, "--json", "--logit-hashes", "--temp", 0, *arguments)).json
        return answer["logit_hashes"]

    def setUp(self):
        super().setUp()
        self.prompt = self.file("prompt", "A dog lived on a farm near the hill. " * 8)

    def test_targets_threads_and_chunks_give_the_same_logits(self):
        expected = self.hashes()
        self.assertEqual(len(set(expected)), 6)
        for target in machine_targets():
            self.assertEqual(self.hashes("--cpu-target", target), expected, target)
        for threads in (1, 2, 3, 8):
            self.assertEqual(self.hashes("--threads", threads), expected, threads)
        for chunk in (1, 7, 64, 100000):
            self.assertEqual(self.hashes("--chunk", chunk), expected, chunk)

    def test_kv_types_round_differently(self):
        self.assertEqual(len({tuple(self.hashes("--kv-type", name)) for name in ("f32", "f16", "bf16")}), 3)

    def test_types_show_and_layouts_do_not(self):
        kinds = {}
        for name in ("f16", "fp8", "q8", "h4", "k=h8,v=q4"):
            flags = ("--kv-type", name)
            kinds[name] = tuple(self.hashes(*flags))
            for layout in (("slab",), ("ring",), ("padded",), ("paged", "--kv-page", 16)):
                self.assertEqual(tuple(self.hashes(*flags, "--kv-layout", *layout)), kinds[name], (name, layout))
        self.assertEqual(len(set(kinds.values())), len(kinds))

    def test_precision_along_a_row_shows_where_it_reaches(self):
        plain = self.hashes("--kv-type", "q4")
        self.assertEqual(self.hashes("--kv-type", "q4", "--kv-quant-start", 1000), self.hashes("--kv-type", "f16"))
        for flags in (("--kv-keep-first", 2), ("--kv-keep-last", 4), ("--kv-quant-start", 8)):
            self.assertNotEqual(self.hashes("--kv-type", "q4", *flags), plain, flags)


class Chat(Test):
    def test_a_chat_prompt_is_the_template_of_the_model(self):
        golden = json.loads((GOLDENS / "template_golden.json").read_text())[0]
        answer = self.ok(generate("--chat", "-p", golden["messages"][0]["content"], "-n", 1, "--json")).json
        self.assertEqual(answer["prompt_ids"], golden["ids"])

    def test_the_system_message_comes_first(self):
        plain = self.ok(generate("--chat", "-p", "Hello", "-n", 0, "--json")).json["prompt_ids"]
        system = self.ok(generate("--chat", "--system", "You are brief.", "-p", "Hello", "-n", 0, "--json")).json["prompt_ids"]
        self.assertEqual(system[-len(plain):], plain)
        self.assertGreater(len(system), len(plain))
        self.fails(generate("--system", "x", "-p", "Hello"), 2, "--chat")

    def test_a_piped_conversation_is_answered_message_by_message(self):
        flags = ("--temp", 0, "-n", 12)
        run = self.ok(kvern("run", MODEL, *flags, stdin=b"What is your name?\nWhat is the capital of France?\n"))
        first = self.ok(generate("--chat", "-p", "What is your name?", *flags)).text
        self.assertTrue(run.text.startswith(first), run.text)
        self.assertGreater(len(run.text), len(first))
        # After /reset the second question is the first of a new conversation.
        fresh = self.ok(generate("--chat", "-p", "What is the capital of France?", *flags)).text
        reset = self.ok(kvern("run", MODEL, *flags,
                              stdin=b"What is your name?\n/reset\nWhat is the capital of France?\n/bye\nnever read\n"))
        self.assertEqual(reset.text, first + fresh)

    def test_help_lists_the_commands_and_bye_leaves(self):
        run = self.ok(kvern("run", MODEL, stdin=b"/help\n\n/bye\nHello\n"))
        for command in ("/reset", "/help", "/bye", "Ctrl-C"):
            self.assertEqual(run.text.count(command), 2 if command == "Ctrl-C" else 1, run.text)

    def test_a_model_without_a_template_continues_what_is_typed(self):
        folder = self.folder / "plain"
        shutil.copytree(FOLDER, folder)
        config = json.loads((folder / "tokenizer_config.json").read_text())
        del config["chat_template"]
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        run = self.ok(kvern("run", folder, "--temp", 0, "-n", 10, stdin=PROMPT.encode()))
        self.assertEqual(run.text, self.ok(generate("-p", PROMPT, "--temp", 0, "-n", 10, model=folder)).text)
        self.fails(generate("--chat", "-p", "x", model=folder), 2, "no chat template")

    def test_control_c_stops_the_answer_and_not_the_program(self):
        terminal = Terminal("run", MODEL, "-t", "1", "--ignore-eos", "-n", 100000, "--ctx", 100000, "--temp", 1)
        terminal.read_until(b"> ")
        terminal.send(b"Tell me a story.\n")
        terminal.read_until(b"story.")
        terminal.read_until(b" ")
        time.sleep(0.3)
        terminal.interrupt()
        terminal.read_until(b"cancelled]")
        terminal.read_until(b"> ")
        terminal.send(b"/bye\n")
        self.assertEqual(terminal.close(), 0)

    def test_the_end_of_the_input_leaves_at_the_prompt(self):
        terminal = Terminal("run", MODEL, "-t", "1")
        terminal.read_until(b"> ")
        terminal.send(b"\x04")
        self.assertEqual(terminal.close(), 0)

    def test_a_message_that_is_too_long_does_not_end_the_conversation(self):
        terminal = Terminal("run", MODEL, "-t", "1", "--ctx", 48, "-n", 4, "--temp", 0)
        terminal.read_until(b"> ")
        terminal.send(b"word " * 60 + b"\n")
        terminal.read_until(b"the context holds 48")
        terminal.read_until(b"> ")
        terminal.send(b"Hello\n")
        terminal.read_until(b"generated 4 tokens")
        terminal.send(b"/bye\n")
        self.assertEqual(terminal.close(), 0)


class Logits(Test):
    IDS = "41,1174,755,349,267,1205,971"

    def test_the_file_holds_every_position_whatever_the_chunk(self):
        whole, pieces = self.folder / "whole.npy", self.folder / "pieces.npy"
        self.ok(kvern("logits", MODEL, "--ids", self.IDS, "-o", whole))
        self.ok(kvern("logits", MODEL, "--ids", self.file("ids", self.IDS), "-o", pieces, "--chunk", 2, "--threads", 1,
                      "--cpu-target", "avx2"))
        shape, values = read_npy(whole)
        self.assertEqual(shape, (7, 4096))
        self.assertEqual(whole.read_bytes(), pieces.read_bytes())
        self.assertTrue(all(math.isfinite(value) for value in values))

    def test_they_are_those_that_generate_samples_from(self):
        path = self.folder / "logits.npy"
        self.ok(kvern("logits", MODEL, "--ids", self.IDS, "-o", path))
        last = read_npy(path)[1][-4096:]
        answer = self.ok(generate("--ids", self.IDS, "-n", 1, "--json", "--logprobs", 3)).json
        best = sorted(range(4096), key=lambda i: -last[i])[:3]
        self.assertEqual([entry["id"] for entry in answer["logprobs"][0]["top"]], best)
        peak = max(last)
        total = peak + math.log(sum(math.exp(value - peak) for value in last))
        for entry in answer["logprobs"][0]["top"]:
            self.assertAlmostEqual(entry["logprob"], last[entry["id"]] - total, places=4)

    def test_they_are_those_of_transformers(self):
        ids = read_npy(GOLDENS / "p1_prompt_ids.npy")[1]
        path = self.folder / "logits.npy"
        self.ok(kvern("logits", FOLDER, "--ids", ",".join(map(str, ids)), "-o", path, "--kv-type", "f32"))
        golden = read_npy(GOLDENS / "p1_last_logits.npy")[1]
        ours = read_npy(path)[1][-len(golden):]
        self.assertLess(max(abs(a - b) for a, b in zip(ours, golden)), 1e-3)


class Perplexity(Test):
    def setUp(self):
        super().setUp()
        self.golden = json.loads((GOLDENS / "goldens.json").read_text())["perplexity"]
        self.text = self.file("text", self.golden["text"])

    def test_it_is_that_of_transformers(self):
        answer = self.ok(kvern("perplexity", FOLDER, "-f", self.text, "--json", "--kv-type", "f32")).json
        self.assertEqual(set(answer), {"perplexity", "mean_negative_log_likelihood", "tokens", "window"})
        self.assertAlmostEqual(answer["perplexity"] / self.golden["perplexity"], 1, delta=1e-3)
        self.assertEqual(answer["tokens"], len(self.golden["ids"]) - 1)
        text = self.ok(kvern("perplexity", FOLDER, "-f", self.text, "--kv-type", "f32")).text
        self.assertIn(f"perplexity {answer['perplexity']:.4f} over {answer['tokens']} tokens", text)

    def test_it_does_not_depend_on_chunks_but_on_windows(self):
        def value(*arguments):
            return self.ok(kvern("perplexity", MODEL, "-f", self.text, "--json", *arguments)).json
        whole = value()
        self.assertEqual(value("--chunk", 5, "--threads", 1)["perplexity"], whole["perplexity"])
        windows = value("--ctx", 20)
        self.assertNotEqual(windows["perplexity"], whole["perplexity"])
        self.assertEqual(windows["tokens"], whole["tokens"] - 4)  # each window's first token is not scored
        self.assertEqual(windows["window"], 20)

    def test_the_text_may_stand_behind_the_model_or_come_through_a_pipe(self):
        expected = self.ok(kvern("perplexity", MODEL, "-f", self.text)).text
        self.assertEqual(self.ok(kvern("perplexity", MODEL, self.text)).text, expected)
        self.assertEqual(self.ok(kvern("perplexity", MODEL, "-", stdin=self.golden["text"].encode())).text, expected)
        self.assertEqual(self.ok(kvern("perplexity", MODEL, "-f", "/dev/stdin", stdin=self.golden["text"].encode())).text, expected)

    def test_a_window_must_have_two_tokens(self):
        self.fails(kvern("perplexity", MODEL, "-f", self.text, "--ctx", 1), 2, "--ctx", "2 or more")
        self.ok(kvern("perplexity", MODEL, "-f", self.text, "--ctx", 2))

    def test_a_text_must_have_two_tokens(self):
        self.fails(kvern("perplexity", MODEL, "-f", self.file("short", "a")), 2, "two tokens")
        self.fails(kvern("perplexity", BARE, "-f", self.text), 2, "no tokenizer")


class Tokenize(Test):
    def test_ids_are_those_of_the_goldens(self):
        cases = json.loads((GOLDENS / "tokenizer_golden.json").read_text())
        cases = cases["cases"] if isinstance(cases, dict) else cases
        lines = "".join(json.dumps(case["text"]) + "\n" for case in cases)
        for source in (MODEL, FOLDER, FOLDER + "/tokenizer.json"):
            out = self.ok(kvern("tokenize", source, "--json", stdin=lines.encode())).text.splitlines()
            self.assertEqual([json.loads(line) for line in out], [case["ids"] for case in cases], source)
        ids = "".join(json.dumps(case["ids"]) + "\n" for case in cases)
        for flags, key in (((), "decoded"), (("--no-special",), "decoded_plain")):
            out = self.ok(kvern("tokenize", MODEL, "--json", "--decode", *flags, stdin=ids.encode())).text.splitlines()
            self.assertEqual([json.loads(line) for line in out], [case[key] for case in cases], key)

    def test_plain_lines_go_there_and_back(self):
        text = "One day, a boy\n\nThe dog  ran 12345 times.\n"
        ids = self.ok(kvern("tokenize", MODEL, stdin=text.encode())).out
        self.assertEqual(self.ok(kvern("tokenize", MODEL, "--decode", stdin=ids)).text, text)
        self.assertEqual(self.ok(kvern("tokenize", MODEL, "--decode", stdin=ids.replace(b" ", b","))).text, text)

    def test_literals_of_special_tokens_are_text_on_request(self):
        line = b"<|im_end|>\n"
        self.assertEqual(self.ok(kvern("tokenize", MODEL, stdin=line)).text, "2\n")
        plain = self.ok(kvern("tokenize", MODEL, "--no-parse-special", stdin=line)).text
        self.assertGreater(len(plain.split()), 1)
        self.assertEqual(self.ok(kvern("tokenize", MODEL, "--decode", stdin=plain.encode())).out, line)

    def test_no_special_leaves_out_what_is_added(self):
        # A SentencePiece-like folder is not bundled; the bundled model adds nothing, and decoding tells them apart.
        self.assertEqual(self.ok(kvern("tokenize", MODEL, "--decode", stdin=b"1 41 2\n")).text, "<|im_start|>A<|im_end|>\n")
        self.assertEqual(self.ok(kvern("tokenize", MODEL, "--decode", "--no-special", stdin=b"1 41 2\n")).text, "A\n")

    def test_ids_that_no_token_has_are_refused(self):
        for ids in ("[5, 4096]", "[-1]", "[2147483647]"):
            self.fails(kvern("tokenize", MODEL, "--json", "--decode", stdin=f"[5]\n{ids}\n".encode()), 2, "line 2: ", "4096")

    def test_a_bad_line_is_named(self):
        self.fails(kvern("tokenize", MODEL, "--json", stdin=b'"good"\nbad\n'), 2, "line 2")
        self.fails(kvern("tokenize", MODEL, "--json", stdin=b'"good"\n5\n'), 2, "line 2", "JSON string")
        self.fails(kvern("tokenize", MODEL, "--decode", stdin=b"1\n1\n1 x\n"), 2, "line 3")
        self.fails(kvern("tokenize", MODEL, "--decode", stdin=b"99999999999\n"), 2, "line 1")
        self.fails(kvern("tokenize", MODEL, "--decode", "--json", stdin=b'["a"]\n'), 2, "line 1")

    def test_sources_without_a_tokenizer_say_so(self):
        self.fails(kvern("tokenize", BARE), 2, "no tokenizer")
        self.fails(kvern("tokenize", self.file("x.json", "{}")), 2, "x.json")


class Template(Test):
    CONTEXT = {"messages": [{"role": "user", "content": "Hello"}], "add_generation_prompt": True}

    def context(self):
        return self.file("context.json", json.dumps(self.CONTEXT))

    def test_a_file_or_a_model_is_rendered(self):
        template = self.file("t.jinja", "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}")
        self.assertEqual(self.ok(kvern("template", template, "--context", self.context())).text, "[user] Hello\n")
        expected = "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
        for model in (MODEL, FOLDER):
            self.assertEqual(self.ok(kvern("template", model, "--context", self.context())).text, expected)

    def test_context_and_template_may_come_through_pipes(self):
        expected = self.ok(kvern("template", MODEL, "--context", self.context())).text
        context = json.dumps(self.CONTEXT).encode()
        for name in "-", "/dev/stdin", "/dev/fd/0":
            self.assertEqual(self.ok(kvern("template", MODEL, "--context", name, stdin=context)).text, expected)
        template = b"{{ messages[0].content }}!"
        self.assertEqual(self.ok(kvern("template", "/dev/stdin", "--context", self.context(), stdin=template)).text, "Hello!")
        self.assertEqual(self.ok(kvern("template", "-", "--context", self.context(), stdin=template)).text, "Hello!")
        self.fails(kvern("template", MODEL, "--context", "-", stdin=b"{"), 2, "-:")
        self.fails(kvern("template", MODEL, "--context", "/dev/zero"), 2, "/dev/zero", "more than")

    def test_what_goes_wrong_in_a_template_is_a_bad_input(self):
        for source, part in (("{{ raise_exception('no such role') }}", "no such role"), ("{% if %}", "1:"),
                             ("{{ missing.field.deeper }}", "missing"), ("{% include 'x' %}", "include")):
            result = kvern("template", self.file("bad.jinja", source), "--context", self.context())
            self.fails(result, 2, part)

    def test_bad_files_are_named(self):
        template = self.file("t.jinja", "x")
        self.fails(kvern("template", template, "--context", self.file("bad.json", "{")), 2, "bad.json")
        self.fails(kvern("template", template, "--context", self.file("list.json", "[1]")), 2, "list.json", "not an object")
        self.fails(kvern("template", template, "--context", self.folder / "none.json"), 2, "none.json")
        self.fails(kvern("template", self.folder / "none.jinja", "--context", self.context()), 2, "none.jinja")
        self.fails(kvern("template", BARE, "--context", self.context()), 2, "no chat template")


class Inspect(Test):
    def test_json_states_the_geometry(self):
        answer = self.ok(kvern("inspect", MODEL, "--json")).json
        geometry = answer["geometry"]
        for key, value in {"family": "llama", "layers": 8, "hidden": 256, "ffn": 768, "heads": 8, "kv_heads": 4,
                           "vocab": 4096, "context": 1024, "tied": True, "window": None}.items():
            self.assertEqual(geometry[key], value, key)
        self.assertEqual(set(geometry["end_tokens"]) & {0, 2}, {0, 2} & set(geometry["end_tokens"]))
        self.assertRegex(answer["fingerprint"], "^[0-9a-f]{64}$")
        self.assertEqual(sum(entry["bytes"] for entry in answer["types"].values()), answer["bytes"])
        self.assertIn("q8_0", answer["types"])
        self.assertEqual(answer["tokenizer_vocab"], 4096)
        self.assertTrue(answer["chat_template"])
        self.assertNotIn("tensors", answer)
        self.assertNotIn("origins", answer)

    def test_tensors_and_origins_are_listed_on_request(self):
        answer = self.ok(kvern("inspect", MODEL, "--json", "--tensors", "--origins")).json
        self.assertEqual(sum(tensor["bytes"] for tensor in answer["tensors"]), answer["bytes"])
        self.assertIn({"name": "token_embd.weight", "type": "q8_0", "shape": [4096, 256], "bytes": 4096 * 256 // 32 * 34},
                      answer["tensors"])
        self.assertEqual(answer["origins"]["layers"], "llama.block_count")
        text = self.ok(kvern("inspect", MODEL, "--tensors", "--origins")).text
        for part in ("token_embd.weight", "llama.block_count", answer["fingerprint"], "8 layers"):
            self.assertIn(part, text)

    def test_a_folder_is_a_model_too(self):
        answer = self.ok(kvern("inspect", FOLDER, "--json")).json
        self.assertIn("f16", answer["types"])
        self.assertNotEqual(answer["fingerprint"], self.ok(kvern("inspect", MODEL, "--json")).json["fingerprint"])

    def test_a_renamed_file_has_the_same_fingerprint(self):
        copy = self.folder / "other.gguf"
        shutil.copyfile(MODEL, copy)
        self.assertEqual(*(self.ok(kvern("inspect", path, "--json")).json["fingerprint"] for path in (copy, MODEL)))


class Bench(Test):
    FLAGS = ("--reps", 2, "--steps", 2, "-t", 1)

    def test_json_has_every_test_with_its_share(self):
        answer = self.ok(kvern("bench", MODEL, "--json", "--tests", "prefill:16,decode:0,decode:32,batch:3,first",
                               *self.FLAGS)).json
        self.assertEqual([result["test"] for result in answer["results"]], ["prefill:16", "decode:0", "decode:32", "batch:3"])
        for result in answer["results"]:
            self.assertEqual(len(result["seconds"]), 2)
            self.assertGreater(result["tokens_per_second"], 0)
            self.assertGreater(result["share_of_ceiling"], 0)
        self.assertGreater(answer["load_to_first_token_seconds"], 0)
        self.assertEqual(answer["threads"], 1)

    def test_the_table_has_a_line_for_each_test(self):
        text = self.ok(kvern("bench", MODEL, "--tests", "prefill:16,decode:0", *self.FLAGS)).text
        for part in ("prefill:16", "decode:0", "ceilings", "% of"):
            self.assertIn(part, text)

    def test_tests_beyond_the_context_are_skipped_in_sight(self):
        flags = ("bench", MODEL, "--tests", "decode:2000,decode:0", *self.FLAGS)
        self.assertIn("skipped: it needs a context of 2002, and this is 1024", self.ok(kvern(*flags)).text)
        results = self.ok(kvern(*flags, "--json")).json["results"]
        self.assertIn("2002", results[0]["skipped"])
        self.assertIn("seconds", results[1])
        longer = self.ok(kvern(*flags, "--json", "--ctx", 4096)).json["results"]
        self.assertIn("seconds", longer[0])

    def test_a_bench_that_measures_nothing_fails(self):
        self.fails(kvern("bench", MODEL, "--tests", "decode:2000", *self.FLAGS), 2, "skipped")
        self.fails(kvern("bench", MODEL, "--tests", "foo:3", *self.FLAGS), 2, "foo:3", "'first'")
        self.fails(kvern("bench", MODEL, "--kv", "f16;q8", "--tests", "decode:0"), 2, "--kv", "--tests")

    def test_the_model_may_stand_behind_lists(self):
        self.ok(kvern("bench", "--tests", "prefill:16", MODEL, *self.FLAGS))
        self.ok(kvern("run", "-l", "5+1", MODEL, stdin=b""))

    def test_types_of_keys_and_values_stand_beside_each_other(self):
        answer = self.ok(kvern("bench", MODEL, "--json", "--kv", "f32;f16;k=h8,v=q4;q2", "--kv-context", 40, *self.FLAGS)).json
        self.assertEqual(answer["context"], 40)
        self.assertEqual([line["type"] for line in answer["types"]], ["f32", "f16", "k=h8,v=q4", "q2"])
        exact, *others = answer["types"]
        self.assertEqual((exact["mean_kl"], exact["same_top"], exact["speed_to_first"]), (0, 1, 1))
        for worse, better in zip(others, answer["types"]):
            self.assertGreater(worse["mean_kl"], better["mean_kl"])
            self.assertLess(worse["bytes_per_token"], better["bytes_per_token"])
            self.assertEqual(len(worse["step_seconds"]), 2)
        self.assertNotIn("step_seconds", self.ok(kvern("bench", MODEL, "--json", "--kv", "f16", "--kv-context", 0)).json["types"][0])

    def test_the_row_that_is_timed_fits_the_context(self):
        flags = ("bench", MODEL, "--kv", "q8", *self.FLAGS)
        self.assertIn("context of 1022 tokens", self.ok(kvern(*flags)).text)
        self.fails(kvern(*flags, "--kv-context", 1023), 2, "--kv-context 1023", "context of 1024")
        self.assertIn("context of 1023 tokens", self.ok(kvern(*flags, "--kv-context", 1023, "--ctx", 2048)).text)
        self.fails(kvern(*flags[:2], "--kv", "q8;q9"), 2, "q9")
        self.fails(kvern("bench", MODEL, "--kv-context", 5), 2, "--kv-context", "--kv")

    def test_unknown_tests_are_refused(self):
        self.fails(kvern("bench", MODEL, "--tests", "decode"), 2, "decode")
        self.fails(kvern("bench", MODEL, "--tests", "speed:5"), 2, "prefill:TOKENS")


class Synth(Test):
    def test_a_synthetic_model_runs_and_depends_on_its_seed(self):
        prints = set()
        for seed in (1, 2):
            path = self.folder / f"{seed}.gguf"
            text = self.ok(kvern("synth", "--preset", "tiny-llama", "--type", "q4_0", "--seed", seed, "-o", path)).text
            self.assertIn("q4_0", text)
            self.assertEqual(len(self.ok(generate("-p", "hello", "-n", 3, "--json", "--ignore-eos", model=path)).json["ids"]), 3)
            prints.add(self.ok(kvern("inspect", path, "--json")).json["fingerprint"])
        self.assertEqual(len(prints), 2)

    def test_threads_do_not_change_the_file(self):
        paths = [self.folder / f"{threads}.gguf" for threads in (1, 3)]
        for path in paths:
            self.ok(kvern("synth", "--preset", "tiny-qwen3", "--type", "q8_0", "-t", path.stem, "-o", path))
        self.assertEqual(paths[0].read_bytes(), paths[1].read_bytes())

    def test_fit_adds_up(self):
        answer = self.ok(kvern("fit", MODEL, "--ctx", 512, "--rows", 4, "--json")).json
        per_token = 8 * 2 * 4 * 32 * 2  # layers, keys and values, heads, head size, f16
        self.assertEqual(answer["kv_bytes_per_token"], per_token)
        self.assertGreaterEqual(answer["kv_bytes"], 4 * 512 * per_token)
        self.assertLess(answer["kv_bytes"], 4 * 1024 * per_token)
        self.assertEqual(answer["weights_bytes"] + answer["kv_bytes"], answer["total_bytes"])
        self.assertEqual(answer["weights_bytes"], self.ok(kvern("inspect", MODEL, "--json")).json["bytes"])
        self.assertTrue(answer["fits"])
        wide = self.ok(kvern("fit", MODEL, "--ctx", 512, "--rows", 4, "--json", "--kv-type", "f32")).json
        self.assertEqual(wide["kv_bytes"], 2 * answer["kv_bytes"])
        huge = self.ok(kvern("fit", MODEL, "--ctx", 1 << 24, "--rows", 1 << 20))
        self.assertIn("does not fit", huge.text)
        self.assertIn("it fits", self.ok(kvern("fit", MODEL)).text)

    def test_fit_counts_what_a_row_takes_before_it_is_encoded(self):
        def kv_bytes(context, *flags):
            return self.ok(kvern("fit", MODEL, "--ctx", context, "--json", *flags)).json["kv_bytes"]
        later = ("--kv-type", "q2", "--kv-quant-start", 700)
        full = kv_bytes(640)
        self.assertEqual(kv_bytes(640, *later), full)
        for context in (700, 1000):
            self.assertGreater(kv_bytes(context, *later), full + kv_bytes(context, "--kv-type", "q2") - 1)
        self.assertGreaterEqual(kv_bytes(1024, *later), kv_bytes(1000, *later))

    def test_fit_names_the_types_that_it_counts(self):
        layers = self.file("layers", "* q8\n0 f16\n")
        self.assertIn("(f16, q8)", self.ok(kvern("fit", MODEL, "--kv-type-layers", layers)).text)
        layers = self.file("layers", "* q8\n")
        self.assertIn("(q8)", self.ok(kvern("fit", MODEL, "--kv-type-layers", layers)).text)


class Help(Test):
    COMMANDS = ("generate", "run", "logits", "perplexity", "tokenize", "template", "inspect", "bench", "synth", "fit")

    def test_every_command_is_listed_and_explains_itself(self):
        text = self.ok(kvern("--help")).text
        self.assertIn("Exit codes", text)
        for command in self.COMMANDS:
            self.assertIn(command, text)
            own = self.ok(kvern(command, "--help"))
            self.assertIn(f"Usage: kvern {command}", own.text)
            self.assertEqual(own.err, "")

    def test_the_version_names_commit_and_targets(self):
        text = self.ok(kvern("--version")).text
        self.assertRegex(text, r"kvern \d+\.\d+\.\d+ \(commit ([0-9a-f]{12}(-dirty)?|unknown)\)")
        for part in ("CPU targets", "this machine runs"):
            self.assertIn(part, text)


class BadInput(Test):
    def test_wrong_usage_is_code_2(self):
        for arguments in ((), ("nonsense",), ("--nonsense",), ("generate",), ("generate", "-m", MODEL),
                          ("generate", "-m", MODEL, "-p", "x", "--nonsense"), ("generate", "-m", MODEL, "-p", "x", "-f", "y"),
                          ("generate", "-m", MODEL, "-p", "x", "-n", -1), ("generate", "-m", MODEL, "-p", "x", "-n", "many"),
                          ("generate", "-m", MODEL, "-p", "x", "--threads", 5000), ("generate", "-m", MODEL, "-p", "x", "--chunk", 0),
                          ("logits", MODEL, "--ids", "1"), ("perplexity", MODEL), ("template", "x"), ("synth",), ("fit",)):
            result = self.fails(kvern(*arguments), 2)
            self.assertNotEqual(result.err, "", arguments)
            self.assertEqual(result.out, b"", arguments)

    def test_wrong_numbers_are_said_with_their_flag_and_what_is_expected(self):
        whole, number = "a whole number", "a number"
        for flag, value, what in (("-n", "abc", whole + " from 0 to"), ("--predict", "-5", whole), ("-n", "1.5", whole), ("-n", "1e3", whole),
                                  ("-n", "99999999999999999999", whole), ("-t", "x", whole + " from 0 to 1024"), ("-c", "8k", whole),
                                  ("--temp", "hot", number), ("--top-k", "x", whole), ("--top-p", ".", number), ("--min-p", "", number),
                                  ("--repeat-last-n", "1.5", whole), ("--seed", "-1", whole + " from 0 to 2^64 - 1"), ("-s", "x", whole),
                                  ("--logprobs", "x", whole), ("--kv-page", "x", whole), ("--chunk", "0", whole + " from 1"),
                                  ("--xtc-threshold", "0,5", number), ("--presence-penalty", "x", number)):
            result = self.fails(generate("-p", "x", flag, value), 2, f"kvern: {flag}: '{value}': {what}", "is expected", "kvern generate --help")
        self.fails(generate("-p", "x", "--predict=abc"), 2, "kvern: --predict: 'abc'")
        self.fails(kvern("bench", MODEL, "--reps", "x"), 2, "--reps: 'x'", "1 to 1000", "kvern bench --help")
        self.fails(kvern("fit", MODEL, "--rows", "0"), 2, "--rows: '0'")
        self.fails(kvern("serve", "-m", MODEL, "--port", "x"), 2, "--port: 'x'", "0 to 65535")
        self.fails(kvern("serve", "-m", MODEL, "-j", "x"), 2, "-j: 'x'", "from 1")
        self.fails(kvern("kv", "expire", "d", "aa", "--after", "x"), 2, "--after: 'x'", "kvern kv expire --help")
        self.fails(kvern("kv", "gc", "d", "--max-bytes", "x"), 2, "--max-bytes: 'x'")

    def test_a_context_beyond_that_of_the_model_is_said(self):
        for arguments, said in (("--ctx", 1024), False), (("--ctx", 5000), True), ((), False):
            result = self.ok(generate("-p", "Hi", "-n", 1, *arguments))
            self.assertEqual("--ctx 5000 is more than the 1024 tokens that the model was made for" in result.err, said, result.err)

    def test_wrong_values_name_the_choices(self):
        self.fails(generate("-p", "x", "--kv-type", "q7"), 2, "f32", "f16", "bf16")
        self.fails(generate("-p", "x", "--kv-type", "turbo:k8v3"), 2, "KV layer 0, turbo:k8v3", "q8")  # heads of 32
        self.fails(generate("-p", "x", "--kv-type", "k=h8"), 2, "k=h8")
        self.fails(generate("-p", "x", "--kv-layout", "heap"), 2, "paged", "ring")
        self.fails(generate("-p", "x", "--kv-page", 17), 2, "16, 32, 64, 128")
        self.fails(generate("-p", "x", "--kv-page", 16, "--kv-layout", "ring"), 2, "--kv-page", "ring")
        self.fails(kvern("fit", MODEL, "--kv-page", 16, "--kv-layout", "slab"), 2, "--kv-page", "slab")
        self.fails(generate("-p", "x", "--kv-keep-last", 5), 2, "encoded type")
        self.fails(generate("-p", "x", "--kv-type-layers", "/nowhere"), 2, "/nowhere")
        self.fails(generate("-p", "x", "--kv-type-layers", ""), 2, "--kv-type-layers", "empty")
        self.fails(generate("-p", "x", "--cpu-target", "sse"), 2, "avx2")
        for flag, value in (("--top-p", 2), ("--temp", "nan"), ("--temp", "1e300"), ("--temp", -1), ("--top-k", -1),
                            ("--repeat-penalty", 0), ("--min-p", 3), ("--typical", -1), ("--xtc-probability", 2)):
            self.fails(generate("-p", "x", flag, value), 2, f"kvern: {flag}: must be ")
        self.assertEqual(self.ok(generate("-p", "x", "-n", 1, "--temp", "1e30", "--json")).json["finish_reason"], "length")
        self.fails(generate("-p", "x", "-l", "5"), 2, "TOKEN+BIAS")
        self.fails(generate("-p", "x", "-l", "99999+1"), 2, "99999")
        self.fails(generate("-p", "x", "--stop", ""), 2, "--stop")
        out = self.folder / "x.gguf"
        self.fails(kvern("synth", "--preset", "none", "-o", out), 2, "tiny-llama")
        self.fails(kvern("synth", "--preset", "tiny-llama", "--type", "q9", "-o", out), 2, "q8_0")
        for seed in (-1, 1 << 64, "1.5"):
            self.fails(kvern("synth", "--preset", "tiny-llama", "--seed", seed, "-o", out), 2, "--seed", "2^64")
        self.assertFalse(out.exists())

    def test_empty_names_are_said_to_be_empty(self):
        for arguments in (("generate", "-m", "", "-p", "x"), ("inspect", ""), ("fit", ""), ("tokenize", ""), ("run", ""),
                          ("template", "", "--context", self.file("c.json", "{}")), ("perplexity", MODEL, "-f", ""),
                          ("logits", MODEL, "--ids", "1", "-o", ""), ("synth", "--preset", "tiny-llama", "-o", ""),
                          ("generate", "-m", MODEL, "-p", ""), ("generate", "-m", MODEL, "-f", ""),
                          ("run", MODEL, "--kv-dir", ""), ("kv", "import", self.folder, "x", "--fingerprint", ""),
                          ("kv", "import", self.folder, "x", "-m", ""), ("kv", "show", self.folder, "x", "-m", ""),
                          ("serve", "-m", MODEL, "--check", "--api-key-file", ""),
                          ("serve", "-m", MODEL, "--check", "--kv-dir", ""),
                          ("serve", "-m", MODEL, "--check", "--tls-cert", "")):
            self.fails(kvern(*arguments), 2, "is empty")
        config = self.file("kvern.conf", 'max-rows = 2\napi-key-file = ""\n')
        self.fails(kvern("serve", "-m", MODEL, "--check", "--config", config), 2, f"{config}:2: api-key-file", "is empty")

    def test_an_unknown_flag_before_the_command_is_named(self):
        self.fails(kvern("--nonsense"), 2, "--nonsense")
        self.fails(kvern("-x", "generate"), 2, "-x")

    def test_wrong_ids_are_explained(self):
        self.fails(generate("--ids", "1,x"), 2, "neither a list of token ids")
        self.fails(generate("--ids", "1,-1"), 2, "neither a list of token ids")
        self.fails(generate("--ids", "4096"), 2, "--ids: token 4096")
        self.fails(generate("-f", self.file("long", "word " * 3000)), 2, "kvern: -f: has ", "1024")
        self.fails(generate("-p", "word " * 3000), 2, "kvern: -p: has ")
        self.fails(generate("--ids", "99999999999"), 2, "too large")
        self.fails(generate("--ids", "[]"), 2, "no token ids")
        self.fails(generate("--ids", self.file("ids", "1,2,three")), 2, "ids")
        for gap, place in (("1,,2", "3"), (",1", "1"), ("1,2,", "5"), ("1, ,2", "4"), ("[,1]", "2"), ("[1,]", "4")):
            self.fails(generate("--ids", gap), 2, "--ids: a number is missing", f"at character {place}")
            self.fails(generate("--ids", self.file("gap", gap)), 2, "gap: a number is missing")
        self.fails(generate("--ids", "[1,2"), 2, "closing ] is missing")
        self.fails(generate("--ids", "[[1]]"), 2, "closing ] is missing")
        self.fails(generate("--ids", "1,2]"), 2, "opening [ is missing")
        self.fails(kvern("logits", MODEL, "--ids", "1,4096", "-o", self.folder / "x.npy"), 2, "4096")
        self.assertFalse((self.folder / "x.npy").exists())

    def test_models_that_are_none_are_named(self):
        whole = pathlib.Path(MODEL).read_bytes()
        no_model = self.file("notes.txt", "not a model")
        cut = self.file("cut.gguf", whole[:len(whole) // 2])
        head = self.file("head.gguf", whole[:100])
        empty = self.file("empty.gguf")
        (self.folder / "folder").mkdir()
        for path in (no_model, cut, head, empty, str(self.folder / "none.gguf"), str(self.folder / "folder"), "/dev/null"):
            for command in (("generate", "-m", path, "-p", "x"), ("inspect", path), ("run", path), ("fit", path)):
                self.fails(kvern(*command), 2, os.path.basename(path))

    def test_a_folder_that_is_no_model_is_said_to_be_none(self):
        (self.folder / "models").mkdir()
        self.fails(kvern("inspect", self.folder / "models"), 2, "models: is a folder without a config.json")

    def test_weights_that_are_no_numbers_are_named(self):
        whole = pathlib.Path(MODEL).read_bytes()
        name = b"blk.0.attn_q.weight"
        entry = whole.index(name) + len(name)  # then the dimensions, the type and where its bytes lie in the data
        offset = int.from_bytes(whole[entry + 24:entry + 32], "little")
        at = len(whole) - self.ok(kvern("inspect", MODEL, "--json")).json["bytes"] + offset
        broken = self.file("broken.gguf", whole[:at] + b"\x00\x7e" + whole[at + 2:])
        text = self.file("text", PROMPT)
        out = self.folder / "x.npy"
        for arguments in (("generate", "-m", broken, "-p", "x"), ("logits", broken, "--ids", "1,2", "-o", out),
                          ("perplexity", broken, "-f", text), ("perplexity", broken, "-f", text, "--json"),
                          ("bench", broken, "--tests", "prefill:8", "--reps", 1), ("bench", broken, "--tests", "first"),
                          ("bench", broken, "--tests", "decode:0", "--reps", 1, "--steps", 1)):
            self.fails(kvern(*arguments), 2, "broken.gguf: tensor 'blk.0.attn_q.weight'", "a scale of block 0 of type q8_0 is not finite")
        self.assertFalse(out.exists())

    def test_a_model_without_permission_is_named(self):
        path = self.file("secret.gguf", pathlib.Path(MODEL).read_bytes())
        os.chmod(path, 0)
        os.chmod(self.folder, 0o755)
        nobody = {"user": 65534} if os.geteuid() == 0 else {}  # root may read everything
        self.fails(generate("-p", "x", model=path, **nobody), 1, "secret.gguf", "ermission")


class Failures(Test):
    def test_a_full_disk_is_code_1(self):
        commands = (("generate", "-m", MODEL, "-p", "x", "-n", 2), ("generate", "-m", MODEL, "-p", "x", "-n", 2, "--json"),
                    ("inspect", MODEL), ("fit", MODEL), ("perplexity", MODEL, "-f", self.file("t", PROMPT)))
        for arguments in (*commands, ("--help",), ("bench", "--help"), ("--version",)):
            with open("/dev/full", "wb") as full:
                self.fails(kvern(*arguments, stdout=full), 1, "standard output", "No space left")
        self.fails(kvern("logits", MODEL, "--ids", "1,2", "-o", "/dev/full"), 1, "/dev/full", "No space left")
        for arguments, stdin in ((("tokenize", MODEL), b"text\n"), (("run", MODEL, "-n", 2), b"Hello\n")):
            with open("/dev/full", "wb") as full:
                self.fails(kvern(*arguments, stdin=stdin, stdout=full), 1, "No space left")

    def test_a_standard_error_that_takes_nothing_changes_no_result(self):
        whole = self.ok(generate("-p", PROMPT, "-n", 4, "--temp", 0)).out
        for redirection in ("2>/dev/full", "2>&-"):
            done = subprocess.run(["sh", "-c", f'exec "$@" {redirection}', "sh", kvern_process.binary, "generate", "-m", MODEL,
                                   "-p", PROMPT, "-n", "4", "--temp", "0"], stdout=subprocess.PIPE, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, whole))

    def test_a_reader_that_leaves_stops_the_generation(self):
        process = subprocess.Popen([kvern_process.binary, "generate", "-m", MODEL, "-t", "1", "-p", "A", "-n", "1000000",
                                    "--ctx", "1000000", "--ignore-eos"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(os.read(process.stdout.fileno(), 1))
        process.stdout.close()
        self.assertEqual(process.wait(timeout=60), 1)
        self.assertIn(b"Broken pipe", process.stderr.read())
        process.stderr.close()

    def test_an_interrupt_ends_generate_after_what_it_has(self):
        process = subprocess.Popen([kvern_process.binary, "generate", "-m", MODEL, "-t", "1", "-p", "A", "-n", "1000000",
                                    "--ctx", "1000000", "--ignore-eos"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(os.read(process.stdout.fileno(), 1))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        self.assertTrue(out.endswith(b"\n"))
        self.assertIn(b"cancelled", err)

    def test_an_interrupt_in_the_prompt_says_how_much_of_it_was_computed(self):
        process = subprocess.Popen([kvern_process.binary, "generate", "-m", MODEL, "-t", "1", "-f",
                                    self.file("long.txt", "It was a long day. " * 100000), "--ctx", "1000000"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertRegex(err.decode(), r"prompt \d+ of \d+ tokens, .*cancelled")

    def cut_while_running(self, size):
        """Shortens the model to `size` while a generation runs."""
        path = self.file("model.gguf", pathlib.Path(MODEL).read_bytes())
        process = subprocess.Popen([kvern_process.binary, "generate", "-m", path, "-t", "1", "-p", "A", "-n", "1000000",
                                    "--ctx", "1000000", "--ignore-eos"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(os.read(process.stdout.fileno(), 1))
        os.truncate(path, size)
        _, err = process.communicate(timeout=60)
        self.assertNotIn(process.returncode, (0, -signal.SIGBUS, -signal.SIGSEGV))
        self.assertIn(b"model.gguf", err)
        return process.returncode

    def test_a_model_that_is_cut_while_in_use_is_an_error_with_its_name(self):
        for size in (0, 4096, os.path.getsize(MODEL) - 5000):
            self.assertIn(self.cut_while_running(size), (1, 2))

    def test_a_model_that_is_cut_in_the_middle_of_a_step_ends_with_a_message(self):
        # A long step touches lost pages before anybody can ask for the file's size; a moment later or earlier the
        # other checks see it, so it is tried until the signal came.
        for attempt in range(20):
            path = self.file(f"model{attempt}.gguf", pathlib.Path(MODEL).read_bytes())
            process = subprocess.Popen([kvern_process.binary, "logits", path, "-t", "1", "--ids", ",".join(["41"] * 1000), "--chunk",
                                        "1000", "-o", str(self.folder / "logits.npy")], stderr=subprocess.PIPE)
            while not (self.folder / "logits.npy").exists() and process.poll() is None:
                time.sleep(0.005)  # it is made after the model was opened
            time.sleep(0.02)
            os.truncate(path, 0)
            _, err = process.communicate(timeout=60)
            self.assertIn(process.returncode, (0, 1, 2))
            os.remove(path)
            os.remove(self.folder / "logits.npy")
            if b"became shorter" in err:
                self.assertEqual(process.returncode, 1)
                self.assertIn(f"model{attempt}.gguf".encode(), err)
                return
        self.fail("no step was ever hit")

    def test_threads_that_the_system_does_not_give_are_an_error(self):
        nobody = {"user": 65534} if os.geteuid() == 0 else {}  # root has no such limit
        os.chmod(self.folder, 0o755)
        model = self.file("m.gguf", pathlib.Path(MODEL).read_bytes())
        limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)), "model": model, **nobody,
                   # The leak sanitizer looks for leaks in a process of its own, which it could not start.
                   "env": os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}}
        self.fails(generate("-p", "x", "-n", 1, "-t", 8, **limited), 1, "threads: ", "8")
        self.ok(generate("-p", "x", "-n", 1, "-t", 1, **limited))

    def test_an_interrupt_ends_long_work_and_leaves_no_half_file(self):
        logits, synth = self.folder / "logits.npy", self.folder / "x.gguf"
        text = self.file("text.txt", "It was a long day. " * 200000)
        for arguments, started in ((("logits", MODEL, "-t", 1, "--ids", self.file("ids", "41 " * 100000), "--ctx", 200000, "-o",
                                     logits), logits.exists),
                                   (("synth", "--preset", "llama-3.2-1b", "--type", "q4_0", "-t", 1, "-o", synth),
                                    pathlib.Path(f"{synth}.part").exists),
                                   (("perplexity", MODEL, "-t", 1, "-f", text), lambda: time.sleep(0.5) or True)):
            process = subprocess.Popen([kvern_process.binary, *map(str, arguments)], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            while not started() and process.poll() is None:
                time.sleep(0.005)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, err)
            self.assertIn(b"interrupted", err)
        self.assertEqual(sorted(os.listdir(self.folder)), ["ids", "text.txt"])

    def test_a_closed_standard_output_is_an_error_and_never_the_output_file(self):
        path = self.folder / "logits.npy"
        whole = self.ok(kvern("logits", MODEL, "--ids", "1,2", "-o", path)) and path.read_bytes()
        # What would go to standard output must not land in the file that is opened next.
        shell = ["sh", "-c", 'exec "$@" <&- >&-', "sh", kvern_process.binary]
        done = subprocess.run([*shell, "logits", MODEL, "--ids", "1,2", "-o", str(path)], timeout=60, check=False)
        self.assertEqual((done.returncode, path.read_bytes()), (0, whole))
        for arguments in (("inspect", MODEL), ("generate", "-m", MODEL, "-p", "x", "-n", "2")):
            done = subprocess.run([*shell, *arguments], stderr=subprocess.PIPE, timeout=60, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"standard output: cannot write", done.stderr)

    def test_a_device_as_output_stays_a_device(self):
        self.fails(kvern("synth", "--preset", "tiny-llama", "-o", "/dev/full"), 1, "/dev/full", "No space left")
        self.assertTrue(pathlib.Path("/dev/full").is_char_device())
        self.assertFalse(pathlib.Path("/dev/full.part").exists())
        self.fails(kvern("synth", "--preset", "tiny-llama", "-o", self.folder), 2, self.folder.name, "directory")

    def test_outputs_that_cannot_be_made_are_named(self):
        missing = self.folder / "no" / "where.npy"
        self.assertIn(self.fails_either(kvern("logits", MODEL, "--ids", "1", "-o", missing), "where.npy"), (1, 2))
        self.assertIn(self.fails_either(kvern("logits", MODEL, "--ids", "1", "-o", self.folder), self.folder.name), (1, 2))
        gguf = self.folder / "no" / "x.gguf"
        self.assertIn(self.fails_either(kvern("synth", "--preset", "tiny-llama", "-o", gguf), "x.gguf"), (1, 2))

    def fails_either(self, result, part):
        self.assertIn(part, result.err)
        return result.code


def main():
    kvern_process.binary = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)


if __name__ == "__main__":
    main()
