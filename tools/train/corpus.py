"""Reads the text corpus: cleans it, splits it into documents, removes duplicates, holds a part out. Standard library only."""
import os
import random
import re

from generator import words

# UTF-8 read as Windows-1252 and written again, as found in the TinyStories samples.
MOJIBAKE = {"â€œ": '"', "â€\u009d": '"', "â€™": "'", "â€˜": "'", "â€“": "-", "â€”": "—", "â€¦": "...", "â€": '"'}
PLAIN_QUOTES = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "…": "...", "\u2011": "-", "\u00a0": " "})
STORY_START = re.compile(r"(?:Once upon a time|Once there|One day|There was once|There once|Long ago)\b")
BOOK_NOISE = re.compile(r"^(?:Produced by|CONTENTS|Contents|By |_[A-Z ,.]+_$|\[Illustration)")

TINY_NAMES = {
    "girl": "Lily Anna Sara Mia Lucy Sue Sarah Jane Daisy Jill Amy Emma Bella Mary Lisa Ella Molly Emily Lola Nina".split(),
    "boy": "Ben Timmy Tom Jack Sam Tim Max John Bob Joe Tommy Benny Billy Bobby Jimmy Johnny Leo Peter Mark Fred".split(),
}
SWAPPED_COLOURS = ["red", "blue", "green", "yellow", "purple", "pink", "brown"]


def clean(text):
    for wrong, right in MOJIBAKE.items():
        text = text.replace(wrong, right)
    text = text.translate(PLAIN_QUOTES).replace("\r\n", "\n")
    text = re.sub(r"[ \t]+\n", "\n", text)
    return re.sub(r"\n{3,}", "\n\n", text)


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return clean(f.read())


def marked_documents(folder, name):
    """Documents separated by <|endoftext|>."""
    return [part.strip() for part in read(folder, name).split("<|endoftext|>") if len(part.strip()) > 80]


def tiny_stories(folder, name):
    """The samples have no separators: a paragraph that opens as stories do starts a new one."""
    stories, current = [], []
    for block in re.split(r"(\n+)", read(folder, name)):
        if STORY_START.match(block) and current and "".join(current).strip():
            single_break = current[-1] == "\n"
            if single_break or block.startswith("Once"):
                stories.append("".join(current).strip())
                current = []
        current.append(block)
    stories.append("".join(current).strip())
    # The first and the last piece of a sample are cut off in the middle.
    return [story for story in stories[1:-1] if 200 < len(story) < 4000]


def is_noise(paragraph):
    """Title pages and tables of contents."""
    letters = [c for c in paragraph if c.isalpha()]
    shouted = len(letters) > 40 and sum(c.isupper() for c in letters) > 0.6 * len(letters)
    return not letters or shouted or BOOK_NOISE.match(paragraph) is not None


def books(folder):
    """Whole books as lists of paragraphs."""
    out = []
    for book in marked_documents(folder, "pd_children_books.txt"):
        paragraphs = [p.replace("\n", " ").strip() for p in book.split("\n\n")]
        out.append([p for p in paragraphs if not is_noise(p)])
    return out


def sentences(folder, rng):
    """Example sentences, a dozen a document."""
    lines = [line for line in read(folder, "wordnet_examples.txt").split("\n") if len(line) > 15]
    rng.shuffle(lines)
    return ["\n".join(lines[i:i + 12]) for i in range(0, len(lines), 12)]


def deduplicate(documents, seen):
    """Keeps the first of documents whose first 150 letters agree; `seen` is shared between sources."""
    kept = []
    for document in documents:
        key = re.sub(r"[^a-z]", "", document.lower())[:150]
        if key not in seen:
            seen.add(key)
            kept.append(document)
    return kept


def split(documents, held_out, rng):
    order = list(range(len(documents)))
    rng.shuffle(order)
    cut = max(1, int(len(documents) * held_out))
    held = set(order[:cut])
    return [documents[i] for i in range(len(documents)) if i not in held], [documents[i] for i in sorted(held)]


def load(folder):
    """{source: (training documents, held-out documents)}; the books are lists of paragraphs.

    Two thirds of the TinyStories validation sample are trained on, since so little simple text is at hand; the last third is held out.
    """
    rng = random.Random("corpus")
    seen = set()
    late = tiny_stories(folder, "tinystories_valid_head.txt")
    cut = len(late) * 2 // 3
    held_stories = deduplicate(late[cut:], seen)
    stories = deduplicate(tiny_stories(folder, "tinystories_train_head.txt") + late[:cut], seen)
    picture = deduplicate(marked_documents(folder, "african_storybook.txt") + marked_documents(folder, "pratham_books.txt"), seen)
    whole_books = books(folder)
    held_books = [book[-len(book) // 33:] for book in whole_books]
    trained_books = [book[:-len(book) // 33] for book in whole_books]
    return {
        "tinystories": (stories, held_stories),
        "picture_books": split(picture, 0.04, rng),
        "sentences": split(deduplicate(sentences(folder, rng), seen), 0.02, rng),
        "books": (trained_books, held_books),
    }


def swap_words(story, rng):
    """The same story with other people and colours: first names and colour words are exchanged consistently."""
    mapping = {}
    for kind, pool in (("girl", words.GIRLS), ("boy", words.BOYS)):
        old = [name for name in TINY_NAMES[kind] if re.search(rf"\b{name}\b", story)]
        mapping.update(zip(old, rng.sample(pool, len(old))))
    if rng.random() < 0.7:
        shuffled = SWAPPED_COLOURS[:]
        rng.shuffle(shuffled)
        mapping.update(zip(SWAPPED_COLOURS, shuffled))
    if not mapping:
        return story
    return re.sub(r"\b(" + "|".join(map(re.escape, mapping)) + r")\b", lambda m: mapping[m.group(1)], story)
