"""Single questions with a full answer and a short one."""
from . import words
from .text import article, chance, fill, listing, upper_first


def animal_question(rng):
    name, colour, sound, home, food, legs, baby, _, meaning = rng.choice(words.ANIMALS)
    a_name = article(name)
    legs_word = words.NUMBER_WORDS[legs] if legs else "no"
    options = [
        ([f"What does {a_name} eat?", f"What do {name}s like to eat?", f"Tell me what {a_name} eats."],
         [f"{a_name} eats {food}.", f"{a_name} likes to eat {food}."], food),
        ([f"Where does {a_name} live?", f"What is the home of {a_name}?", f"Tell me where {a_name} lives."],
         [f"{a_name} lives in {home}." if home not in ("the beach",) else f"{a_name} lives on {home}."], home),
        ([f"How many legs does {a_name} have?", f"How many legs has {a_name}?", f"Count the legs of {a_name}."],
         [f"{a_name} has {legs_word} legs."], legs_word),
        ([f"What is a baby {name} called?", f"What do we call a young {name}?", f"What is the name for a baby {name}?"],
         [f"A baby {name} is called {article(baby)}.", f"We call it {article(baby)}."], baby),
        ([f"What is {a_name}?", f"Tell me what {a_name} is.", f"What does the word {name} mean?", f"Explain what {a_name} is."],
         [f"{a_name} is {meaning}."], meaning),
    ]
    if sound != "no sound":
        options.append(([f"What sound does {a_name} make?", f"How does {a_name} sound?", f"What does {a_name} say?"],
                        [f"{a_name} says \"{sound}\".", f"It says \"{sound}\"."], sound))
    if colour != "striped":
        options.append(([f"What color is {a_name} often?", f"Which color can {a_name} have?"],
                        [f"{a_name} is often {colour}."], colour))
    return rng.choice(options)


def compare_question(rng):
    first, second = rng.sample(words.ANIMALS, 2)
    while first[7] == second[7]:
        first, second = rng.sample(words.ANIMALS, 2)
    bigger, smaller = (first, second) if first[7] > second[7] else (second, first)
    a, b = article(first[0]), article(second[0])
    if chance(rng, 0.5):
        return ([f"Which is bigger, {a} or {b}?", f"What is bigger, {a} or {b}?", f"Is {a} bigger or {b}?"],
                [f"{article(bigger[0])} is bigger than {article(smaller[0])}."], article(bigger[0]))
    return ([f"Which is smaller, {a} or {b}?", f"What is smaller, {a} or {b}?"],
            [f"{article(smaller[0])} is smaller than {article(bigger[0])}."], article(smaller[0]))


def colour_question(rng):
    if chance(rng, 0.25):
        (one, two), mixed = rng.choice(list(words.MIXES.items()))
        if chance(rng, 0.5):
            one, two = two, one
        return ([f"What color do {one} and {two} make?", f"Mix {one} and {two}. What color do you get?",
                 f"What do you get when you mix {one} and {two}?"],
                [f"{one} and {two} make {mixed}.", f"When you mix {one} and {two}, you get {mixed}."], mixed)
    thing, colour = rng.choice(list(words.THING_COLOURS.items()))
    return ([f"What color is {thing}?", f"Which color has {thing}?", f"Tell me the color of {thing}.", f"What is the color of {thing}?"],
            [f"{thing} is {colour}.", f"The color is {colour}."], colour)


def capital_question(rng):
    country, city = rng.choice(list(words.CAPITALS.items()))
    if chance(rng, 0.3):
        return ([f"Of which country is {city} the capital?", f"{city} is the capital of which country?", f"In which country is {city}?"],
                [f"{city} is the capital of {country}."], country)
    return ([f"What is the capital of {country}?", f"Which city is the capital of {country}?", f"Name the capital of {country}.",
             f"Tell me the capital of {country}."],
            [f"The capital of {country} is {city}.", f"{city} is the capital of {country}."], city)


def word_question(rng):
    roll = rng.randrange(5)
    if roll == 0:
        pair = list(rng.choice(words.OPPOSITES))
        if pair[0] != "heavy":
            rng.shuffle(pair)
        return ([f"What is the opposite of {pair[0]}?", f"Give me the opposite of \"{pair[0]}\".", f"Which word is the opposite of {pair[0]}?"],
                [f"The opposite of {pair[0]} is {pair[1]}."], pair[1])
    if roll == 1:
        one, many = rng.choice(list(words.PLURALS.items()))
        return ([f"What is the plural of {one}?", f"One {one}, two what?", f"How do you say more than one {one}?"],
                [f"The plural of {one} is {many}.", f"One {one}, two {many}."], many)
    if roll == 2:
        word, rhyme = rng.choice(list(words.RHYMES.items()))
        return ([f"What rhymes with {word}?", f"Give me a word that rhymes with {word}.", f"Find a rhyme for {word}."],
                [f"{rhyme} rhymes with {word}."], rhyme)
    if roll == 3:
        word = rng.choice(words.THINGS + words.FOODS + words.ANIMAL_NAMES)
        return ([f"Which letter does the word {word} start with?", f"What is the first letter of {word}?"],
                [f"The word {word} starts with the letter {word[0].upper()}."], word[0].upper())
    word = rng.choice(words.THINGS + words.FOODS + words.ANIMAL_NAMES)
    spelled = "-".join(word)
    return ([f"How do you spell {word}?", f"Spell the word {word}.", f"Please spell {word}."], [f"{word} is spelled {spelled}."], spelled)


def definition_question(rng):
    roll = rng.randrange(4)
    if roll == 0:
        job, (does, meaning) = rng.choice(list(words.JOBS.items()))
        if chance(rng, 0.5):
            return ([f"What does {article(job)} do?", f"What is {article(job)}?", f"Tell me what {article(job)} does."], [meaning], does)
        return ([f"Who {does}?", f"What do we call a person who {does}?"], [f"{article(job)} {does}."], article(job))
    if roll == 1:
        thing, use = rng.choice(list(words.USES.items()))
        verb = "are" if thing in ("scissors",) else "is"
        return ([f"What do we use to {use}?", f"What do I need to {use}?", f"What {verb} {thing} for?"],
                [f"We use {thing} to {use}."], thing)
    if roll == 2:
        part, use = rng.choice(list(words.BODY.items()))
        return ([f"What do we use our {part} for?", f"What can we do with our {part}?"], [f"We use our {part} to {use}."], use)
    word, meaning = rng.choice(list(words.DEFINITIONS.items()))
    said = word if word in ("winter", "summer", "honey", "ice", "steam", "thunder", "snow", "wind", "fruit") else article(word)
    said = "the moon" if word == "moon" else said
    return ([f"What is {said}?", f"What does the word \"{word}\" mean?", f"Explain the word {word}.", f"Tell me what {said} is.",
             f"Can you explain what {said} is?"], [f"{said} is {meaning}."], meaning)


def order_question(rng):
    days = chance(rng, 0.5)
    names = words.DAYS if days else words.MONTHS
    kind = "day" if days else "month"
    index = rng.randrange(len(names))
    after, before = names[(index + 1) % len(names)], names[index - 1]
    if chance(rng, 0.5):
        return ([f"What {kind} comes after {names[index]}?", f"Which {kind} follows {names[index]}?"],
                [f"{after} comes after {names[index]}.", f"The {kind} after {names[index]} is {after}."], after)
    return ([f"What {kind} comes before {names[index]}?", f"Which {kind} is before {names[index]}?"],
            [f"{before} comes before {names[index]}.", f"The {kind} before {names[index]} is {before}."], before)


def arithmetic_question(rng):
    roll = rng.randrange(7)
    a, b = rng.randint(0, 12), rng.randint(0, 12)
    if chance(rng, 0.3):
        a, b = rng.randint(0, 30), rng.randint(0, 20)
    if roll <= 1:
        return ([f"What is {a} plus {b}?", f"What is {a} + {b}?", f"Add {a} and {b}.", f"How much is {a} + {b}?", f"{a} + {b} = ?"],
                [f"{a} plus {b} is {a + b}.", f"{a} + {b} = {a + b}."], str(a + b))
    if roll <= 3:
        a, b = max(a, b), min(a, b)
        return ([f"What is {a} minus {b}?", f"What is {a} - {b}?", f"Take {b} from {a}.", f"How much is {a} - {b}?", f"{a} - {b} = ?"],
                [f"{a} minus {b} is {a - b}.", f"{a} - {b} = {a - b}."], str(a - b))
    if roll == 4:
        a, b = rng.randint(0, 10), rng.randint(0, 10)
        return ([f"What is {a} times {b}?", f"What is {a} * {b}?", f"Multiply {a} by {b}.", f"How much is {a} times {b}?"],
                [f"{a} times {b} is {a * b}."], str(a * b))
    if roll == 5:
        n = rng.randint(1, 60)
        return ([f"What number comes after {n}?", f"Which number is next after {n}?"], [f"{n + 1} comes after {n}."], str(n + 1))
    n, m = rng.sample(range(0, 60), 2)
    return ([f"Which number is bigger, {n} or {m}?", f"What is more, {n} or {m}?"],
            [f"{max(n, m)} is bigger than {min(n, m)}.", f"The bigger number is {max(n, m)}."], str(max(n, m)))


def word_problem(rng):
    girl = chance(rng, 0.5)
    name = rng.choice(words.GIRLS if girl else words.BOYS)
    he = "she" if girl else "he"
    thing = rng.choice([f for f in words.FOODS if f not in ("soup", "bread", "cheese", "rice", "honey")]
                       + ["ball", "book", "shell", "coin", "stone", "feather"])
    things = {"cherry": "cherries", "mango": "mangoes"}.get(thing, thing + "s")
    a, b = rng.randint(1, 12), rng.randint(1, 9)

    def some(n):
        return f"{n} {thing if n == 1 else things}"
    if chance(rng, 0.5):
        total = a + b
        question = [f"{name} has {some(a)} and gets {b} more. How many {things} does {he} have now?",
                    f"{name} has {some(a)}. {upper_first(he)} finds {b} more. How many {things} are there?"]
    else:
        a, b = max(a, b) + 1, min(a, b)
        total = a - b
        question = [f"{name} has {some(a)} and gives away {b}. How many {things} are left?",
                    f"There are {some(a)}. {name} takes {b}. How many {things} are left?"]
    sign = "+" if total == a + b else "-"
    return question, [f"{a} {sign} {b} = {total}, so the answer is {some(total)}."], str(total)


def list_question(rng):
    kind, pool = rng.choice([("animals", words.ANIMAL_NAMES), ("colors", words.COLOURS), ("foods", words.FOODS),
                             ("toys", words.TOYS), ("days of the week", words.DAYS), ("months", words.MONTHS)])
    count = rng.randint(2, 5)
    if kind in ("days of the week", "months"):
        chosen = list(pool[:count])
    else:
        chosen = rng.sample(pool, count)
    number = words.NUMBER_WORDS[count]
    answer = listing(chosen)
    return ([f"Name {number} {kind}.", f"Give me {number} {kind}.", f"List {number} {kind}.", f"Can you name {number} {kind}?",
             f"Please name {count} {kind}."], [f"{answer}.", f"{upper_first(number)} {kind} are {answer}."], answer)


def count_question(rng):
    start = 1 if chance(rng, 0.7) else rng.randint(2, 9)
    end = start + rng.randint(2, 11)
    numbers = ", ".join(str(n) for n in range(start, end + 1))
    return ([f"Count from {start} to {end}.", f"Please count from {start} to {end}.", f"Can you count from {start} to {end}?"],
            [f"{numbers}."], numbers)


def shape_question(rng):
    shape, sides = rng.choice(list(words.SHAPES.items()))
    number = words.NUMBER_WORDS[sides]
    return ([f"How many sides does a {shape} have?", f"How many corners does a {shape} have?"],
            [f"A {shape} has {number}."], number)


def fixed_question(rng):
    question, answer, short = rng.choice(words.FIXED_FACTS)
    return [question], [answer], short


KINDS = [(animal_question, 5), (compare_question, 2), (colour_question, 3), (capital_question, 4), (word_question, 5),
         (definition_question, 5), (order_question, 2), (arithmetic_question, 8), (word_problem, 3), (list_question, 3),
         (count_question, 1.5), (shape_question, 0.5), (fixed_question, 4)]
MAKERS = [maker for maker, _ in KINDS]
WEIGHTS = [weight for _, weight in KINDS]


def make_question(rng):
    """(question, full answer, short answer)."""
    questions, answers, short = rng.choices(MAKERS, WEIGHTS)[0](rng)
    return upper_first(rng.choice(questions)), fill(rng, [a.replace("{", "{{").replace("}", "}}") for a in answers], {}), short
