#!/usr/bin/env python3
"""clang-tidy over sources, passing over those that were clean before.

    python3 tools/tidy_cached.py BUILD_FOLDER FILE...

BUILD_FOLDER holds compile_commands.json of a clang build. A source is passed over when nothing that clang-tidy sees has
changed since it was clean: the preprocessed text with its comments and macros, .clang-tidy, the command, the version. The
place of the checkout does not count. The marks lie in $KVERN_TIDY_CACHE (default ~/.cache/kvern-tidy); removing that folder
has everything looked at again.
"""

import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

TIDY = "clang-tidy-19"


def preprocess_command(entry):
    """The compiler's command of an entry of compile_commands.json, turned into one that prints the preprocessed text."""
    words = shlex.split(entry["command"])
    words = [word for word in words if not word.endswith("ccache")]
    kept, skip = [], False
    for word in words:
        if skip or word in ("-c", entry["file"]):
            skip = False
        elif word == "-o":
            skip = True
        else:
            kept.append(word)
    return kept + ["-E", "-C", "-P", "-dD", entry["file"]]


def mark_of(entry, common):
    """The name of the mark that says `clean`; None where the source cannot be preprocessed, which clang-tidy will explain."""
    command = preprocess_command(entry)
    done = subprocess.run(command, cwd=entry["directory"], capture_output=True, check=False)
    if done.returncode != 0:
        return None
    seen = " ".join(command).encode() + done.stdout
    return hashlib.sha256(common + seen.replace(os.getcwd().encode(), b".")).hexdigest()


def main():
    build = pathlib.Path(sys.argv[1])
    cache = pathlib.Path(os.environ.get("KVERN_TIDY_CACHE", "~/.cache/kvern-tidy")).expanduser()
    cache.mkdir(parents=True, exist_ok=True)
    entries = {entry["file"]: entry for entry in json.loads((build / "compile_commands.json").read_text())}
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    common = pathlib.Path(".clang-tidy").read_bytes() + version
    failed = False
    for name in sys.argv[2:]:
        entry = entries.get(str(pathlib.Path(name).resolve()))
        mark = mark_of(entry, common) if entry else None
        if mark and (cache / mark).exists():
            continue
        done = subprocess.run([TIDY, "-p", str(build), "--quiet", "--warnings-as-errors=*", name],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            failed = True
            print(f"tidy: {name}\n{done.stdout}{done.stderr}", flush=True)
        elif mark:
            (cache / mark).touch()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
