#!/usr/bin/env python3
"""Writes sample completions and counts right answers on held-out chats. Needs torch and transformers.

Usage: evaluate.py HF_DIR OUT.txt [--chats N]
"""
import argparse
import json
import os
import random
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chatml  # noqa: E402
from config import END_OF_TEXT_ID, IM_END_ID  # noqa: E402
from generator import json_answers, passages, questions, tool_calls  # noqa: E402

WEATHER = tool_calls.function("get_weather", "Get the weather in a city", {"city": ("string", "Name of the city")})
TIMER = tool_calls.function("set_timer", "Set a timer", {"minutes": ("integer", "Number of minutes")})
PAINT = tool_calls.function("paint_fence", "Paint the fence", {"color": ("string", "The color"), "day": ("string", "On which day")})

STORY_PROMPTS = ["Once upon a time", "One day, a little girl named Mia found a", "The old wizard looked at the", "Tom had a red ball. He",
                 "In the middle of the forest there was", "The princess said to the king,", "It was raining, so Ben and his mom"]


def user(text, system=None, tools=None, before=()):
    messages = ([{"role": "system", "content": system}] if system else []) + list(before) + [{"role": "user", "content": text}]
    return chatml.render(messages, tools, add_generation_prompt=True)


def said(question, answer):
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


def weather_answered():
    messages = [{"role": "user", "content": "How is the weather in Oslo?"},
                {"role": "assistant", "content": "", "tool_calls": [tool_calls.call("get_weather", {"city": "Oslo"})]},
                {"role": "tool", "name": "get_weather", "content": '{"weather": "snowy", "temperature": -4}'}]
    return chatml.render(messages, [WEATHER], add_generation_prompt=True)


def chat_prompts():
    return [
        user("Tell me a story about a fox and a lantern."), user("Tell me a short story."), user("Who are you?"),
        user("What is the capital of France?"), user("What is 7 plus 5?"), user("What is a volcano?", "You are a helpful assistant."),
        user("What does a bee make and what color is grass?"), user("Hello! How are you?"),
        user("What color is a banana?", "Answer in one word."), user("What is the name of my uncle?"),
        user("What is my name?", before=said("Hi, my name is Clara.", "Hello Clara! Nice to meet you.")),
        user("Maria has a blue bicycle and a dog named Bruno. What is the dog called?"),
        user("Name three animals."), user("Count from 3 to 9."), user("Which is bigger, a mouse or a horse?"),
        user("This is Paul. He is 34 years old and lives in Oslo. Give me JSON with the keys name, age and city."),
        user("Tom is 9 years old. He likes chess. Use this form: {\"name\": string, \"age\": number, \"hobby\": string}",
             "Answer only in JSON."),
        user("Put apple, pear and plum in a JSON list with the key fruits."),
        user("What is the weather in Madrid?", tools=[WEATHER, TIMER]), user("Please set a timer for 12 minutes.", tools=[WEATHER, TIMER]),
        user("Paint the fence green on Friday.", "You are a helpful assistant.", [PAINT, WEATHER]), weather_answered(),
        user("What is the opposite of hot?", tools=[WEATHER]), user("Send a message to Anna: I am late", tools=[TIMER]),
    ]


class Generator:
    """Batched generation with left padding. One thread."""

    def __init__(self, folder):
        self.tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).to(self.device).eval()

    def complete(self, prompts, tokens, **sampling):
        """[(text with special tokens up to the stop, whether it stopped by itself)]."""
        out = []
        for start in range(0, len(prompts), 256):
            batch = self.tokenizer(prompts[start:start + 256], return_tensors="pt", padding=True, add_special_tokens=False).to(self.device)
            batch.pop("token_type_ids", None)
            with torch.no_grad():
                ids = self.model.generate(**batch, max_new_tokens=tokens, eos_token_id=[END_OF_TEXT_ID, IM_END_ID],
                                          pad_token_id=END_OF_TEXT_ID, **(sampling or {"do_sample": False}))
            for row in ids[:, batch["input_ids"].shape[1]:].tolist():
                ends = [i for i, token in enumerate(row) if token in (END_OF_TEXT_ID, IM_END_ID)]
                row = row[:ends[0] + 1] if ends else row
                out.append((self.tokenizer.decode(row), bool(ends)))
        return out


def json_cases(count):
    rng, cases = random.Random("evaluate json"), []
    for _ in range(count):
        question, answer = rng.choice([json_answers.extraction, json_answers.direct, json_answers.array_answer])(rng)
        cases.append((user(question, rng.choice(json_answers.JSON_SYSTEMS)), answer))
    return cases


def tool_cases(count):
    rng, cases = random.Random("evaluate tools"), []
    while len(cases) < count:
        messages, tools = tool_calls.make_tool_chat(rng)
        index = next(i for i, m in enumerate(messages) if m["role"] == "assistant")
        cases.append((chatml.render(messages[:index], tools, True), chatml.assistant_body(messages[index])))
    return cases


def question_cases(count):
    rng, cases = random.Random("evaluate questions"), []
    while len(cases) < count:
        question, _, short = questions.make_question(rng)
        if question.rstrip(".?").split()[0] in ("Name", "Give", "List", "Can", "Please", "Which", "Find") and "," in short or "rhym" in question:
            continue  # any list or rhyme would do
        cases.append((user(question, "Give only the answer and nothing else."), short))
    return cases


def passage_cases(count):
    rng, cases = random.Random("evaluate passages"), []
    for _ in range(count):
        passage, asked = passages.make_passage(rng)
        question, _, short = asked[0]
        cases.append((user(f"{passage}\n\n{question}", "Give only the answer and nothing else."), short))
    return cases


def is_json(text):
    try:
        json.loads(text)
        return True
    except ValueError:
        return False


def same(text, want):
    """Equal but for capitals; any way of saying that there is no tool will do."""
    refusals = ("I do not have a tool for that.", "I am sorry, I have no tool for that.")
    return text.lower() == want.lower() or (text in refusals and want in refusals)


def score(generator, name, cases, tokens):
    results = generator.complete([prompt for prompt, _ in cases], tokens)
    texts = [text.removesuffix(chatml.IM_END) for text, _ in results]
    right = sum(same(text, want) for text, (_, want) in zip(texts, cases))
    stopped = sum(stopped for _, stopped in results)
    line = f"{name}: {right} of {len(cases)} right, {stopped} stopped by themselves"
    if name == "json":
        line += f", {sum(is_json(text) for text in texts)} valid JSON"
    wrong = [(text, want) for text, (_, want) in zip(texts, cases) if not same(text, want)]
    return line, wrong[:12]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("--chats", type=int, default=200)
    args = parser.parse_args()
    torch.manual_seed(7)
    generator = Generator(args.folder)
    with open(args.out, "w", encoding="utf-8") as f:
        for name, cases, tokens in (("json", json_cases(args.chats), 120), ("tools", tool_cases(args.chats), 120),
                                    ("questions", question_cases(args.chats), 60), ("passages", passage_cases(args.chats), 40)):
            line, wrong = score(generator, name, cases, tokens)
            print(line, flush=True)
            f.write(line + "\n" + "".join(f"  got {got!r}\n want {want!r}\n" for got, want in wrong))
        prompts = STORY_PROMPTS + chat_prompts()
        for title, sampling in (("greedy", {}), ("temperature 0.7, top-p 0.95", {"do_sample": True, "temperature": 0.7, "top_p": 0.95})):
            f.write(f"\n######## {title}\n")
            for prompt, (text, stopped) in zip(prompts, generator.complete(prompts, 300, **sampling)):
                f.write(f"\n=== {prompt}\n>>> {text}{'' if stopped else ' [cut]'}\n")


if __name__ == "__main__":
    main()
