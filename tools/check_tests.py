#!/usr/bin/env python3
"""Fails when a source has no test, or a test is not built.

src/a/b.cc is tested by tests/a/b_test.cc. Sources that another test exercises stand in tools/untested.txt, one `path: test
and reason` a line; the path may end in `*`, and the text names a file below tests/ that exists. A build folder is needed to
know what is built (its compile_commands.json).
"""

import argparse
import fnmatch
import json
import pathlib
import re
import sys

import sources


def built_files(build):
    """The files that CMake compiles."""
    commands = json.loads((build / "compile_commands.json").read_text())
    return {pathlib.Path(command["directory"], command["file"]).resolve() for command in commands}


def check_sources(root, built, untested):
    """Problems of the sources and of the list, and how many sources there are."""
    problems, needed = [], set()
    files = [path for path in sources.cpp_files(root, ("src",)) if path.suffix == ".cc"]
    for path in files:
        name = path.as_posix()
        test = pathlib.Path("tests", *path.parts[1:-1], path.stem + "_test.cc")
        if (root / path).resolve() not in built:
            problems.append(f"{name}: is not built; name it in a CMakeLists.txt")
        if (root / test).exists():
            continue
        entries = [pattern for pattern in untested if fnmatch.fnmatch(name, pattern)]
        needed.update(entries)
        if not entries:
            problems.append(f"{name}: has no {test}; write it, or name in tools/untested.txt what tests it")
    for pattern, reason in untested.items():
        if pattern not in needed:
            problems.append(f"tools/untested.txt: {pattern} needs no entry")
        named = re.findall(r"tests/[\w./-]*\w", reason)
        if not any((root / test).exists() for test in named):
            problems.append(f"tools/untested.txt: {pattern}: name a file of tests/ that exercises it")
    return problems, len(files)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sources.root_argument(parser)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a configured build folder")
    arguments = parser.parse_args()
    root = arguments.root
    built = built_files(arguments.build)
    untested = sources.read_list(root / "tools/untested.txt")
    problems, count = check_sources(root, built, untested)
    for path in sources.cpp_files(root, ("tests",)):
        if path.name.endswith("_test.cc") and (root / path).resolve() not in built:
            problems.append(f"{path}: is not built; register it with kvern_add_test")
    for problem in problems:
        print(problem)
    print(f"tests: {count} sources, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
