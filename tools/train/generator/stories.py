"""Short stories from plots."""
from . import words
from .plots import ENDINGS, LESSONS, LIKES, OPENINGS, PLOTS, TRAITS
from .text import chance, fill, with_articles


def hero(rng):
    """Fields of a main character with matching pronouns."""
    roll = rng.random()
    if roll < 0.4:
        fields = {"name": rng.choice(words.GIRLS), "kind": "girl", "he": "she", "his": "her", "him": "her"}
    elif roll < 0.8:
        fields = {"name": rng.choice(words.BOYS), "kind": "boy", "he": "he", "his": "his", "him": "him"}
    else:
        fields = {"name": rng.choice(words.BOYS), "kind": rng.choice(words.ANIMAL_NAMES), "he": "he", "his": "his", "him": "him"}
    fields.update({"He": fields["he"].capitalize(), "His": fields["his"].capitalize()})
    return fields


def story_fields(rng, wanted):
    fields = hero(rng)
    place, place2 = rng.sample(words.PLACES, 2)
    thing, thing2 = rng.sample(words.THINGS, 2)
    others = [a for a in words.ANIMAL_NAMES if a != fields["kind"]]
    fields.update({
        "trait": rng.choice(TRAITS), "animal": rng.choice(others), "animal2": rng.choice(others), "weather": rng.choice(words.WEATHER),
        "number": rng.choice(words.NUMBER_WORDS[4:11]), "colour": rng.choice(words.COLOURS), "place": place,
        "place2": place2, "thing": thing, "thing2": thing2, "food": rng.choice(words.FOODS), "hobby": rng.choice(words.HOBBIES),
        "friend": rng.choice([n for n in words.GIRLS + words.BOYS if n != fields["name"]])})
    fields.update(wanted)
    fields["food_plain"] = rng.choice(["bread", "soup", "cheese", "rice", "honey", "cake", "milk"])
    fields = with_articles(fields)
    fields["A_animal"] = fields["a_animal"].capitalize()
    return fields


def make_story(rng, **wanted):
    """One story; `wanted` fixes fields such as animal="fox" or name="Mia". Returns (text, fields).

    Not every plot mentions every field, so it tries until all wanted words are in the text.
    """
    asked = [wanted[key] for key in ("animal", "thing", "place", "name", "friend") if key in wanted]
    text, fields = compose(rng, wanted)
    for _ in range(40):
        if all(word in text for word in asked):
            break
        text, fields = compose(rng, wanted)
    return text, fields


def compose(rng, wanted):
    fields = story_fields(rng, wanted)
    lesson, steps = PLOTS[rng.choice(list(PLOTS))]
    opening = [fill(rng, OPENINGS, fields)]
    if chance(rng, 0.7):
        opening.append(fill(rng, LIKES, fields))
    middle = [fill(rng, step, fields) for step in steps]
    closing = []
    if chance(rng, 0.75):
        closing.append(fill(rng, LESSONS[lesson], fields))
    closing.append(fill(rng, ENDINGS, fields))
    if chance(rng, 0.5):
        half = rng.randint(2, len(middle) - 2)
        parts = [opening + middle[:half], middle[half:] + closing]
        return "\n\n".join(" ".join(part) for part in parts), fields
    return " ".join(opening + middle + closing), fields


def titled_story(rng):
    """A plain story document, sometimes with a title."""
    text, fields = make_story(rng)
    if chance(rng, 0.15):
        title = rng.choice([f"{fields['name']} and {fields['friend']}", f"A Story about {fields['name']}",
                            f"{fields['name']} the {fields['kind'].capitalize()}"])
        return title + "\n\n" + text
    return text
