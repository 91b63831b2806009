#!/usr/bin/env python3
"""Writes generated training documents: one JSON object a line with "kind" and "text". Standard library only.

Usage: generate_data.py KIND COUNT [SEED]     KIND: stories, dialogues, json, tools

The same kind, count and seed give the same lines. prepare.py calls `documents` directly, with one seed per shard.
"""
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chatml  # noqa: E402
from generator import dialogues, json_answers, stories, tool_calls  # noqa: E402


def story_text(rng):
    return stories.titled_story(rng)


def dialogue_text(rng):
    return chatml.render(dialogues.make_dialogue(rng))


def json_text(rng):
    return chatml.render(json_answers.make_json_chat(rng))


def tools_text(rng):
    messages, tools = tool_calls.make_tool_chat(rng)
    return chatml.render(messages, tools)


KINDS = {"stories": story_text, "dialogues": dialogue_text, "json": json_text, "tools": tools_text}


def documents(kind, count, seed):
    """Yields `count` texts of one kind."""
    rng = random.Random(f"{kind}/{seed}")
    for _ in range(count):
        yield KINDS[kind](rng)


def main():
    kind, count = sys.argv[1], int(sys.argv[2])
    seed = sys.argv[3] if len(sys.argv) > 3 else "0"
    for text in documents(kind, count, seed):
        sys.stdout.write(json.dumps({"kind": kind, "text": text}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
