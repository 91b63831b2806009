#!/usr/bin/env python3
"""Trains the tokenizer and turns corpus and generated documents into arrays of token ids. Needs numpy and tokenizers.

Usage: prepare.py CORPUS_DIR OUT_DIR [--tokenizer FILE] [--scale X] [--workers N]

OUT_DIR gets tokenizer.json and, for each source and split, `<source>.<split>.npz` with `tokens` (uint16; bit 15 set where the
loss counts) and `offsets` (int64, documents + 1). --scale multiplies the number of generated documents.
"""
import argparse
import json
import os
import random
import sys
from concurrent.futures import ProcessPoolExecutor

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import numpy as np  # noqa: E402
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers  # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chatml  # noqa: E402
import corpus  # noqa: E402
import generate_data  # noqa: E402

VOCAB = 4096
LOSS_BIT = 1 << 15
GENERATED = {"stories": 260000, "dialogues": 520000, "json": 260000, "tools": 200000}
HELD_OUT_GENERATED = 400
STORY_VARIANTS = 24
# The pre-tokenizer of Llama 3, known to llama.cpp as "llama-bpe".
LLAMA3_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
                  r"\s+(?!\S)|\s+")


def train_tokenizer(texts, path):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3_PATTERN), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(vocab_size=VOCAB, special_tokens=chatml.SPECIAL_TOKENS + chatml.TOOL_TAGS,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.save(path)
    finish_tokenizer_file(path)


def finish_tokenizer_file(path):
    """Tool tags are tokens of their own but ordinary text, so decoding keeps them; whole words in the vocabulary skip the merges."""
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    for token in data["added_tokens"]:
        token["special"] = token["content"] in chatml.SPECIAL_TOKENS
        token["normalized"] = False
    data["model"]["ignore_merges"] = True
    with open(path, "w", encoding="utf-8") as f:
        json.dump(data, f, ensure_ascii=False, indent=1)


def tokenizer_texts(sources):
    """Text to count pairs in: simple stories weigh more than the old books."""
    yield from sources["tinystories"][0]
    yield from sources["tinystories"][0]
    yield from sources["picture_books"][0]
    yield from sources["picture_books"][0]
    yield from sources["sentences"][0]
    for book in sources["books"][0]:
        yield from book[::3]
    for kind, count in (("stories", 4000), ("dialogues", 8000), ("json", 5000), ("tools", 2500)):
        yield from generate_data.documents(kind, count, "tokenizer")


class Encoder:
    """Text to token ids with the loss bit. One a process."""

    def __init__(self, path):
        self.tokenizer = Tokenizer.from_file(path)
        self.end = self.tokenizer.token_to_id(chatml.END_OF_TEXT)
        self.im_end = self.tokenizer.token_to_id(chatml.IM_END)
        self.header = self.tokenizer.encode(chatml.GENERATION_PROMPT).ids

    def loss_mask(self, ids):
        """True on the assistant's words and on the <|im_end|> after them."""
        mask = np.zeros(len(ids), dtype=bool)
        header, width, index = self.header, len(self.header), 0
        while index < len(ids):
            if ids[index] == header[0] and ids[index:index + width] == header:
                start = index + width
                index = ids.index(self.im_end, start) + 1
                mask[start:index] = True
            else:
                index += 1
        return mask

    def encode(self, texts, chat):
        """Documents -> (tokens with loss bits, lengths); plain text ends with <|endoftext|>, and every token of it counts."""
        parts, lengths = [], []
        for encoded in self.tokenizer.encode_batch(texts):
            ids = encoded.ids
            tokens = np.array(ids + [self.end], dtype=np.uint16)
            mask = np.append(self.loss_mask(ids), False) if chat else np.ones(len(tokens), dtype=bool)
            tokens[mask] |= LOSS_BIT
            parts.append(tokens)
            lengths.append(len(tokens))
        return np.concatenate(parts), np.array(lengths, dtype=np.int64)


def story_chat(story, rng):
    """A corpus story as the answer to a request."""
    opening = " ".join(story.split()[:rng.randint(3, 7)])
    request = rng.choice(["Tell me a story.", "Please tell me a story.", "Write a short story.", "Tell me another story.",
                          "Write a story for children.", f"Write a story that starts with \"{opening}\".",
                          f"Continue this story: {opening}", f"Begin a story with the words: {opening}"])
    return chatml.render([{"role": "user", "content": request}, {"role": "assistant", "content": story}])


def encode_job(job):
    """Runs in a worker: (tokens, lengths) of one shard."""
    path, kind, payload, seed = job
    encoder = Encoder(path)
    if kind in GENERATED:
        return encoder.encode(list(generate_data.documents(kind, payload, seed)), kind != "stories")
    rng = random.Random(f"{kind}/{seed}")
    if kind == "story_variants":
        return encoder.encode([corpus.swap_words(story, rng) for story in payload], False)
    if kind == "story_chats":
        return encoder.encode([story_chat(corpus.swap_words(story, rng), rng) for story in payload], True)
    return encoder.encode(payload, False)


def book_texts(book):
    """A book as one document, paragraph by paragraph so that training can start at any of them."""
    return [paragraph + "\n\n" for paragraph in book]


def encode_books(path, books):
    """Paragraphs as documents without <|endoftext|>, except after the last one of a book."""
    encoder = Encoder(path)
    parts, lengths = [], []
    for book in books:
        for index, encoded in enumerate(encoder.tokenizer.encode_batch(book_texts(book))):
            ids = encoded.ids + ([encoder.end] if index + 1 == len(book) else [])
            parts.append(np.array(ids, dtype=np.uint16) | LOSS_BIT)
            lengths.append(len(ids))
    return np.concatenate(parts), np.array(lengths, dtype=np.int64)


def save(out, name, pieces):
    tokens = np.concatenate([tokens for tokens, _ in pieces]).astype(np.uint16)
    lengths = np.concatenate([lengths for _, lengths in pieces])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    np.savez(os.path.join(out, name + ".npz"), tokens=tokens, offsets=offsets)
    counted = int((tokens >= LOSS_BIT).sum())
    print(f"{name}: {len(lengths)} documents, {len(tokens)} tokens, {counted} with loss", flush=True)


def all_jobs(path, sources, scale, shards):
    """{output name: list of worker jobs}."""
    jobs = {}
    for kind, count in GENERATED.items():
        each = max(1, int(count * scale) // shards)
        jobs[kind + ".train"] = [(path, kind, each, f"train-{shard}") for shard in range(shards)]
        jobs[kind + ".valid"] = [(path, kind, HELD_OUT_GENERATED, "valid")]
    trained, held = sources["tinystories"]
    variants = max(1, int(STORY_VARIANTS * min(1.0, scale)))
    jobs["tinystories.train"] = [(path, "plain", trained, 0)] + [(path, "story_variants", trained, v) for v in range(1, variants)]
    jobs["story_chats.train"] = [(path, "story_chats", trained, v) for v in range(max(1, variants // 3))]
    jobs["tinystories.valid"] = [(path, "plain", held, 0)]
    for name in ("picture_books", "sentences"):
        jobs[name + ".train"] = [(path, "plain", sources[name][0], 0)]
        jobs[name + ".valid"] = [(path, "plain", sources[name][1], 0)]
    return jobs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus")
    parser.add_argument("out")
    parser.add_argument("--tokenizer")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    sources = corpus.load(args.corpus)
    path = os.path.join(args.out, "tokenizer.json")
    if args.tokenizer:
        with open(args.tokenizer, "rb") as given, open(path, "wb") as kept:
            kept.write(given.read())
    else:
        os.environ["TOKENIZERS_PARALLELISM"] = "true"
        train_tokenizer(tokenizer_texts(sources), path)
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
    print("tokenizer ready", flush=True)
    jobs = all_jobs(path, sources, args.scale, shards=64)
    with ProcessPoolExecutor(args.workers) as pool:
        pending = {name: [pool.submit(encode_job, job) for job in group] for name, group in jobs.items()}
        for split_index, split in enumerate(("train", "valid")):
            save(args.out, f"books.{split}", [encode_books(path, sources["books"][split_index])])
        for name, futures in pending.items():
            save(args.out, name, [future.result() for future in futures])


if __name__ == "__main__":
    main()
