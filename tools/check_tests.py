#!/usr/bin/env python3
"""Fails when a source has no test, or a test is not built.

src/a/b.cc is tested by tests/a/b_test.cc; sources that are tested otherwise stand in tools/untested.txt, one `path:
reason` a line. A build folder is needed to know what is built (its compile_commands.json).
"""

import argparse
import json
import pathlib
import sys

import sources


def built_files(build):
    """The files that CMake compiles."""
    commands = json.loads((build / "compile_commands.json").read_text())
    return {pathlib.Path(command["directory"], command["file"]).resolve() for command in commands}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sources.root_argument(parser)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a configured build folder")
    arguments = parser.parse_args()
    root = arguments.root
    built = built_files(arguments.build)
    untested = sources.read_list(root / "tools/untested.txt")
    problems, checked = [], 0

    for path in sources.cpp_files(root, ("src",)):
        if path.suffix != ".cc":
            continue
        checked += 1
        name = path.as_posix()
        test = pathlib.Path("tests", *path.parts[1:-1], path.stem + "_test.cc")
        tested = (root / test).exists()
        if (root / path).resolve() not in built:
            problems.append(f"{name}: is not built; name it in a CMakeLists.txt")
        if not tested and name not in untested:
            problems.append(f"{name}: has no {test}; write it, or give a reason in tools/untested.txt")
        if tested and name in untested:
            problems.append(f"tools/untested.txt: {name} has a test")
    problems += [f"tools/untested.txt: there is no {name}" for name in untested if not (root / name).exists()]
    for path in sources.cpp_files(root, ("tests",)):
        if path.name.endswith("_test.cc") and (root / path).resolve() not in built:
            problems.append(f"{path}: is not built; register it with kvern_add_test")

    for problem in problems:
        print(problem)
    print(f"tests: {checked} sources, {len(untested)} tested elsewhere, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
