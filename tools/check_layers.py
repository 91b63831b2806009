#!/usr/bin/env python3
"""Fails when a file includes what its layer may not, or when headers or parts of layers include each other in a circle.

A layer is a folder below src/, a part a folder in it; LAYERS is the graph of docs/architecture.md. The rest of the tree has
rules too: the public headers stand alone, examples see only them.
"""

import argparse
import re
import sys

import sources

# May include itself and the layers named.
LAYERS = {
    "base": [],
    "compute": ["base"],
    "state": ["compute", "base"],
    "text": ["base"],
    "model": ["state", "compute", "base"],
    "store": ["state", "base"],
    "engine": ["store", "model", "text", "state", "compute", "base"],
    "server": ["engine", "store", "text", "base"],
    "cli": ["server", "engine", "store", "model", "text", "state", "compute", "base"],
}
# Layers that implement the public headers, and so include them.
PUBLIC_IMPLEMENTERS = {"base", "state", "engine", "server", "cli"}
ALL_LAYERS = set(LAYERS)
STANDARD_HEADER = re.compile(r"[a-z_0-9]+|std[a-z]+\.h")


def folder_of(name):
    return name.split("/", 1)[0]


def allowed(path):
    """The first path components of quoted includes that a file may use, or None where anything goes."""
    top, second = path.parts[0], path.parts[1]
    if top == "src":
        public = {"kvern"} if second in PUBLIC_IMPLEMENTERS else set()
        return {second} | set(LAYERS.get(second, [])) | public
    if top in ("include", "examples"):
        return {"kvern"}
    support = {"support"} if top in ("tests", "bench", "fuzz") else set()
    return ALL_LAYERS | {"kvern", top} | support


def forbidden_includes(root):
    for path in sources.cpp_files(root):
        may = allowed(path)
        if path.parts[0] == "src" and path.parts[1] not in LAYERS:
            yield f"{path}: {path.parts[1]}/ is no layer; the layers are {', '.join(LAYERS)}"
            continue
        for quote, name in sources.includes(root / path):
            target = folder_of(name)
            ours = target in ALL_LAYERS | {"kvern", "support"}
            if quote == '"' and ours and target not in may:
                yield f"{path}: may not include {name} (it may include {', '.join(sorted(may))})"
            elif path.parts[0] == "include" and quote == "<" and not STANDARD_HEADER.fullmatch(name):
                yield f"{path}: a public header includes {name}, which is not the standard library's"


def header_graph(root):
    """Which header includes which, below src/."""
    graph = {}
    for path in sources.cpp_files(root, ("src",)):
        if path.suffix == ".h":
            included = (name for quote, name in sources.includes(root / path) if quote == '"')
            graph[path.as_posix().removeprefix("src/")] = set(included)
    return graph


def folder_graph(root):
    """Which part of a layer includes which: compute/kernels, compute/threads, ... What lies directly in the folder of a
    layer ties its parts together and is left out."""
    graph = {}
    for path in sources.cpp_files(root, ("src",)):
        if len(path.parts) < 4:
            continue
        part = "/".join(path.parts[1:3])
        edges = graph.setdefault(part, set())
        for quote, name in sources.includes(root / path):
            if quote == '"' and name.count("/") > 1 and "/".join(name.split("/")[:2]) != part:
                edges.add("/".join(name.split("/")[:2]))
    return graph


def find_circle(graph):
    """One circle as a list of nodes, or None. Depth first, without recursion."""
    done = set()
    for start in sorted(graph):
        if start in done:
            continue
        trail, on_trail = [start], {start}
        pending = [iter(sorted(graph[start]))]
        while trail:
            following = next(pending[-1], None)
            if following is None:
                done.add(trail[-1])
                on_trail.remove(trail.pop())
                pending.pop()
            elif following in on_trail:
                return trail[trail.index(following):] + [following]
            elif following in graph and following not in done:
                trail.append(following)
                on_trail.add(following)
                pending.append(iter(sorted(graph[following])))
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sources.root_argument(parser)
    root = parser.parse_args().root
    problems = list(forbidden_includes(root))
    for what, graph in (("headers", header_graph(root)), ("parts of layers", folder_graph(root))):
        if circle := find_circle(graph):
            problems.append(f"{what} include each other: " + " -> ".join(circle))
    for problem in problems:
        print(problem)
    print(f"layers: {len(header_graph(root))} headers, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
