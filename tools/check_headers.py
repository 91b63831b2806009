#!/usr/bin/env python3
"""Fails when a header does not compile alone.

A header that is the first include of a built source has compiled alone there already; only the others are compiled here
(syntax only). Headers that Highway includes once for each target (-inl.h) are no headers in this sense.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

import sources

FOLDERS = ("include", "src", "tests")


def proven(root, commands):
    """Headers that are the first include of a source that is built."""
    found = set()
    for command in commands:
        path = pathlib.Path(command["directory"], command["file"])
        if not path.is_relative_to(root) or not path.exists():
            continue
        includes = sources.includes(path)
        if not includes or includes[0][0] != '"':
            continue
        for folder in (root / "src", root / "include", root / "tests"):
            if (folder / includes[0][1]).exists():
                found.add((folder / includes[0][1]).relative_to(root))
    return found


def flags_for(header, root, commands):
    """The flags of the built file that is nearest to the header in the tree, without its input and output."""
    def nearness(command):
        return len(os.path.commonpath([root / header, command["file"]]))
    nearest = max(commands, key=nearness)
    flags, words = [], iter(shlex.split(nearest["command"]))
    for word in words:
        if word == "-o":
            next(words)
        elif word != "-c" and not word.endswith("ccache") and not nearest["file"].endswith(word):
            flags.append(word)
    return flags


def compile_alone(header, root, commands):
    command = flags_for(header, root, commands)
    command += [f"-I{root / 'tests'}", "-fsyntax-only", "-include", str(root / header), "-x", "c++", os.devnull]
    return header, subprocess.run(command, capture_output=True, text=True, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sources.root_argument(parser)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a configured build folder")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    commands = json.loads((arguments.build / "compile_commands.json").read_text())
    commands = [c for c in commands if c["file"].endswith(".cc")]
    headers = [path for path in sources.cpp_files(root, FOLDERS)
               if path.suffix == ".h" and not path.name.endswith("-inl.h")]
    done = proven(root, commands)
    todo = [header for header in headers if header not in done]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for header, result in pool.map(lambda h: compile_alone(h, root, commands), todo):
            if result.returncode != 0:
                failed += 1
                print(f"{header} does not compile alone:\n{result.stderr}")
    print(f"headers: {len(headers)}, of these compiled here: {len(todo)}, {failed} problems")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
