"""Short passages with questions whose answers stand in them (or do not)."""
from . import words
from .text import article, chance, sloppy, upper_first

UNKNOWN = ["The text does not say.", "The text does not tell us that."]


def person_passage(rng):
    girl = chance(rng, 0.5)
    name = rng.choice(words.GIRLS if girl else words.BOYS)
    he, his = ("she", "her") if girl else ("he", "his")
    age, city, hobby = rng.randint(4, 60), rng.choice(words.CITIES), rng.choice(words.HOBBIES)
    pet, pet_name = rng.choice(["dog", "cat", "rabbit", "parrot", "horse", "goat"]), rng.choice(words.GIRLS + words.BOYS)
    colour, food, job = rng.choice(words.COLOURS), rng.choice(words.FOODS), rng.choice(list(words.JOBS))
    facts = [
        (rng.choice([f"{name} is {age} years old.", f"This is {name}, who is {age} years old."]),
         [(f"How old is {name}?", f"{name} is {age} years old.", str(age))]),
        (rng.choice([f"{upper_first(he)} lives in {city}.", f"{upper_first(his)} home is in {city}."]),
         [(f"Where does {name} live?", f"{name} lives in {city}.", city), (f"In which city does {name} live?", f"{name} lives in {city}.", city)]),
        (f"{upper_first(he)} likes {hobby}.", [(f"What does {name} like?", f"{name} likes {hobby}.", hobby)]),
        (f"{upper_first(he)} has a {pet} named {pet_name}.",
         [(f"What is the name of the {pet}?", f"The {pet} is named {pet_name}.", pet_name),
          (f"Which animal does {name} have?", f"{name} has a {pet}.", pet)]),
        (f"{upper_first(his)} favorite color is {colour}.",
         [(f"What is {name}'s favorite color?", f"{name}'s favorite color is {colour}.", colour)]),
        (f"For lunch {he} eats {article(food)}.", [(f"What does {name} eat for lunch?", f"{name} eats {article(food)} for lunch.", food)]),
        (f"{upper_first(his)} {'father' if chance(rng, 0.5) else 'mother'} is {article(job)}.", []),
    ]
    return name, facts, [(f"What does {name} wear?",), (f"When was {name} born?",), (f"What is the name of {name}'s teacher?",),
                         (f"How tall is {name}?",)]


def event_passage(rng):
    name, other = rng.sample(words.GIRLS + words.BOYS, 2)
    day, place, thing = rng.choice(words.DAYS), rng.choice(words.PLACES), rng.choice(words.THINGS)
    colour, animal, weather = rng.choice(words.COLOURS), rng.choice(words.ANIMAL_NAMES), rng.choice(words.WEATHER)
    number = rng.randint(2, 12)
    facts = [
        (f"On {day}, {name} and {other} went to the {place}.",
         [(f"Where did {name} and {other} go?", f"They went to the {place}.", f"the {place}"),
          (f"On which day did they go to the {place}?", f"They went there on {day}.", day),
          (f"Who went with {name}?", f"{other} went with {name}.", other)]),
        (f"It was {weather}.", [("How was the weather?", f"It was {weather}.", weather)]),
        (f"They saw {article(animal)} near the water.", [("Which animal did they see?", f"They saw {article(animal)}.", animal),
                                                          (f"Where was the {animal}?", f"The {animal} was near the water.", "near the water")]),
        (f"{name} found {article(colour)} {thing}.",
         [(f"What did {name} find?", f"{name} found {article(colour)} {thing}.", f"{article(colour)} {thing}"),
          (f"What color was the {thing}?", f"The {thing} was {colour}.", colour),
          (f"Who found the {thing}?", f"{name} found the {thing}.", name)]),
        (f"{other} counted {number} boats.", [(f"How many boats did {other} count?", f"{other} counted {number} boats.", str(number)),
                                              ("Who counted the boats?", f"{other} counted the boats.", other)]),
    ]
    return name, facts, [("What did they eat?",), ("How old is " + other + "?",), ("What is the name of the village?",)]


def possession_passage(rng):
    """Several people and their things; questions must pick the right one."""
    people = rng.sample(words.GIRLS + words.BOYS, rng.randint(2, 3))
    things = rng.sample(words.THINGS, len(people))
    pets = rng.sample(["dog", "cat", "rabbit", "parrot", "horse", "goat", "mouse", "duck"], len(people))
    pet_names = rng.sample([n for n in words.GIRLS + words.BOYS if n not in people], len(people))
    facts = []
    for person, thing, pet, pet_name in zip(people, things, pets, pet_names):
        colour = rng.choice(words.COLOURS)
        facts.append(rng.choice([
            (f"{person} has {article(colour)} {thing} and {article(pet)} named {pet_name}.",
             [(f"What is the {pet} called?", f"The {pet} is called {pet_name}.", pet_name), (f"Who has the {thing}?", f"{person} has the {thing}.", person),
              (f"What color is {person}'s {thing}?", f"{person}'s {thing} is {colour}.", colour),
              (f"Who is {pet_name}?", f"{pet_name} is {person}'s {pet}.", f"{person}'s {pet}")]),
            (f"{person}'s {thing} is {colour}.",
             [(f"What color is {person}'s {thing}?", f"{person}'s {thing} is {colour}.", colour),
              (f"Who has {article(colour)} {thing}?", f"{person} has {article(colour)} {thing}.", person)]),
            (f"{person} found {article(thing)} and gave it to the {pet}.",
             [(f"What did {person} find?", f"{person} found {article(thing)}.", article(thing)),
              (f"Who found the {thing}?", f"{person} found the {thing}.", person),
              (f"Who got the {thing}?", f"The {pet} got the {thing}.", f"the {pet}")])]))
    return people[0], facts, [(f"Where does {people[0]} live?",), (f"How old is {people[0]}?",)]


def make_passage(rng):
    """(passage, [(question, full answer, short answer)])."""
    _, facts, unknown = rng.choice([person_passage, event_passage, possession_passage])(rng)
    first, rest = facts[0], facts[1:]
    chosen = [first] + rng.sample(rest, rng.randint(0, min(3, len(rest))))
    questions = [rng.choice(asked) for _, asked in chosen if asked]
    rng.shuffle(questions)
    if chance(rng, 0.15):
        said = rng.choice(UNKNOWN)
        questions.insert(0, (rng.choice(unknown)[0], said, "unknown"))
    return " ".join(sentence for sentence, _ in chosen), questions


def ask_about(rng, passage, question):
    question = sloppy(rng, question)
    return rng.choice([f"{passage} {question}", f"{passage}\n\n{question}", f"Text: {passage}\nQuestion: {question}",
                       f"Read this: {passage}\n{question}", f"{question}\n\n{passage}",
                       f"Answer the question about the text.\n\n{passage}\n\n{question}"])
