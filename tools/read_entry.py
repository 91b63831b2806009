#!/usr/bin/env python3
"""Prints saved prefixes and their blocks: a second reader of docs/formats/kv-block.md, kv-manifest.md and kv-export.md.

Needs the standard library only. The name of a file (64 hexadecimal digits, or --name) is compared with the SHA-256 of the content;
the XXH3 checksum, which the program verifies at every read, is shown and not computed.
"""

import argparse
import hashlib
import json
import pathlib
import struct
import sys

BLOCK_MAGIC = b"KVRNBLK\n"
MANIFEST_MAGIC = b"KVRNMAN\n"
EXPORT_MAGIC = b"KVRNEXP\n"
PAGE = 4096
KINDS = {1: "positions", 2: "recurrent", 3: "latent"}
BLOCK_CHECKSUM = 160
MANIFEST_CHECKSUM = 208


class Bad(Exception):
    """The bytes are not what they should be."""


def content_name(data, checksum_at):
    """SHA-256 with the checksum as zeros."""
    return hashlib.sha256(data[:checksum_at] + bytes(16) + data[checksum_at + 16:]).hexdigest()


def round_up(number, to):
    return (number + to - 1) // to * to


def check(holds, what):
    if not holds:
        raise Bad(what)


def read_block(data):
    """The block as a dictionary."""
    check(len(data) >= 256, "cut off")
    version, minimum, header_bytes, kind, store, text_bytes = struct.unpack_from("<6I", data, 8)
    first, end, per_position, payload = struct.unpack_from("<qqQQ", data, 32)
    check(minimum <= 1, f"format {version} needs a later reader")
    check(header_bytes == round_up(256 + text_bytes, PAGE), "header size")
    check(len(data) == header_bytes + round_up(payload, PAGE), "file size")
    check(not any(data[176:256]) and not any(data[256 + text_bytes:header_bytes]), "reserved bytes")
    check(not any(data[header_bytes + payload:]), "padding")
    if kind != 2:
        check((end - first) * per_position == payload, "payload size")
    return {
        "what": "block", "version": version, "name": content_name(data, BLOCK_CHECKSUM), "kind": KINDS.get(kind, kind),
        "store": store, "positions": [first, end], "bytes_per_position": per_position, "payload_bytes": payload,
        "model": data[64:96].hex(), "codec": data[96:128].hex(), "space": data[128:160].hex(),
        "checksum": data[BLOCK_CHECKSUM:BLOCK_CHECKSUM + 16].hex(),
        "geometry": data[256:256 + text_bytes].decode(),
        "payload_sha256": hashlib.sha256(data[header_bytes:header_bytes + payload]).hexdigest(),
    }


class Cursor:
    """Reads one thing after the other."""

    def __init__(self, data, at, end):
        self.data, self.at, self.end = data, at, end

    def take(self, count):
        check(self.at + count <= self.end, "cut off")
        self.at += count
        return self.data[self.at - count:self.at]

    def numbers(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))

    def text(self):
        return self.take(self.numbers("I")[0]).decode()


def read_store(body):
    kind, encoded, origin, head_end, tail_begin, length, per_position = body.numbers("IIqqqqQ")
    return {"kind": KINDS.get(kind, kind), "encoded": bool(encoded), "origin": origin, "head_end": head_end,
            "tail_begin": tail_begin, "length": length, "bytes_per_position": per_position, "text": body.text()}


def read_piece(body):
    store, place, first, end = body.numbers("IIqq")
    piece = {"store": store, "positions": [first, end]}
    if place == 0:
        piece["block"] = body.take(32).hex()
    else:
        check(place == 1, "place of a piece")
        piece["offset"], piece["bytes"], _, _ = body.numbers("QQQQ")
    return piece


def read_attachment(body):
    name = body.text()
    offset, size = body.numbers("QQ")
    return {"name": name, "offset": offset, "bytes": size}


def read_checkpoint(body):
    key = body.take(32).hex()
    prompt, generated, pending, explicit, seed, extra = body.numbers("qqiIQI")
    return {"key": key, "prompt_tokens": prompt, "generated_tokens": generated, "pending_token": pending, "seed": seed,
            "seed_was_explicit": bool(explicit), "extra": body.take(extra).hex()}


def read_manifest(data):
    """The manifest as a dictionary."""
    check(len(data) >= 256, "cut off")
    version, minimum = struct.unpack_from("<II", data, 8)
    file_bytes, data_begin, tokens, minimum_reusable, created = struct.unpack_from("<QQQqq", data, 16)
    page, identity_bytes, stores, pieces, attachments, checkpoints = struct.unpack_from("<6I", data, 56)
    check(minimum <= 1, f"format {version} needs a later reader")
    check(file_bytes == len(data) and data_begin % PAGE == 0 and data_begin <= len(data), "sizes")
    body = Cursor(data, 256, data_begin)
    entry = {
        "what": "manifest", "version": version, "name": content_name(data, MANIFEST_CHECKSUM), "model": data[80:112].hex(),
        "tokenizer": data[112:144].hex(), "space": data[144:176].hex(), "root": data[176:208].hex(),
        "checksum": data[MANIFEST_CHECKSUM:MANIFEST_CHECKSUM + 16].hex(), "created": created, "page": page,
        "minimum_reusable": minimum_reusable, "identity": body.take(identity_bytes).decode(),
        "tokens": list(body.numbers(f"{tokens}i")),
        "stores": [read_store(body) for _ in range(stores)],
        "pieces": [read_piece(body) for _ in range(pieces)],
        "attachments": [read_attachment(body) for _ in range(attachments)],
        "checkpoint": read_checkpoint(body) if checkpoints else None,
    }
    check(not any(data[body.at:data_begin]), "padding")
    for item in entry["pieces"] + entry["attachments"]:
        if "offset" in item:
            at = data_begin + item["offset"]
            check(at + item["bytes"] <= len(data), "data beyond the end")
            item["sha256"] = hashlib.sha256(data[at:at + item["bytes"]]).hexdigest()
    return entry


def read_export(data):
    """What is in the file, and its blocks and manifests as dictionaries."""
    check(len(data) >= 128, "cut off")
    version, minimum, entries, blocks, file_bytes = struct.unpack_from("<4IQ", data, 8)
    check(minimum <= 1, f"format {version} needs a later reader")
    check(file_bytes == len(data) and not any(data[32:48]), "header")
    heads, records, at = hashlib.sha256(data[:64]), [], 64
    while True:
        check(at + 64 <= len(data), "cut off")
        head = data[at:at + 64]
        kind, reserved, size = struct.unpack_from("<IIQ", head, 0)
        name = head[16:48].hex()
        check(reserved == 0 and kind in (1, 2, 3), "record")
        if kind == 3:
            break
        heads.update(head)
        content = data[at + 64:at + 64 + size]
        check(len(content) == size, "cut off")
        record = read_block(content) if kind == 1 else read_manifest(content)
        check(record["name"] == name, "name of a record")
        records.append(record)
        at += 64 + round_up(size, 64)
    check(size == 0 and name == heads.hexdigest() and at + 64 == len(data), "end")
    kinds = [record["what"] for record in records]
    check(kinds.count("manifest") == entries and kinds.count("block") == blocks, "sums")
    return {"what": "export", "version": version, "name": hashlib.sha256(data).hexdigest(), "entries": entries, "blocks": blocks,
            "records": records}


def read_file(path, name=None):
    """The entry in a file; Bad when it is none, or is not the one of its name."""
    data = pathlib.Path(path).read_bytes()
    if data[:8] == BLOCK_MAGIC:
        entry = read_block(data)
    elif data[:8] == MANIFEST_MAGIC:
        entry = read_manifest(data)
    elif data[:8] == EXPORT_MAGIC:
        entry = read_export(data)
    else:
        raise Bad("neither a block nor a manifest nor exported prefixes")
    stem = pathlib.Path(path).name
    expected = name or (stem if len(stem) == 64 else None)
    check(expected in (None, entry["name"]), f"its name should be {entry['name']}")
    return entry


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--name", help="what the content's name should be, where the file's name does not say it")
    arguments = parser.parse_args()
    status = 0
    for path in arguments.files:
        try:
            print(json.dumps(read_file(path, arguments.name), indent=2))
        except (Bad, OSError, struct.error, UnicodeDecodeError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
