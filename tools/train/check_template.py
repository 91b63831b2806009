#!/usr/bin/env python3
"""Checks that the Jinja chat template gives the bytes that the training data has. Needs jinja2.

Usage: check_template.py [CHATS]
"""
import json
import os
import random
import sys

import jinja2

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chatml  # noqa: E402
from generator import dialogues, json_answers, tool_calls  # noqa: E402


def environment():
    """Jinja set up as transformers does it: trimmed blocks, plain JSON without HTML escapes."""
    env = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    env.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return env


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    template = environment().from_string(chatml.CHAT_TEMPLATE)
    rng = random.Random("template")
    for index in range(count):
        if index % 3 == 0:
            messages, tools = tool_calls.make_tool_chat(rng)
        else:
            messages, tools = (dialogues.make_dialogue if index % 3 == 1 else json_answers.make_json_chat)(rng), None
        for length in range(1, len(messages) + 1):
            for prompt in (False, True):
                want = chatml.render(messages[:length], tools, prompt)
                got = template.render(messages=messages[:length], tools=tools, add_generation_prompt=prompt)
                if want != got:
                    sys.exit(f"differs:\n{want!r}\n{got!r}")
    print(f"{count} chats: template and renderer agree")


if __name__ == "__main__":
    main()
