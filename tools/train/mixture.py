"""Puts documents together into training rows of 1,025 token ids (bit 15 set where the loss counts)."""
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor

import numpy as np

ROW = 1025
LOSS_BIT = 1 << 15

# Share of the tokens of each source. The corpus makes 60 %.
CORPUS = {"books": 0.41, "tinystories": 0.06, "story_chats": 0.01, "picture_books": 0.07, "sentences": 0.05}
GENERATED = {"stories": 0.14, "dialogues": 0.12, "json": 0.05, "tools": 0.09}
SHARES = {**CORPUS, **GENERATED}


class Source:
    """The documents of one source in an endless shuffled order."""

    def __init__(self, path, rng):
        data = np.load(path)
        self.tokens, self.offsets, self.rng = data["tokens"], data["offsets"], rng
        self.order, self.next = rng.permutation(len(self.offsets) - 1), 0
        self.mean_length = len(self.tokens) / max(1, len(self.order))

    def document(self):
        if self.next == len(self.order):
            self.order, self.next = self.rng.permutation(len(self.order)), 0
        index = self.order[self.next]
        self.next += 1
        return self.tokens[self.offsets[index]:self.offsets[index + 1]]

    def passage(self, length):
        """`length` tokens from the start of a random document on, going over into the next ones (paragraphs of a book)."""
        last = len(self.tokens) - length
        while True:
            start = self.offsets[self.rng.integers(0, len(self.order))]
            if start <= last:
                return self.tokens[start:start + length]


class Picker:
    """Draws source numbers with fixed weights, many at a time."""

    def __init__(self, weights, rng):
        self.weights, self.rng, self.drawn = weights, rng, iter(())

    def pick(self):
        value = next(self.drawn, None)
        if value is None:
            self.drawn = iter(self.rng.choice(len(self.weights), size=65536, p=self.weights))
            value = next(self.drawn)
        return value


def fill_document_row(row, sources, picker):
    """Whole documents one after another; the last one is cut off."""
    filled = 0
    while filled < ROW:
        document = sources[picker.pick()].document()
        take = min(len(document), ROW - filled)
        row[filled:filled + take] = document[:take]
        filled += take


def group_of(sources, shares, rng):
    """Sources and a picker that gives each its share of the tokens."""
    weights = np.array([share / sources[name].mean_length for name, share in shares.items()])
    return [sources[name] for name in shares], Picker(weights / weights.sum(), rng)


def build_shard(folder, rows, seed, path):
    """Writes [rows, 1025] uint16 to `path` (npy). A row is all corpus or all generated; bit 15 of its first id marks the corpus."""
    rng = np.random.default_rng(seed)
    sources = {name: Source(os.path.join(folder, f"{name}.train.npz"), rng) for name in SHARES}
    short_corpus = group_of(sources, {name: share for name, share in CORPUS.items() if name != "books"}, rng)
    generated = group_of(sources, GENERATED, rng)
    out = np.empty((rows, ROW), dtype=np.uint16)
    kinds = rng.random(rows)
    for index in range(rows):
        if kinds[index] < CORPUS["books"]:
            out[index] = sources["books"].passage(ROW)
        else:
            fill_document_row(out[index], *(short_corpus if kinds[index] < sum(CORPUS.values()) else generated))
        out[index, 0] &= LOSS_BIT - 1
        if kinds[index] < sum(CORPUS.values()):
            out[index, 0] |= LOSS_BIT
    np.save(path, out)


class RowBuilder:
    """Builds rows in worker processes while the caller does something else; the same arguments give the same rows."""

    def __init__(self, folder, rows, seed, workers):
        self.count = rows
        each = (rows + workers - 1) // workers
        self.scratch = tempfile.TemporaryDirectory(dir=folder)
        self.paths = [os.path.join(self.scratch.name, f"rows{worker}.npy") for worker in range(workers)]
        self.pool = ProcessPoolExecutor(workers)
        self.futures = [self.pool.submit(build_shard, folder, each, [seed, worker], path) for worker, path in enumerate(self.paths)]

    def rows(self):
        """[rows, 1025] uint16, once all workers are done."""
        for future in self.futures:
            future.result()
        self.pool.shutdown()
        rows = np.concatenate([np.load(path) for path in self.paths])[:self.count]
        self.scratch.cleanup()
        return rows


def validation_rows(folder, source, rows=64):
    """Held-out rows of one source: documents packed in order, books in consecutive windows."""
    tokens = np.load(os.path.join(folder, f"{source}.valid.npz"))["tokens"]
    count = min(rows, len(tokens) // ROW)
    return tokens[:count * ROW].reshape(count, ROW)
