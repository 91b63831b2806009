"""tools/read_entry.py agrees with the program about the golden files, and refuses damaged ones."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORMATS = ROOT / "tests/data/formats"
sys.path.insert(0, str(ROOT / "tools"))
import read_entry  # noqa: E402  (found through the line above)

BLOCK = "77d254bc04397e3ba8586f84ce5ae602792c7f45c2fbdb882dad837e4efc6658"
MANIFEST = "0c42faf93068eb0eb27533c0c0337211d64f5dcc0dd69541167d8accf5262021"


class ReadEntry(unittest.TestCase):
    def test_block(self):
        block = read_entry.read_file(FORMATS / "kv-block-1.kvb", BLOCK)
        self.assertEqual(block["positions"], [64, 80])
        self.assertEqual(block["geometry"], "layers=0-1 heads=2 k=8:f16 v=8:f16\n")
        self.assertEqual(block["payload_bytes"], 16 * 72)

    def test_manifest(self):
        entry = read_entry.read_file(FORMATS / "kv-manifest-1.kvm", MANIFEST)
        self.assertEqual(entry["tokens"], [i * i - 3 for i in range(70)])
        self.assertEqual([s["kind"] for s in entry["stores"]], ["positions"] * 3 + ["recurrent"])
        whole = [p["positions"] for p in entry["pieces"] if "block" in p and p["store"] == 0]
        self.assertEqual(whole, [[0, 16], [16, 32], [32, 48], [48, 64]])
        self.assertEqual([a["bytes"] for a in entry["attachments"]], [10, 0, 5000])
        self.assertEqual(entry["checkpoint"]["seed"], 42)

    def test_export(self):
        export = read_entry.read_file(FORMATS / "kv-export-1.kvx")
        self.assertEqual((export["entries"], export["blocks"]), (3, 3))
        known = {record["name"] for record in export["records"]}
        for record in export["records"]:
            for piece in record.get("pieces", []):
                self.assertIn(piece.get("block", record["name"]), known)
        data = (FORMATS / "kv-export-1.kvx").read_bytes()
        with self.assertRaises(read_entry.Bad):
            read_entry.read_export(data[:-1])

    def test_damage_shows(self):
        for name, right in (("kv-block-1.kvb", BLOCK), ("kv-manifest-1.kvm", MANIFEST)):
            data = bytearray((FORMATS / name).read_bytes())
            data[300] ^= 1
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, right)
                path.write_bytes(data)
                done = subprocess.run([sys.executable, ROOT / "tools/read_entry.py", path], capture_output=True, check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn(right.encode()[:10], done.stderr)


if __name__ == "__main__":
    unittest.main()
