"""Small helpers for putting English together."""


MASS_NOUNS = {"soup", "bread", "cheese", "rice", "honey"}


def article(noun):
    """'apple' -> 'an apple', 'rice' -> 'some rice'."""
    if noun in MASS_NOUNS:
        return "some " + noun
    return ("an " if noun[0].lower() in "aeiou" and not noun.startswith(("uni", "one")) else "a ") + noun


def listing(words, last="and"):
    """['a', 'b', 'c'] -> 'a, b and c'."""
    if len(words) == 1:
        return words[0]
    return ", ".join(words[:-1]) + f" {last} " + words[-1]


def upper_first(sentence):
    return sentence[0].upper() + sentence[1:]


def fill(rng, variants, fields):
    """Picks one of the templates and fills it in."""
    return upper_first(rng.choice(variants).format_map(fields))


def with_articles(fields):
    """Adds a_<key> ('a red kite') for every plain string field."""
    out = dict(fields)
    for key, value in fields.items():
        if isinstance(value, str) and value:
            out["a_" + key] = article(value)
    return out


def chance(rng, probability):
    return rng.random() < probability


def sloppy(rng, question):
    """Sometimes writes a question as people type: lower case, no mark at the end."""
    roll = rng.random()
    if roll < 0.08:
        return question[0].lower() + question[1:]
    if roll < 0.14:
        return question.rstrip("?.!")
    if roll < 0.18:
        return question.lower().rstrip("?.!")
    return question
