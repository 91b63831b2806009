"""kvern kv on directories of saved state: kv_test.py KVERN [CLASS...]"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import kvern_process
from kvern_process import EXPORT, MODEL, Terminal, kvern

FIRST, SECOND, THIRD = 130, 104, 70  # tokens of the prefixes in EXPORT


class KvTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kvern-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.dir = self.folder / "kv"

    def kv(self, command, *arguments, directory=None, **options):
        return kvern("kv", command, directory or self.dir, *arguments, **options)

    def ok(self, result):
        self.assertEqual(result.code, 0, result.err)
        return result

    def fails(self, result, code, *parts):
        self.assertEqual(result.code, code, f"{result.out!r} {result.err}")
        for part in parts:
            self.assertIn(part, result.err)

    def filled(self):
        """The entries by their number of tokens."""
        self.ok(self.kv("import", EXPORT))
        return self.entries()

    def entries(self):
        return {entry["tokens"]: entry for entry in self.ok(self.kv("ls", "--json")).json["entries"]}


class Listing(KvTest):
    def test_lists_what_there_is(self):
        entries = self.filled()
        self.assertEqual(set(entries), {FIRST, SECOND, THIRD})
        text = self.ok(self.kv("ls")).text
        for entry in entries.values():
            self.assertIn(entry["name"][:8], text)
        self.assertIn("3 prefixes", text)

    def test_shows_all_of_one(self):
        entries = self.filled()
        name = entries[FIRST]["name"]
        shown = self.ok(self.kv("show", name[:12], "--json")).json
        self.assertEqual(shown["name"], name)
        self.assertEqual(shown["blocks"]["count"], 2)
        self.assertEqual(shown["blocks"]["shared"], 1)
        self.assertEqual(len(shown["token_ids"]), FIRST)
        self.assertEqual(shown["attachments"], [])
        text = self.ok(self.kv("show", name[:12])).text
        lines = text.splitlines()
        self.assertEqual(len(lines), len(set(lines)), "equal lines stand there once, with their number")
        for part in (name, "130, of use from 0 to 130", "shared with other prefixes", shown["model"], "heads=2"):
            self.assertIn(part, text)

    def test_a_model_must_be_the_one_that_made_it(self):
        name = self.filled()[FIRST]["name"]
        self.fails(self.kv("show", name, "-m", MODEL), 2, "this model is", "the prefix is of")

    def test_says_how_much_is_shared(self):
        self.filled()
        stats = self.ok(self.kv("stats", "--json")).json
        self.assertEqual((stats["entries"], stats["blocks"], stats["page"]), (3, 3, 64))
        self.assertLess(stats["bytes"], stats["bytes_unshared"])
        self.assertIn("3 prefixes in 3 blocks", self.ok(self.kv("stats")).text)

    def test_an_empty_directory_of_saved_state(self):
        self.filled()
        self.ok(self.kv("rm", "--all"))
        self.assertEqual(self.ok(self.kv("ls")).text, "0 prefixes, 0 B\n")


class Changing(KvTest):
    def test_removes_what_is_named(self):
        entries = self.filled()
        self.ok(self.kv("rm", entries[FIRST]["name"][:10], entries[THIRD]["name"]))
        self.assertEqual(set(self.entries()), {SECOND})
        self.ok(self.kv("verify"))

    def test_pins_and_lets_go(self):
        name = self.filled()[THIRD]["name"]
        self.ok(self.kv("pin", name))
        self.assertTrue(self.entries()[THIRD]["pinned"])
        self.ok(self.kv("gc", "--max-bytes", "1K"))
        self.assertEqual(set(self.entries()), {THIRD})
        self.ok(self.kv("unpin", name))
        removed = self.ok(self.kv("gc", "--max-bytes", "1K", "--json")).json
        self.assertEqual((removed["removed"], removed["bytes"]), (1, 0))

    def test_entries_expire(self):
        name = self.filled()[THIRD]["name"]
        self.ok(self.kv("expire", name, "--after", 3600))
        self.assertIsNotNone(self.entries()[THIRD]["expires"])
        self.ok(self.kv("expire", name, "--after", 0))
        self.assertIsNone(self.entries()[THIRD]["expires"])

    def test_gc_takes_files_that_nothing_names(self):
        self.filled()
        (self.dir / "blocks" / ("a" * 64)).write_bytes(b"garbage")
        (self.dir / "blocks" / "notes.txt").write_bytes(b"somebody's")
        report = self.ok(self.kv("gc", "--json")).json
        self.assertEqual((report["removed"], report["files_removed"], report["strangers"]), (0, 1, 1))
        self.assertEqual(len(self.entries()), 3)

    def test_verify_finds_damage(self):
        self.filled()
        self.assertIn("all good", self.ok(self.kv("verify")).text)
        victim = sorted((self.dir / "blocks").iterdir())[0]
        data = bytearray(victim.read_bytes())
        data[5000] ^= 1
        victim.write_bytes(data)
        looked = self.kv("verify", "--look-only", "--json")
        self.assertEqual((looked.code, len(looked.json["problems"])), (1, 1))
        self.assertTrue(victim.exists())
        found = self.kv("verify")
        self.assertEqual(found.code, 1)
        self.assertIn(victim.name, found.text)
        self.assertTrue((self.dir / "quarantine" / victim.name).exists())
        self.assertTrue(any(entry["usable_tokens"] < entry["tokens"] for entry in self.entries().values()))

    def test_reindex_keeps_pins(self):
        name = self.filled()[FIRST]["name"]
        self.ok(self.kv("pin", name))
        self.assertEqual(self.ok(self.kv("reindex", "--json")).json, {"entries": 3})
        self.assertTrue(self.entries()[FIRST]["pinned"])
        (self.dir / "index.db").unlink()
        self.fails(self.kv("ls"), 2, "index of saved state is missing")
        self.ok(self.kv("reindex"))
        self.assertEqual(len(self.entries()), 3)

    def test_long_work_shows_how_far_it_is(self):
        self.filled()
        terminal = Terminal("kv", "verify", self.dir)
        shown = terminal.read_until(b"all good")
        self.assertIn(b"verifying  [#", shown)
        self.assertEqual(terminal.close(), 0)
        self.assertEqual(self.ok(self.kv("verify")).err, "")


class Moving(KvTest):
    def export(self, *arguments):
        path = self.folder / "prefixes.kvx"
        self.ok(self.kv("export", *arguments, "-o", path))
        return path

    def test_goes_to_another_directory_and_back(self):
        self.filled()
        path = self.export("--all")
        other = self.folder / "other"
        report = self.ok(self.kv("import", path, "--json", directory=other)).json
        self.assertEqual((report["saved"], report["there"]), (3, 0))
        again = self.ok(self.kv("import", path, "--pin", "--json", directory=other)).json
        self.assertEqual((again["saved"], again["there"], again["blocks_written"]), (0, 3, 0))
        listed = self.ok(self.kv("ls", "--json", directory=other)).json["entries"]
        self.assertEqual({entry["name"] for entry in listed}, {entry["name"] for entry in self.entries().values()})
        self.assertTrue(all(entry["pinned"] for entry in listed))

    def test_takes_nobody_elses_directory(self):
        self.filled()
        path = self.export("--all")
        other = self.folder / "home"
        other.mkdir()
        (other / "letter.txt").write_text("Dear")
        self.fails(self.kv("import", path, directory=other), 2, "home", "not empty (letter.txt)")
        self.assertEqual(os.listdir(other), ["letter.txt"])
        (other / "letter.txt").unlink()
        self.ok(self.kv("import", path, directory=other))

    def test_goes_through_a_pipe(self):
        name = self.filled()[SECOND]["name"]
        out = self.ok(self.kv("export", name[:9], "-o", "-")).out
        self.assertEqual(out, self.export(name).read_bytes())
        other = self.folder / "other"
        self.ok(self.kv("import", "-", directory=other, stdin=out))
        self.assertIn("1 prefix, ", self.ok(self.kv("ls", directory=other)).text)

    def test_nothing_half_is_left(self):
        self.filled()
        path = self.export("--all")
        data = path.read_bytes()
        other = self.folder / "other"
        for bad in (data[:-100], data[:9000] + b"x" + data[9001:], b"", b"KVRNEXP\n"):
            broken = self.folder / "broken.kvx"
            broken.write_bytes(bad)
            self.fails(self.kv("import", broken, directory=other), 2, "broken.kvx" if len(bad) < 100 else "")
            self.assertIn("0 prefixes", self.ok(self.kv("ls", directory=other)).text)
        victim = sorted((self.dir / "blocks").iterdir())[0]
        victim.unlink()
        target = self.folder / "target.kvx"
        target.write_bytes(b"as before")
        self.fails(self.kv("export", "--all", "-o", target), 2, victim.name)
        self.assertEqual(target.read_bytes(), b"as before")
        self.assertEqual([path for path in self.folder.iterdir() if ".tmp" in path.name], [])

    def test_another_model_is_refused_and_both_are_named(self):
        entry = self.filled()[FIRST]
        other = self.folder / "other"
        self.fails(self.kv("import", EXPORT, "-m", MODEL, directory=other), 2, entry["model"], "wanted is one of")
        wrong = hashlib.sha256(b"wrong").hexdigest()
        self.fails(self.kv("import", EXPORT, "--fingerprint", wrong, directory=other), 2, entry["model"], wrong)
        self.ok(self.kv("import", EXPORT, "--fingerprint", entry["model"], directory=other))


class Refusing(KvTest):
    def test_places_that_are_no_store(self):
        for command in ("ls", "stats", "verify", "gc", "reindex"):
            self.fails(self.kv(command), 2, str(self.dir), "no such directory")
            self.assertFalse(self.dir.exists())
            self.fails(self.kv(command, directory=self.folder), 2, "is not a directory of saved state")
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_names(self):
        entries = self.filled()
        self.fails(self.kv("show", "xyz"), 2, "hexadecimal")
        self.fails(self.kv("rm", "0" * 64), 2, "no such saved prefix")
        self.fails(self.kv("rm"), 2, "which prefix?")
        self.fails(self.kv("rm", "--all", entries[FIRST]["name"]), 2, "not both")
        beginnings = [entry["name"][0] for entry in entries.values()]
        twice = [digit for digit in beginnings if beginnings.count(digit) > 1]
        if twice:
            self.fails(self.kv("show", twice[0]), 2, "write more of it")
        self.assertEqual(len(self.entries()), 3)

    def test_a_later_version(self):
        self.filled()
        index = self.dir / "index.db"
        subprocess.run([sys.executable, "-c", "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); "
                        "d.execute('PRAGMA user_version = 99'); d.commit()", index], check=True)
        self.fails(self.kv("ls"), 2, "format 99")
        self.fails(self.kv("reindex"), 2, "format 99")

    def test_a_directory_that_cannot_be_written(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        self.filled()
        for path in (self.dir, self.dir / "blocks", self.dir / "manifests"):
            path.chmod(0o500)
            self.addCleanup(path.chmod, 0o700)
        self.assertEqual(len(self.entries()), 3)
        self.fails(self.kv("rm", "--all"), 1, "this command changes the directory")


if __name__ == "__main__":
    kvern_process.binary = sys.argv.pop(1)
    unittest.main()
