#!/usr/bin/env python3
"""Fails when docs/parity.md names a test that does not exist, or has a row that names none and is not open.

A test is `path::Name`, the path below tests/ (or src/, for planted faults, or the root) and the name as the file spells it,
or a path alone. Every row of a table ends in a cell that names at least one, or that begins with "open" or "not ours" and a reason.
"""

import argparse
import re
import sys

import sources

_CODE = re.compile(r"`([\w./-]+\.(?:cc|c|h|py|sh))(?:::(\w+))?`")
_EXCUSE = re.compile(r"(?:open|not ours): \S")


def missing(root, path, name):
    """Why `path::name` is no test, or None."""
    files = [root / folder / path for folder in ("tests", "src", ".") if (root / folder / path).is_file()]
    if not files:
        return f"there is no {path}"
    if name is None:
        return None
    text = files[0].read_text()
    if path.endswith("_test.cc"):
        found = re.search(rf"\b(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP)\(\s*\w+,\s*{name}\b", text)
    else:
        found = re.search(rf"\b{name}\b", text)
    return None if found else f"{path} has no {name}"


def check_line(root, line):
    """The problems of a line, and how many tests it names."""
    named = _CODE.findall(line)
    problems = [why for path, name in named if (why := missing(root, path, name or None))]
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    is_row = line.startswith("|") and not set(line) <= set("|- ")
    if is_row and not _CODE.search(cells[-1]) and not _EXCUSE.match(cells[-1]):
        problems.append("the row names no test and is not open")
    return problems, len(named)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sources.root_argument(parser)
    root = parser.parse_args().root
    failed = count = 0
    lines = (root / "docs/parity.md").read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if number < len(lines) and lines[number].startswith("| ---"):
            continue  # the head of a table
        problems, tests = check_line(root, line)
        count += tests
        failed += len(problems)
        for problem in problems:
            print(f"docs/parity.md:{number}: {problem}")
    print(f"parity: {count} tests named, {failed} problems")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
