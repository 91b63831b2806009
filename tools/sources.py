"""What the lint tools share: finding sources, reading includes, blanking comments and strings."""

import pathlib
import re

CPP_SUFFIXES = {".h", ".cc"}
CPP_FOLDERS = ("include", "src", "tests", "bench", "fuzz", "examples")

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
_TOKEN = re.compile(
    r'//[^\n]*'                                # line comment
    r'|/\*.*?\*/'                              # block comment
    r'|R"(?P<mark>[^()\\ ]{0,16})\(.*?\)(?P=mark)"'  # raw string
    r'|"(?:\\.|[^"\\\n])*"'                    # string
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",   # character, but not the separator in 1'000
    re.DOTALL,
)


def cpp_files(root, folders=CPP_FOLDERS):
    """Sorted paths, relative to the root, of the C++ files in some folders."""
    found = []
    for folder in folders:
        for path in (root / folder).rglob("*"):
            if path.suffix in CPP_SUFFIXES and path.is_file():
                found.append(path.relative_to(root))
    return sorted(found)


def includes(path):
    """The includes of a file, in order, as (quote, name): ('"', 'base/result.h') or ('<', 'vector')."""
    return [(match[1], match[2]) for match in _INCLUDE.finditer(blank_comments(path.read_text()))]


def _blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def blank_comments(text):
    """The text with comments replaced by spaces; lines stay where they are."""
    return _TOKEN.sub(lambda match: _blank(match) if match[0].startswith("/") else match[0], text)


def blank_comments_and_strings(text):
    """The text with comments and the inside of literals replaced by spaces; lines stay where they are."""
    return _TOKEN.sub(_blank, text)


def read_list(path):
    """A file of `name: reason` lines as a dictionary; a line that begins with `#` is a comment."""
    entries = {}
    if not path.exists():
        return entries
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, separator, reason = line.partition(": ")
        if not separator or not reason.strip():
            raise SystemExit(f"{path}:{number}: expected `name: reason`")
        entries[name.strip()] = reason.strip()
    return entries


def root_argument(parser):
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the repository (default: the one of this tool)")
