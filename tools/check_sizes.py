#!/usr/bin/env python3
"""Fails on files and functions that are too long; prints how long they are.

Exceptions stand in tools/size_exceptions.txt, one `path: reason` or `path#function: reason` a line. An exception that is no longer
needed fails too, so that the list only shrinks.
"""

import argparse
import re
import statistics
import sys

import sources

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60

_CONTROL = re.compile(r"^(?:\}?\s*else\b|if|for|while|switch|catch|do|try|return)\b")
_SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum|extern\s*)\b[^()=]*(?:\([^()]*\)[^()=]*)*$")
# What may stand between the parameters of a function and its body.
_TAIL = re.compile(
    r"\)\s*(?:const|noexcept|override|final|mutable|try|&&?|requires\b.*|[A-Z][A-Z0-9_]*(?:\([^()]*\))?|->[^;{}]*|\s)*$")
_INITIALISERS = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:)")
_NAME = re.compile(r"(~?[\w:]+|operator\s*[^\s\w(]+|operator\s*\(\))\s*\(")


def kind_of(head):
    """What the brace after `head` opens: 'function', 'scope' (namespace, class) or 'other'."""
    head = head.strip()
    if _CONTROL.match(head):
        return "other"
    bare = re.sub(r"operator\s*[=!<>]=?", "operator", head)
    # Template heads and default arguments hold `=`; an initialised variable has it outside all brackets.
    if _has_outer_assignment(bare):
        return "other"
    if _SCOPE.search(head) and not _TAIL.search(bare):
        return "scope"
    if "(" in head and (_TAIL.search(bare) or (_INITIALISERS.search(bare) and bare[-1:] in ")}")):
        return "function"
    return "scope" if head.startswith("extern") else "other"


def name_of(head):
    """The name of the function that `head` declares; for a test the name that GoogleTest prints."""
    names = _NAME.findall(head)
    if not names:
        return "?"
    if re.match(r"(?:RC_G)?TEST", names[0]):
        return ".".join(re.findall(r"\w+", head[head.index("(") :])[:2])
    return names[0].strip()


def _has_outer_assignment(head):
    depth = 0
    for position, char in enumerate(head):
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "=" and depth == 0 and head[position - 1 : position] not in "<>=!":
            if not re.match(r"^\s*template\s*<[^()]*$", head[:position]):
                return True
    return False


def functions(text):
    """(name, first line, lines) of each function body in C++ text. A heuristic on braces, not a parser."""
    text = sources.blank_comments_and_strings(text)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.MULTILINE)
    found, stack = [], []
    head, head_line, line, parentheses = "", 1, 1, 0
    for char in text:
        if char == "\n":
            line += 1
        inside = any(kind == "function" for kind, _, _ in stack)
        if char == "(":
            parentheses += 1
        elif char == ")":
            parentheses -= 1
        if char == "{":
            kind = "other" if inside or parentheses > 0 else kind_of(head)
            stack.append((kind, head, head_line))
            if kind != "other":
                head = ""
        elif char == "}":
            kind, opened, first = stack.pop() if stack else ("scope", "", line)
            if kind == "function":
                found.append((name_of(opened), first, line - first + 1))
            head = "" if kind != "other" else opened + "{}"
            continue
        elif char == ";" and parentheses == 0:
            head = ""
        elif char == ":" and head.strip() in ("public", "private", "protected"):
            head = ""
        elif not inside:
            if not head.strip():
                head, head_line = "", line
            head += char
    return found


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0


def row(name, values):
    return (f"{name:<12}{len(values):>7}{statistics.median(values or [0]):>8.0f}{percentile(values, 0.9):>7}"
            f"{percentile(values, 0.99):>7}{max(values or [0]):>7}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sources.root_argument(parser)
    root = parser.parse_args().root
    exceptions = sources.read_list(root / "tools/size_exceptions.txt")
    too_long, file_lines, function_lines = {}, [], []
    scripts = sorted(path.relative_to(root) for path in (root / "tools").rglob("*.py"))
    for path in sources.cpp_files(root) + scripts:
        text = (root / path).read_text()
        count = text.count("\n")
        file_lines.append(count)
        if count > MAX_FILE_LINES:
            too_long[path.as_posix()] = f"{path}: {count} lines; at most {MAX_FILE_LINES}"
        if path.suffix == ".py":
            continue
        for name, first, lines in functions(text):
            function_lines.append(lines)
            if lines > MAX_FUNCTION_LINES:
                too_long[f"{path}#{name}"] = f"{path}:{first}: {name} has {lines} lines; at most {MAX_FUNCTION_LINES}"

    print(f"{'lines':<12}{'count':>7}{'median':>8}{'p90':>7}{'p99':>7}{'max':>7}")
    print(row("files", file_lines))
    print(row("functions", function_lines))
    problems = [text for name, text in sorted(too_long.items()) if name not in exceptions]
    problems += [f"tools/size_exceptions.txt: {name} needs no exception" for name in exceptions if name not in too_long]
    for name, reason in exceptions.items():
        print(f"exception: {name}: {reason}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
