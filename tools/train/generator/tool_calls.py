"""Chats with tools: the right call, its answer put into words, no call when none is needed, and a plain word when no tool fits."""
import json

from . import words
from .dialogues import SMALL_TALK, plain_system
from .questions import make_question
from .text import article, chance, sloppy, upper_first

VERBS = ["open", "close", "find", "count", "paint", "clean", "move", "start", "stop", "check", "feed", "wash", "fix", "carry", "hide", "build",
         "lock", "sell", "buy", "draw", "throw", "push", "pull", "cut", "cook", "heat", "cool", "lift", "drop", "send", "bring", "order", "print",
         "read", "sort", "pack", "hang", "fill", "empty", "park", "water", "guard", "mend", "sweep"]
EXTRA_NOUNS = ("fence gate car bus door window table chair clock bottle letter parcel ticket phone oven fridge pump engine wheel tent flag "
               "ladder bucket rug shelf drawer pot pan plate bike plane tower bridge wall roof pipe fan radio camera screen").split()
NOUNS = words.THINGS + words.ANIMAL_NAMES + EXTRA_NOUNS


def function(name, description, properties, optional=()):
    """One tool in the form of the OpenAI API. properties: {key: (type, description)}."""
    return {"type": "function", "function": {
        "name": name, "description": description,
        "parameters": {"type": "object",
                       "properties": {key: {"type": kind, "description": text} for key, (kind, text) in properties.items()},
                       "required": [key for key in properties if key not in optional]}}}


def weather_tool(rng):
    city, sky, degrees = rng.choice(words.CITIES), rng.choice(words.WEATHER), rng.randint(-8, 38)
    tool = function("get_weather", "Get the weather in a city", {"city": ("string", "Name of the city")})
    asked = rng.choice([f"What is the weather in {city}?", f"How is the weather in {city}?", f"Is it warm in {city} today?",
                        f"Tell me the weather in {city}.", f"What's the weather like in {city}?"])
    return tool, asked, {"city": city}, {"weather": sky, "temperature": degrees}, \
        rng.choice([f"It is {sky} in {city}, and it is {degrees} degrees.", f"In {city} it is {sky} with {degrees} degrees."])


def add_tool(rng):
    name, sign, word = rng.choice([("add", "+", "plus"), ("multiply", "*", "times"), ("subtract", "-", "minus")])
    a, b = rng.randint(10, 999), rng.randint(2, 999)
    value = {"+": a + b, "*": a * b, "-": a - b}[sign]
    tool = function(name, f"{upper_first(name)} two numbers", {"a": ("number", "First number"), "b": ("number", "Second number")})
    return tool, rng.choice([f"What is {a} {word} {b}?", f"How much is {a} {sign} {b}?", f"Compute {a} {sign} {b}."]), {"a": a, "b": b}, \
        {"result": value}, rng.choice([f"{a} {word} {b} is {value}.", f"The answer is {value}."])


def time_tool(rng):
    city, time = rng.choice(words.CITIES), f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}"
    tool = function("get_time", "Get the time in a city", {"city": ("string", "Name of the city")})
    return tool, rng.choice([f"What time is it in {city}?", f"Tell me the time in {city}.", f"How late is it in {city}?"]), {"city": city}, \
        {"time": time}, f"It is {time} in {city}."


def timer_tool(rng):
    minutes = rng.randint(1, 60)
    tool = function("set_timer", "Set a timer", {"minutes": ("integer", "Number of minutes")})
    return tool, rng.choice([f"Set a timer for {minutes} minutes.", f"Wake me in {minutes} minutes.", f"Please start a timer of {minutes} minutes."]), \
        {"minutes": minutes}, {"ok": True}, f"I have set a timer for {minutes} minutes."


def message_tool(rng):
    to = rng.choice(words.GIRLS + words.BOYS)
    text = rng.choice(["I am late", "Happy birthday", "Come home", "Dinner is ready", "See you soon", "Thank you", "Call me",
                       f"I found the {rng.choice(words.THINGS)}", f"Bring {article(rng.choice(words.FOODS))}"])
    tool = function("send_message", "Send a message to a person", {"to": ("string", "Name of the person"), "text": ("string", "The message")})
    return tool, rng.choice([f"Send a message to {to}: {text}", f"Tell {to}: {text}", f"Write to {to}: \"{text}\""]), {"to": to, "text": text}, \
        {"sent": True}, f"I have sent the message to {to}."


def light_tool(rng):
    room, state = rng.choice(words.ROOMS), rng.choice(["on", "off"])
    tool = function("set_light", "Turn a light on or off", {"room": ("string", "Name of the room"), "state": ("string", "on or off")})
    return tool, rng.choice([f"Turn {state} the light in the {room}.", f"Turn the {room} light {state}.", f"Light {state} in the {room}, please."]), \
        {"room": room, "state": state}, {"ok": True}, f"The light in the {room} is now {state}."


def price_tool(rng):
    item, price = rng.choice(words.FOODS + words.THINGS), rng.randint(1, 80)
    tool = function("get_price", "Get the price of an item", {"item": ("string", "Name of the item")})
    return tool, rng.choice([f"What does {article(item)} cost?", f"How much is {article(item)}?", f"Tell me the price of {article(item)}."]), {"item": item}, \
        {"price": price}, rng.choice([f"{upper_first(article(item))} costs {price} dollars.", f"It costs {price} dollars."])


def list_tool(rng):
    item, count = rng.choice(words.FOODS), rng.randint(1, 9)
    tool = function("add_to_list", "Add an item to the shopping list", {"item": ("string", "Name of the item"), "count": ("integer", "How many")},
                    optional=("count",))
    if chance(rng, 0.5):
        return tool, rng.choice([f"Put {item} on my list.", f"Add {item} to the shopping list."]), {"item": item}, {"ok": True}, \
            f"I have added {item} to your list."
    return tool, rng.choice([f"Put {count} x {item} on my list.", f"Add {item} to the shopping list, {count} of them."]), {"item": item, "count": count}, \
        {"ok": True}, f"I have added {count} x {item} to your list."


def search_tool(rng):
    topic = rng.choice(words.ANIMAL_NAMES + list(words.DEFINITIONS) + words.HOBBIES)
    title = f"All about {topic}"
    tool = function("search_books", "Search for books", {"query": ("string", "What to search for")})
    return tool, rng.choice([f"Find a book about {topic}.", f"Do you have books about {topic}?", f"Search for books on {topic}."]), {"query": topic}, \
        {"title": title}, f"I found the book \"{title}\"."


def dice_tool(rng):
    sides = rng.choice([4, 6, 8, 10, 12, 20])
    value = rng.randint(1, sides)
    tool = function("roll_dice", "Roll a dice", {"sides": ("integer", "Number of sides")})
    return tool, rng.choice([f"Roll a dice with {sides} sides.", f"Throw a {sides}-sided dice."]), {"sides": sides}, {"value": value}, \
        f"The dice shows {value}."


def synthetic_tool(rng):
    """A tool with a made-up name, so that names and keys must be read from the list."""
    verb, noun = rng.choice(VERBS), rng.choice(NOUNS)
    name = rng.choice([f"{verb}_{noun}", f"{verb}_{noun}", f"{verb}_the_{noun}", f"{noun}_{verb}", f"do_{verb}_{noun}", f"{verb}{noun.capitalize()}"])
    choices = {"color": ("string", "The color", rng.choice(words.COLOURS), "in {}"), "room": ("string", "The room", rng.choice(words.ROOMS), "in the {}"),
               "count": ("integer", "How many times", rng.randint(2, 30), "{} times"), "owner": ("string", "Who owns it", rng.choice(words.GIRLS + words.BOYS), "for {}"),
               "place": ("string", "Where to do it", rng.choice(words.PLACES), "at the {}"), "day": ("string", "On which day", rng.choice(words.DAYS), "on {}"),
               "city": ("string", "In which city", rng.choice(words.CITIES), "in {}")}
    keys = rng.sample(list(choices), rng.randint(1, 2))
    tool = function(name, f"{upper_first(verb)} the {noun}", {key: choices[key][:2] for key in keys})
    spoken = keys[:]
    rng.shuffle(spoken)
    where = " ".join(choices[key][3].format(choices[key][2]) for key in spoken)
    asked = rng.choice([f"{verb} the {noun} {where}.", f"Please {verb} the {noun} {where}.", f"Can you {verb} the {noun} {where}?", f"I want you to {verb} the {noun} {where}."])
    done = rng.choice([True, True, True, False])
    answer = f"I did it: {verb} the {noun} {where}." if done else f"I could not {verb} the {noun}."
    return tool, upper_first(asked), {key: choices[key][2] for key in keys}, {"ok": done}, answer


SUMS = ("add", "multiply", "subtract")
REAL = [weather_tool, add_tool, time_tool, timer_tool, message_tool, light_tool, price_tool, list_tool, search_tool, dice_tool]


def pick_tool(rng):
    return rng.choice(REAL)(rng) if chance(rng, 0.5) else synthetic_tool(rng)


def other_tools(rng, count, taken):
    tools = []
    while len(tools) < count:
        tool = pick_tool(rng)[0]
        if tool["function"]["name"] not in taken:
            taken.add(tool["function"]["name"])
            tools.append(tool)
    return tools


def call(name, arguments):
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def called_turn(rng, use):
    tool, asked, arguments, result, answer = use
    name = tool["function"]["name"]
    turn = [{"role": "user", "content": asked}, {"role": "assistant", "content": "", "tool_calls": [call(name, arguments)]}]
    if chance(rng, 0.75):
        if chance(rng, 0.06):
            result, answer = {"error": "not found"}, "I am sorry, the tool could not find that."
        turn += [{"role": "tool", "name": name, "content": json.dumps(result, ensure_ascii=False)}, {"role": "assistant", "content": upper_first(answer)}]
    return turn


def double_turn(rng):
    """Two calls of one tool in one answer."""
    first, second = weather_tool(rng), weather_tool(rng)
    while first[2] == second[2]:
        second = weather_tool(rng)
    one, two = first[2]["city"], second[2]["city"]
    turn = [{"role": "user", "content": rng.choice([f"What is the weather in {one} and {two}?", f"Compare the weather in {one} and {two}."])},
            {"role": "assistant", "content": "", "tool_calls": [call("get_weather", first[2]), call("get_weather", second[2])]}]
    for use in (first, second):
        turn.append({"role": "tool", "name": "get_weather", "content": json.dumps(use[3])})
    turn.append({"role": "assistant", "content": f"In {one} it is {first[3]['weather']} with {first[3]['temperature']} degrees, and in {two} it is "
                                                 f"{second[3]['weather']} with {second[3]['temperature']} degrees."})
    return first[0], turn


def plain_turn(rng):
    if chance(rng, 0.25):
        asked, said = rng.choice(SMALL_TALK)
        return [{"role": "user", "content": rng.choice(asked)}, {"role": "assistant", "content": rng.choice(said)}]
    question, answer, _ = make_question(rng)
    return [{"role": "user", "content": sloppy(rng, question)}, {"role": "assistant", "content": answer}]


def make_tool_chat(rng):
    """(messages, tools)."""
    system = plain_system(rng)
    out = [{"role": "system", "content": system}] if system else []
    roll = rng.random()
    if roll < 0.08:
        tool, turn = double_turn(rng)
        tools = [tool] + other_tools(rng, rng.randint(0, 2), {tool["function"]["name"]})
        out += turn
    elif roll < 0.68:
        use = pick_tool(rng)
        tools = [use[0]] + other_tools(rng, rng.choice([0, 0, 1, 1, 2]), {use[0]["function"]["name"]})
        if chance(rng, 0.12):
            out += plain_turn(rng)
        out += called_turn(rng, use)
    elif roll < 0.82:
        tools = other_tools(rng, rng.randint(1, 3), set(SUMS))
        out += plain_turn(rng)
    else:
        use = pick_tool(rng)
        while use[0]["function"]["name"] in SUMS:
            use = pick_tool(rng)
        tools = other_tools(rng, rng.randint(1, 2), {use[0]["function"]["name"]})
        out += [{"role": "user", "content": sloppy(rng, use[1])},
                {"role": "assistant", "content": rng.choice(["I do not have a tool for that.", "I am sorry, I have no tool for that."])}]
    rng.shuffle(tools)
    return out, tools
