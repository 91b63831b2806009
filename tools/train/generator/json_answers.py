"""Chats whose answer is one JSON object with the keys that were asked for."""
import json

from . import words
from .text import article, chance, listing, sloppy, upper_first

JSON_SYSTEMS = ["Answer only in JSON.", "You answer with JSON and nothing else.", "Reply with one JSON object.", "You turn text into JSON.",
                "You are a helpful assistant that answers in JSON.", "Output valid JSON only.", "Always answer with a JSON object."]


def person_record(rng):
    girl = chance(rng, 0.5)
    name = rng.choice(words.GIRLS if girl else words.BOYS)
    he = "She" if girl else "He"
    age, city, hobby, colour = rng.randint(3, 80), rng.choice(words.CITIES), rng.choice(words.HOBBIES), rng.choice(words.COLOURS)
    job, food, pet = rng.choice(list(words.JOBS)), rng.choice(words.FOODS), rng.choice(words.ANIMAL_NAMES)
    likes = chance(rng, 0.5)
    return [("name", name, ""), ("age", age, f"{name} is {age} years old."), ("city", city, f"{he} lives in {city}."),
            ("hobby", hobby, f"{he} likes {hobby}."), ("color", colour, f"{he} likes the color {colour}."),
            ("job", job, f"{he} is {article(job)}."), ("food", food, f"{he} eats {article(food)}."), ("pet", pet, f"{he} has {article(pet)}."),
            ("likes_milk", likes, f"{he} {'likes' if likes else 'does not like'} milk.")], f"This is {name}."


def animal_record(rng):
    kind, colour, sound, home, food, legs, baby, _, _ = rng.choice(words.ANIMALS)
    name = rng.choice(words.GIRLS + words.BOYS)
    can_fly = chance(rng, 0.5)
    return [("animal", kind, ""), ("name", name, f"Its name is {name}."), ("color", colour, f"It is {colour}."),
            ("sound", sound, f"It says \"{sound}\"." if sound != "no sound" else "It makes no sound."),
            ("food", food, f"It eats {food}."), ("legs", legs, f"It has {legs} legs."), ("home", home, f"It lives in {home}."),
            ("baby", baby, f"Its baby is called {article(baby)}."),
            ("friendly", can_fly, "It is friendly." if can_fly else "It is not friendly.")], f"I know {article(kind)}."


def item_record(rng):
    item, colour = rng.choice(words.THINGS + words.FOODS), rng.choice(words.COLOURS)
    price, count, size = rng.randint(1, 90), rng.randint(1, 40), rng.choice(["small", "big", "tiny", "huge"])
    shop, new = rng.choice(words.CITIES), chance(rng, 0.5)
    return [("item", item, ""), ("price", price, f"It costs {price} dollars."), ("count", count, f"There are {count} of them."),
            ("color", colour, f"It is {colour}."), ("size", size, f"It is {size}."), ("shop", shop, f"The shop is in {shop}."),
            ("new", new, "It is new." if new else "It is old.")], f"The shop sells {article(item)}."


def weather_record(rng):
    city, sky, degrees = rng.choice(words.CITIES), rng.choice(words.WEATHER), rng.randint(-5, 38)
    day, wind = rng.choice(words.DAYS), rng.choice(["weak", "strong", "calm"])
    rain = sky in ("rainy", "stormy")
    return [("city", city, ""), ("weather", sky, f"It is {sky}."), ("temperature", degrees, f"It is {degrees} degrees."),
            ("day", day, f"It is {day}."), ("wind", wind, f"The wind is {wind}."),
            ("rain", rain, "It rains." if rain else "It does not rain.")], f"I am in {city}."


# Other names for the same keys, so that keys are copied from the request and not learned by heart.
ALIASES = {"name": ["first_name", "person", "who", "title"], "age": ["years", "age_years", "old"], "city": ["town", "home", "place", "lives_in"],
           "hobby": ["likes", "interest", "sport"], "color": ["colour", "paint", "shade"], "job": ["work", "role", "profession"],
           "food": ["meal", "eats", "lunch", "snack"], "pet": ["animal", "friend"], "animal": ["kind", "species", "type"], "sound": ["says", "noise", "voice"],
           "legs": ["leg_count", "feet"], "item": ["product", "thing", "article"], "price": ["cost", "dollars", "amount"], "count": ["number", "stock", "how_many"],
           "size": ["how_big"], "shop": ["store", "location"], "weather": ["sky", "report"], "temperature": ["degrees", "temp"], "day": ["date", "weekday"]}


def rename(rng, record):
    """The record with some keys under other names."""
    taken = {key for key, _, _ in record}
    out = []
    for key, value, sentence in record:
        other = rng.choice(ALIASES.get(key, [key]))
        if chance(rng, 0.3) and other not in taken:
            taken.add(other)
            key = other
        out.append((key, value, sentence))
    return out


RECORDS = [person_record, animal_record, item_record, weather_record]


def pick_fields(rng, record):
    """A random choice of fields, the first (the subject) nearly always among them."""
    subject, others = record[0], record[1:]
    chosen = rng.sample(others, rng.randint(1, min(4, len(others))))
    if chance(rng, 0.85):
        chosen.append(subject)
    chosen.sort(key=lambda field: record.index(field))
    if chance(rng, 0.4):
        rng.shuffle(chosen)
    return chosen


def type_name(value):
    if value is None:
        return "string"
    if isinstance(value, bool):
        return "boolean"
    return {int: "number", str: "string"}[type(value)]


def ask_keys(rng, fields):
    keys = [key for key, _, _ in fields]
    quoted = [f"\"{key}\"" for key in keys]
    shape = "{" + ", ".join(f"\"{key}\": {type_name(value)}" for key, value, _ in fields) + "}"
    if len(keys) == 1:
        return rng.choice([f"Use the key {quoted[0]}.", f"Give me JSON with the key {keys[0]}.", f"Use this form: {shape}"])
    return rng.choice([
        f"Give me JSON with the keys {listing(keys)}.", f"Use the keys {listing(quoted)}.", f"Return JSON with {listing(keys)}.",
        f"Write it as JSON with the keys {', '.join(keys)}.", f"Use this form: {shape}", f"Keys: {', '.join(keys)}",
        f"Make a JSON object with {listing(quoted)}.", f"Answer in this form: {shape}"])


def extraction(rng):
    """Text to JSON; sometimes a key is asked for that the text does not give, answered by null."""
    record, opening = rng.choice(RECORDS)(rng)
    record = rename(rng, record)
    fields = pick_fields(rng, record)
    told = [field for field in record[1:] if field in fields or chance(rng, 0.15)]
    rng.shuffle(told)
    passage = " ".join([opening] + [sentence for _, _, sentence in told])
    if chance(rng, 0.12):
        absent = [field for field in record[1:] if field not in told]
        if absent:
            key, _, _ = rng.choice(absent)
            fields.append((key, None, ""))
    answer = json.dumps({key: value for key, value, _ in fields}, ensure_ascii=False)
    keys = ask_keys(rng, fields)
    return rng.choice([f"{passage} {keys}", f"{passage}\n{keys}", f"{keys}\n\n{passage}", f"Text: {passage}\n\n{keys}"]), answer


def direct(rng):
    """Values that are given in the request itself."""
    record = rename(rng, rng.choice(RECORDS)(rng)[0])
    fields = pick_fields(rng, record)
    given = [f"{key} {json.dumps(value)}" if chance(rng, 0.3) else f"{key} {value}" for key, value, _ in fields
             if not isinstance(value, bool)]
    fields = [field for field in fields if not isinstance(field[1], bool)]
    if not fields:
        return extraction(rng)
    answer = json.dumps({key: value for key, value, _ in fields}, ensure_ascii=False)
    return rng.choice([f"Write a JSON object with {listing(given)}.", f"Make JSON: {', '.join(given)}.", f"Give me JSON with {listing(given)}.",
                       f"JSON please: {', '.join(given)}"]), answer


def array_answer(rng):
    key, pool = rng.choice([("animals", words.ANIMAL_NAMES), ("colors", words.COLOURS), ("foods", words.FOODS), ("toys", words.TOYS),
                            ("names", words.GIRLS + words.BOYS), ("cities", words.CITIES)])
    if chance(rng, 0.5):
        key = rng.choice(["items", "list", "words", "values", "things", "fruits", "friends", "guests", "towns", "pets", "results", "tags", "options",
                          "members", "stops", "gifts", "parts", "my_list", "all", "data", "goods", "plan"])
    chosen = rng.sample(pool, rng.randint(1, 5))
    answer = json.dumps({key: chosen}, ensure_ascii=False)
    if chance(rng, 0.3):
        answer = json.dumps({"count": len(chosen), key: chosen}, ensure_ascii=False)
        return rng.choice([f"Write JSON with the keys \"count\" and \"{key}\" for {listing(chosen)}.",
                           f"{upper_first(listing(chosen))}. Give me JSON with count and {key}."]), answer
    return rng.choice([f"Write JSON with the key \"{key}\" and these in a list: {listing(chosen)}.",
                       f"Put {listing(chosen)} in a JSON list with the key {key}.",
                       f"{upper_first(listing(chosen))}. Give me JSON with the key {key}."]), answer


def invented_answer(rng):
    """No values given: any sensible person, animal or thing will do."""
    record, _ = rng.choice([person_record, animal_record])(rng)
    what = "a person" if record[0][0] == "name" else "an animal"
    fields = pick_fields(rng, record)
    answer = json.dumps({key: value for key, value, _ in fields}, ensure_ascii=False)
    return rng.choice([f"Describe {what}. {ask_keys(rng, fields)}", f"Make up {what}. {ask_keys(rng, fields)}"]), answer


def fact_answer(rng):
    if chance(rng, 0.5):
        country, city = rng.choice(list(words.CAPITALS.items()))
        return sloppy(rng, f"What is the capital of {country}? Give me JSON with the keys country and capital."), \
            json.dumps({"country": country, "capital": city})
    a, b = rng.randint(0, 12), rng.randint(0, 12)
    return f"What is {a} plus {b}? {rng.choice(['Give me JSON with the key answer.', 'Answer in JSON with the key answer.'])}", \
        json.dumps({"answer": a + b})


def make_json_chat(rng):
    """A list of messages."""
    out = [{"role": "system", "content": rng.choice(JSON_SYSTEMS)}] if chance(rng, 0.6) else []
    for _ in range(1 if chance(rng, 0.8) else 2):
        maker = rng.choices([extraction, direct, array_answer, invented_answer, fact_answer], [6, 2, 1.5, 1.5, 1])[0]
        question, answer = maker(rng)
        out += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return out
