"""Chats: questions with and without a system message, several turns, small talk, memory, refusals, stories on request."""
from . import passages, stories, words
from .questions import make_question
from .text import article, chance, listing, sloppy, upper_first

PLAIN_SYSTEMS = ["You are a helpful assistant.", "You are a friendly assistant.", "You are a helpful teacher.", "You are a small language model.",
                 "You are Kvern, a small helper.", "Answer the user's questions.", "You answer in simple English.", "Be polite and helpful.",
                 "You talk to children. Use short sentences.", "You are a kind teacher who explains simple things."]
SHORT_SYSTEMS = ["Answer with as few words as you can.", "Answer in one word.", "Give only the answer and nothing else.", "Be very short.",
                 "You are a quiz machine. Say only the answer.", "Answer as briefly as possible."]
THANKS = [("Thank you!", ["You are welcome!", "You are welcome. Ask me anything else.", "My pleasure!"]),
          ("Thanks!", ["You are welcome!", "No problem!", "Happy to help!"]),
          ("Great, thanks.", ["You are welcome!", "Glad to help."]),
          ("That was helpful.", ["I am glad to hear that.", "I am happy that I could help."])]
SMALL_TALK = [
    (["Hello!", "Hi!", "Hi there!", "Hello.", "Good day!", "Hey!"], ["Hello! How can I help you?", "Hi! What can I do for you?", "Hello! What would you like to know?"]),
    (["Good morning!", "Good morning."], ["Good morning! How can I help you?", "Good morning! I hope you slept well."]),
    (["Good evening!", "Good evening."], ["Good evening! What can I do for you?"]),
    (["Good night!", "Good night."], ["Good night! Sleep well."]),
    (["Hello! How are you?", "Hi, how are you?", "Hello, how are you today?", "Good morning! How are you?"],
     ["Hello! I am fine, thank you. How are you?", "Hi! I am very well, thank you."]),
    (["Hi! Who are you?", "Hello, what is your name?"], ["Hello! I am Kvern, a very small language model.", "Hello! My name is Kvern."]),
    (["How are you?", "How are you today?", "How do you feel?"], ["I am fine, thank you. How are you?", "I am very well, thank you!"]),
    (["Who are you?", "What are you?", "Tell me about yourself.", "What is your name?"],
     ["I am Kvern, a very small language model.", "My name is Kvern. I am a small language model."]),
    (["Are you a person?", "Are you a human?", "Are you real?"], ["No, I am a small language model.", "No, I am a computer program."]),
    (["What can you do?", "How can you help me?"], ["I can tell short stories, answer simple questions, do small sums and write JSON.",
                                                    "I can answer simple questions and tell short stories."]),
    (["Goodbye!", "Bye!", "See you later!", "Bye bye!"], ["Goodbye! Have a nice day.", "Bye! Come back soon.", "See you later!"]),
    (["I am sad.", "I feel sad today.", "I am a bit sad."], ["I am sorry to hear that. Do you want to hear a story?", "I am sorry. I hope you feel better soon."]),
    (["I am happy today!", "I feel great!"], ["That is wonderful!", "I am glad to hear that!"]),
    (["I am bored.", "I have nothing to do."], ["You could read a book or go outside and play.", "Let me tell you a story, or you can draw a picture."]),
    (["I am tired.", "I am so tired."], ["You should rest and drink some water.", "A good sleep will help you."]),
    (["Tell me a joke.", "Do you know a joke?"], ["What is black and white and red all over? A zebra that is shy!",
                                                  "Why did the bee go to school? To learn how to spell!"]),
    (["Do you like stories?", "Do you like music?", "Do you like animals?"], ["Yes, very much!", "Yes, I do. Do you?"]),
]
REFUSALS = ["I do not know that.", "I am sorry, I do not know.", "I cannot know that.", "I do not have that information."]
SYLLABLES = "zu bar ko mi ral ven to sha dun pel gri mo xa lo fen wi tur kas ber no".split()


def invented(rng):
    return "".join(rng.sample(SYLLABLES, rng.randint(2, 3))).capitalize()


def unknown_question(rng):
    name, thing = rng.choice(words.GIRLS + words.BOYS), rng.choice(words.THINGS)
    question = rng.choice([
        f"What is the capital of {invented(rng)}?", f"Who is {name} {invented(rng)}?", f"What is {name}'s phone number?",
        "Who won the game last night?", "What did I eat yesterday?", "What will the weather be tomorrow?", "What am I thinking?",
        f"Where did I put my {thing}?", f"How much money does {name} have?", "What time is it now?", "What is the date today?",
        f"What does the word {invented(rng).lower()} mean?", f"How many people live in {invented(rng)}?", "What is my password?",
        f"What is the name of my {rng.choice(words.ANIMAL_NAMES)}?", f"Which {thing} did {name} buy today?", "Who is knocking at my door?"])
    return question, rng.choice(REFUSALS)


def story_request(rng):
    animal, thing, place = rng.choice(words.ANIMAL_NAMES), rng.choice(words.THINGS), rng.choice(words.PLACES)
    name = rng.choice(words.GIRLS + words.BOYS)
    roll = rng.randrange(5)
    if roll == 0:
        text, _ = stories.make_story(rng)
        return rng.choice(["Tell me a story.", "Tell me a short story.", "Write a short story.", "Can you tell me a story?",
                           "Please tell me a bedtime story.", "I want to hear a story."]), text
    if roll == 1:
        text, _ = stories.make_story(rng, animal=animal)
        return rng.choice([f"Tell me a story about {article(animal)}.", f"Write a story with {article(animal)} in it.",
                           f"Please write a short story about {article(animal)}."]), text
    if roll == 2:
        hero_name, girl = rng.choice([(n, True) for n in words.GIRLS] + [(n, False) for n in words.BOYS])
        he, his, him = ("she", "her", "her") if girl else ("he", "his", "him")
        text, _ = stories.make_story(rng, name=hero_name, kind="girl" if girl else "boy", he=he, his=his, him=him,
                                     He=he.capitalize(), His=his.capitalize())
        return rng.choice([f"Tell me a story about {hero_name}.", f"Write a story about a {'girl' if girl else 'boy'} named {hero_name}.",
                           f"Can you tell a story about {hero_name}?"]), text
    if roll == 3:
        text, _ = stories.make_story(rng, animal=animal, place=place, friend=name)
        return rng.choice([f"Write a story about {article(animal)} named {name} in the {place}.",
                           f"Tell me about {name} the {animal} and the {place}."]), text
    text, _ = stories.make_story(rng, animal=animal, thing=thing)
    return rng.choice([f"Write a story with {article(animal)} and {article(thing)}.",
                       f"Tell me a short story about {article(animal)} and {article(thing)}."]), text


def memory_turns(rng):
    """The user tells something; a later question asks for it."""
    name, colour = rng.choice(words.GIRLS + words.BOYS), rng.choice(words.COLOURS)
    pet, pet_name = rng.choice(words.ANIMAL_NAMES), rng.choice(words.GIRLS + words.BOYS)
    city, age, food = rng.choice(words.CITIES), rng.randint(4, 50), rng.choice(words.FOODS)
    facts = [
        ([f"My name is {name}.", f"Hello, I am {name}.", f"Hi! My name is {name}."], [f"Hello {name}! Nice to meet you.", f"Nice to meet you, {name}!"],
         ["What is my name?", "Do you remember my name?", "Who am I?"], f"Your name is {name}."),
        ([f"My favorite color is {colour}.", f"I like {colour} best."], [f"{colour} is a beautiful color.", "That is a nice color."],
         ["What is my favorite color?", "Which color do I like?"], f"Your favorite color is {colour}."),
        ([f"I have {article(pet)} named {pet_name}.", f"My {pet} is called {pet_name}."], [f"{pet_name} is a nice name for {article(pet)}.", f"I would like to meet {pet_name}!"],
         [f"What is the name of my {pet}?", f"What is my {pet} called?"], f"Your {pet} is named {pet_name}."),
        ([f"I live in {city}.", f"My home is in {city}."], [f"{city} is a nice place to live.", "That sounds nice."],
         ["Where do I live?", "In which city do I live?"], f"You live in {city}."),
        ([f"I am {age} years old.", f"Today I turn {age}."], [f"{age} is a good age.", "How nice!"],
         ["How old am I?", "What is my age?"], f"You are {age} years old."),
        ([f"I love to eat {article(food)} in the morning."], ["That sounds tasty."],
         ["What do I love to eat?", "What do I eat in the morning?"], f"You love to eat {article(food)} in the morning."),
    ]
    chosen = rng.sample(facts, rng.randint(1, 2))
    turns = [(rng.choice(told), upper_first(rng.choice(reply))) for told, reply, _, _ in chosen]
    if chance(rng, 0.4):
        question, answer, _ = make_question(rng)
        turns.append((sloppy(rng, question), answer))
    return turns + [(sloppy(rng, rng.choice(asked)), answer) for _, _, asked, answer in rng.sample(chosen, rng.randint(1, len(chosen)))]


def persona(rng):
    """A system message that gives a name or a manner, and turns that show it."""
    name = rng.choice(words.GIRLS + words.BOYS)
    job = rng.choice(list(words.JOBS))
    ending = rng.choice(["Arr!", "Have a nice day!", "Meow!", "Good luck!", "Ho ho ho!", "Bye for now!", "Woof!", "My friend."])
    question, answer, _ = make_question(rng)
    if chance(rng, 0.5):
        system = rng.choice([f"Your name is {name}. You are {article(job)}.", f"You are {name}, {article(job)}."])
        turns = [(rng.choice(["What is your name?", "Who are you?"]), f"My name is {name}."),
                 (rng.choice(["What is your job?", "What do you do?"]), f"I am {article(job)}."), (sloppy(rng, question), answer)]
        return system, rng.sample(turns, rng.randint(1, 3))
    system = rng.choice([f"End every answer with \"{ending}\"", f"You always say \"{ending}\" at the end of an answer."])
    turns = [(sloppy(rng, question), f"{answer} {ending}")]
    if chance(rng, 0.4):
        question, answer, _ = make_question(rng)
        turns.append((sloppy(rng, question), f"{answer} {ending}"))
    return system, turns


def copy_turn(rng):
    pool = words.THINGS + words.FOODS + words.ANIMAL_NAMES + words.COLOURS
    picked = rng.sample(pool, rng.randint(2, 6))
    text = rng.choice([listing(picked), ", ".join(picked), " ".join(picked), f"the {picked[0]} and the {picked[1]}"])
    roll = rng.randrange(4)
    if roll == 0:
        return rng.choice([f"Repeat after me: {text}", f"Say this again: {text}", f"Say exactly: {text}"]), text
    if roll == 1:
        return f"Write this in capital letters: {picked[0]}", picked[0].upper()
    if roll == 2:
        return f"What is the last word? {' '.join(picked)}", picked[-1]
    return f"What is the first word? {' '.join(picked)}", picked[0]


def messages(turns, system=None):
    out = [{"role": "system", "content": system}] if system else []
    for user, assistant in turns:
        out += [{"role": "user", "content": user}, {"role": "assistant", "content": assistant}]
    return out


def plain_system(rng):
    return rng.choice(PLAIN_SYSTEMS) if chance(rng, 0.45) else None


def double_question(rng):
    """Two questions at once, both answered."""
    (one, first, _), (two, second, _) = make_question(rng), make_question(rng)
    return rng.choice([f"{one} {two}", f"{one.rstrip('?.!')} and {two[0].lower() + two[1:]}", f"1. {one} 2. {two}"]), f"{first} {second}"


def next_question(rng):
    roll = rng.random()
    if roll < 0.06:
        return (*unknown_question(rng), "")
    if roll < 0.12:
        return (*double_question(rng), "")
    return make_question(rng)


def question_turns(rng):
    if chance(rng, 0.25):
        system = rng.choice(SHORT_SYSTEMS)
        turns = []
        for _ in range(rng.randint(1, 3)):
            question, _, short = make_question(rng)
            turns.append((sloppy(rng, question), upper_first(short)))
        return messages(turns, system)
    turns = []
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4])):
        question, answer, _ = next_question(rng)
        turns.append((sloppy(rng, question), answer))
    if chance(rng, 0.12):
        thanks, replies = rng.choice(THANKS)
        turns.append((thanks, rng.choice(replies)))
    return messages(turns, plain_system(rng))


def small_talk_turns(rng):
    turns = []
    for asked, said in rng.sample(SMALL_TALK, rng.randint(1, 2)):
        turns.append((rng.choice(asked), rng.choice(said)))
    if chance(rng, 0.4):
        question, answer, _ = make_question(rng)
        turns.append((sloppy(rng, question), answer))
    return messages(turns, plain_system(rng))


def passage_turns(rng):
    passage, questions = passages.make_passage(rng)
    short = chance(rng, 0.2)
    picked = questions[:rng.randint(1, len(questions))]
    turns = []
    for index, (question, answer, brief) in enumerate(picked):
        asked = passages.ask_about(rng, passage, question) if index == 0 else sloppy(rng, question)
        turns.append((asked, upper_first(brief if short else answer)))
    return messages(turns, rng.choice(SHORT_SYSTEMS) if short else plain_system(rng))


def make_dialogue(rng):
    """A list of messages."""
    roll = rng.random()
    if roll < 0.42:
        return question_turns(rng)
    if roll < 0.62:
        return passage_turns(rng)
    if roll < 0.72:
        return messages([story_request(rng)], plain_system(rng))
    if roll < 0.80:
        return messages(memory_turns(rng), plain_system(rng))
    if roll < 0.86:
        return small_talk_turns(rng)
    if roll < 0.91:
        system, turns = persona(rng)
        return messages(turns, system)
    if roll < 0.96:
        return messages([copy_turn(rng) for _ in range(rng.randint(1, 2))], plain_system(rng))
    return messages([unknown_question(rng)], plain_system(rng))
