"""Word tables: people, animals, things and the small facts that the questions draw on."""

GIRLS = ("Lily Mia Anna Sara Ella Zoe Emma Ruby Nora Lucy Amy Rosa Ida Maya Tara Nina Leila Asha Kemi Wanja Priya Meena Hana Yuki "
         "Alice Clara Daisy Eva Fatima Grace Helen Iris Jane Kate Lena Molly Olga Pia Rita Sofia Tina Uma Vera Wendy Amina").split()
BOYS = ("Tom Ben Max Sam Tim Leo Jack Finn Noah Omar Ravi Kofi Juma Anand Carlos Peter Paul Oscar Hugo Ivan Jonas Karl Liam Milo "
        "Nils Otto Pablo Rafi Seth Theo Victor Will Yusuf Zack Adam Bruno Chen David Eli Felix George Henry Isaac Joe Kenji").split()

# name, colour, sound, home, food, legs, baby, size rank, what it is
ANIMALS = [
    ("dog", "brown", "woof", "a kennel", "meat", 4, "puppy", 5, "an animal that barks and lives with people"),
    ("cat", "black", "meow", "a house", "fish", 4, "kitten", 4, "a small furry animal that purrs and hunts mice"),
    ("cow", "white", "moo", "a barn", "grass", 4, "calf", 9, "a big farm animal that gives milk"),
    ("pig", "pink", "oink", "a sty", "corn", 4, "piglet", 7, "a round farm animal that likes mud"),
    ("horse", "brown", "neigh", "a stable", "hay", 4, "foal", 9, "a big animal that people ride"),
    ("sheep", "white", "baa", "a fold", "grass", 4, "lamb", 7, "a farm animal that gives us wool"),
    ("goat", "grey", "maa", "a farm", "leaves", 4, "kid", 7, "a farm animal with horns that climbs well"),
    ("hen", "red", "cluck", "a coop", "seeds", 2, "chick", 3, "a farm bird that lays eggs"),
    ("duck", "yellow", "quack", "a pond", "water plants", 2, "duckling", 3, "a bird that swims on ponds"),
    ("frog", "green", "croak", "a pond", "flies", 4, "tadpole", 2, "a small green animal that jumps and swims"),
    ("lion", "golden", "roar", "the savanna", "meat", 4, "cub", 9, "a big wild cat with a mane"),
    ("tiger", "orange", "growl", "the jungle", "meat", 4, "cub", 9, "a big wild cat with stripes"),
    ("bear", "brown", "growl", "a cave", "berries and honey", 4, "cub", 9, "a big strong animal with thick fur"),
    ("wolf", "grey", "howl", "a den", "meat", 4, "pup", 6, "a wild animal that looks like a dog and hunts in packs"),
    ("fox", "red", "yip", "a den", "mice", 4, "kit", 5, "a clever wild animal with a bushy tail"),
    ("mouse", "grey", "squeak", "a hole", "cheese", 4, "pup", 1, "a tiny animal with a long thin tail"),
    ("rabbit", "white", "squeak", "a burrow", "carrots", 4, "kit", 3, "a soft animal with long ears that hops"),
    ("owl", "brown", "hoot", "a hollow tree", "mice", 2, "owlet", 3, "a bird that flies at night"),
    ("bee", "yellow", "buzz", "a hive", "nectar", 6, "larva", 0, "a small insect that makes honey"),
    ("ant", "black", "no sound", "an anthill", "crumbs", 6, "larva", 0, "a tiny insect that works with many others"),
    ("spider", "black", "no sound", "a web", "flies", 8, "spiderling", 0, "a small animal with eight legs that spins webs"),
    ("elephant", "grey", "trumpet", "the savanna", "leaves", 4, "calf", 10, "a very big animal with a trunk"),
    ("monkey", "brown", "chatter", "the jungle", "bananas", 4, "infant", 5, "a clever animal that climbs trees"),
    ("snake", "green", "hiss", "the grass", "eggs", 0, "snakelet", 4, "a long animal without legs"),
    ("parrot", "green", "squawk", "the rainforest", "seeds", 2, "chick", 3, "a bright bird that can copy words"),
    ("penguin", "black", "honk", "the cold south", "fish", 2, "chick", 4, "a bird that swims and cannot fly"),
    ("camel", "brown", "grunt", "the desert", "dry plants", 4, "calf", 9, "an animal with a hump that lives in the desert"),
    ("giraffe", "yellow", "hum", "the savanna", "leaves", 4, "calf", 10, "a very tall animal with a long neck"),
    ("zebra", "striped", "bark", "the savanna", "grass", 4, "foal", 8, "an animal like a horse with black and white stripes"),
    ("whale", "blue", "song", "the sea", "tiny sea animals", 0, "calf", 11, "a huge animal that lives in the sea"),
    ("crow", "black", "caw", "a nest", "seeds", 2, "chick", 3, "a clever black bird"),
    ("turtle", "green", "hiss", "the water", "plants", 4, "hatchling", 4, "a slow animal with a hard shell"),
    ("squirrel", "red", "chatter", "a tree", "nuts", 4, "kit", 2, "a small animal with a bushy tail that stores nuts"),
    ("crab", "red", "click", "the beach", "small sea animals", 10, "larva", 1, "an animal with a shell and two claws"),
]
ANIMAL_NAMES = [animal[0] for animal in ANIMALS]

COLOURS = "red blue green yellow orange purple pink brown black white grey golden silver".split()
THING_COLOURS = {
    "the sky on a clear day": "blue", "grass": "green", "a ripe banana": "yellow", "snow": "white", "coal": "black",
    "a ripe tomato": "red", "a carrot": "orange", "milk": "white", "a lemon": "yellow", "chocolate": "brown", "blood": "red",
    "a leaf in summer": "green", "the sun in a drawing": "yellow", "a strawberry": "red", "a flamingo": "pink", "a plum": "purple",
    "a raven": "black", "the sea": "blue", "a pumpkin": "orange", "a pea": "green", "rice": "white", "a cherry": "red",
    "butter": "yellow", "soot": "black", "an emerald": "green", "a ruby": "red", "an elephant": "grey", "a frog": "green",
}
MIXES = {("red", "yellow"): "orange", ("blue", "yellow"): "green", ("red", "blue"): "purple", ("red", "white"): "pink",
         ("black", "white"): "grey"}

TOYS = "ball kite doll drum boat train puzzle robot teddy balloon bicycle hat scarf whistle lantern umbrella basket crown".split()
THINGS = TOYS + "book box key cup spoon shell stone feather coin button map rope mirror bell candle blanket shoe apple".split()
PLACES = ["park", "forest", "garden", "beach", "market", "village", "river", "hill", "farm", "lake", "meadow", "field"]
ROOMS = ["kitchen", "bedroom", "bathroom", "living room", "hall", "attic", "cellar", "garage"]
FOODS = "apple banana cake soup bread cheese rice honey mango pear pie carrot cookie orange plum noodle egg".split()
HOBBIES = ["painting", "swimming", "reading", "dancing", "singing", "football", "cooking", "running", "drawing", "fishing",
           "chess", "gardening", "cycling", "music"]
FEELINGS = ["happy", "sad", "tired", "angry", "scared", "bored", "excited", "lonely", "proud", "hungry"]
WEATHER = ["sunny", "rainy", "cloudy", "windy", "snowy", "foggy", "stormy"]

CAPITALS = {
    "France": "Paris", "Spain": "Madrid", "Italy": "Rome", "Germany": "Berlin", "England": "London", "Norway": "Oslo",
    "Sweden": "Stockholm", "Finland": "Helsinki", "Denmark": "Copenhagen", "Poland": "Warsaw", "Greece": "Athens",
    "Portugal": "Lisbon", "Ireland": "Dublin", "Austria": "Vienna", "Hungary": "Budapest", "Russia": "Moscow", "Japan": "Tokyo",
    "China": "Beijing", "India": "New Delhi", "Kenya": "Nairobi", "Egypt": "Cairo", "Ghana": "Accra", "Uganda": "Kampala",
    "Ethiopia": "Addis Ababa", "Canada": "Ottawa", "Mexico": "Mexico City", "Cuba": "Havana", "Peru": "Lima", "Chile": "Santiago",
    "Brazil": "Brasilia", "Turkey": "Ankara", "Iran": "Tehran", "Thailand": "Bangkok", "Nepal": "Kathmandu",
}
CITIES = list(CAPITALS.values()) + ["Munich", "Milan", "Osaka", "Mumbai", "Lagos", "Boston", "Chicago", "Sydney", "Toronto", "Lyon"]

OPPOSITES = [("hot", "cold"), ("big", "small"), ("up", "down"), ("fast", "slow"), ("happy", "sad"), ("day", "night"), ("wet", "dry"),
             ("hard", "soft"), ("old", "new"), ("open", "closed"), ("full", "empty"), ("light", "dark"), ("long", "short"),
             ("loud", "quiet"), ("early", "late"), ("near", "far"), ("left", "right"), ("good", "bad"), ("rich", "poor"),
             ("strong", "weak"), ("clean", "dirty"), ("high", "low"), ("thick", "thin"), ("first", "last"), ("inside", "outside"),
             ("push", "pull"), ("win", "lose"), ("start", "stop"), ("give", "take"), ("yes", "no"), ("true", "false"),
             ("friend", "enemy"), ("sweet", "sour"), ("brave", "afraid"), ("heavy", "light")]
PLURALS = {"cat": "cats", "dog": "dogs", "child": "children", "mouse": "mice", "foot": "feet", "tooth": "teeth", "man": "men",
           "woman": "women", "leaf": "leaves", "wolf": "wolves", "box": "boxes", "baby": "babies", "city": "cities", "bus": "buses",
           "knife": "knives", "sheep": "sheep", "fish": "fish", "goose": "geese", "book": "books", "berry": "berries"}
JOBS = {"baker": ("bakes bread", "A baker is a person who bakes bread and cakes."),
        "teacher": ("teaches children", "A teacher is a person who helps children learn."),
        "doctor": ("helps sick people", "A doctor is a person who helps sick people get well."),
        "farmer": ("grows food", "A farmer is a person who grows food and keeps animals."),
        "pilot": ("flies planes", "A pilot is a person who flies planes."),
        "sailor": ("works on a ship", "A sailor is a person who works on a ship."),
        "painter": ("paints pictures", "A painter is a person who paints pictures."),
        "firefighter": ("puts out fires", "A firefighter is a person who puts out fires."),
        "cook": ("makes meals", "A cook is a person who makes meals."),
        "tailor": ("makes clothes", "A tailor is a person who makes clothes."),
        "gardener": ("looks after plants", "A gardener is a person who looks after plants."),
        "dentist": ("looks after teeth", "A dentist is a person who looks after our teeth."),
        "librarian": ("works with books", "A librarian is a person who looks after the books in a library.")}
USES = {"scissors": "cut paper", "a spoon": "eat soup", "a key": "open a lock", "an umbrella": "stay dry in the rain",
        "a broom": "sweep the floor", "a hammer": "hit nails", "a pen": "write", "soap": "wash our hands", "a clock": "tell the time",
        "a towel": "dry ourselves", "a ladder": "climb up high", "a lamp": "see in the dark", "a cup": "drink",
        "a brush": "paint or clean", "a map": "find the way", "a needle": "sew", "a bed": "sleep", "an oven": "bake bread"}
DEFINITIONS = {
    "island": "land with water all around it", "river": "a long stream of water that flows to the sea", "desert": "a very dry place with little rain",
    "forest": "a place where many trees grow", "mountain": "a very high hill", "cloud": "many tiny drops of water in the sky",
    "rainbow": "a bow of colours in the sky when sun and rain meet", "volcano": "a mountain that can throw out hot rock",
    "lake": "a large body of water with land around it", "bridge": "something that we use to cross water or a road",
    "library": "a place with many books to read or borrow", "market": "a place where people buy and sell things",
    "hospital": "a place where sick people get help", "school": "a place where children learn", "castle": "a large old house with strong walls",
    "moon": "the round body that goes around the earth", "star": "a far away ball of hot light", "planet": "a large round body that goes around a star",
    "winter": "the coldest season of the year", "summer": "the warmest season of the year", "shadow": "the dark shape that a thing makes in the light",
    "echo": "a sound that comes back to you", "seed": "the small part from which a plant grows", "nest": "the home that a bird builds",
    "honey": "the sweet food that bees make", "ice": "water that is frozen", "steam": "the hot mist that boiling water makes",
    "friend": "a person whom you like and trust", "secret": "something that only a few people know", "gift": "something that you give to a person",
    "story": "a tale about people and what they do", "poem": "a short text with rhythm and often rhymes", "song": "words and music together",
    "promise": "words that say that you will surely do something", "map": "a drawing that shows where places are",
    "bicycle": "a thing with two wheels that you ride", "train": "a row of wagons that runs on rails", "boat": "a thing that carries people on water",
    "triangle": "a shape with three sides", "square": "a shape with four equal sides", "circle": "a round shape without corners",
    "insect": "a small animal with six legs", "bird": "an animal with wings and feathers", "fish": "an animal that lives and breathes in water",
    "fruit": "the part of a plant that holds seeds and is often sweet", "flower": "the bright part of a plant", "root": "the part of a plant that grows under the ground",
    "thunder": "the loud sound that follows lightning", "snow": "soft white ice that falls from the sky", "wind": "air that moves",
}
RHYMES = {"cat": "hat", "dog": "frog", "tree": "bee", "moon": "spoon", "star": "car", "house": "mouse", "cake": "lake", "king": "ring",
          "boat": "goat", "night": "light", "rain": "train", "snow": "crow", "fox": "box", "bed": "red", "sun": "run", "bell": "shell",
          "book": "cook", "day": "play", "ball": "wall", "fish": "dish", "nose": "rose", "bear": "chair"}
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
NUMBER_WORDS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
                "eighteen nineteen twenty").split()
BODY = {"eyes": "see", "ears": "hear", "nose": "smell", "tongue": "taste", "legs": "walk", "hands": "hold things", "teeth": "chew",
        "lungs": "breathe", "brain": "think"}
SHAPES = {"triangle": 3, "square": 4, "rectangle": 4, "pentagon": 5, "hexagon": 6}
FIXED_FACTS = [
    ("How many days are in a week?", "There are seven days in a week.", "seven"),
    ("How many months are in a year?", "There are twelve months in a year.", "twelve"),
    ("How many hours are in a day?", "There are 24 hours in a day.", "24"),
    ("How many minutes are in an hour?", "There are 60 minutes in an hour.", "60"),
    ("How many seconds are in a minute?", "There are 60 seconds in a minute.", "60"),
    ("What do we breathe?", "We breathe air.", "air"),
    ("What do bees make?", "Bees make honey.", "honey"),
    ("What does a cow give us?", "A cow gives us milk.", "milk"),
    ("Where does the sun rise?", "The sun rises in the east.", "east"),
    ("Where does the sun set?", "The sun sets in the west.", "west"),
    ("What is frozen water called?", "Frozen water is called ice.", "ice"),
    ("What falls from the clouds when it is cold?", "Snow falls from the clouds when it is cold.", "snow"),
    ("Which season comes after winter?", "Spring comes after winter.", "spring"),
    ("Which season comes after spring?", "Summer comes after spring.", "summer"),
    ("Which season comes after summer?", "Autumn comes after summer.", "autumn"),
    ("Which season comes after autumn?", "Winter comes after autumn.", "winter"),
    ("What is the largest animal?", "The blue whale is the largest animal.", "whale"),
    ("What is the tallest animal?", "The giraffe is the tallest animal.", "giraffe"),
    ("What shines in the sky at night?", "The moon and the stars shine in the sky at night.", "the moon"),
    ("What shines in the sky by day?", "The sun shines in the sky by day.", "the sun"),
    ("What do plants need to grow?", "Plants need water, light and air to grow.", "water"),
    ("Is the sun hot or cold?", "The sun is very hot.", "hot"),
    ("Is ice hot or cold?", "Ice is cold.", "cold"),
    ("Can fish swim?", "Yes, fish can swim.", "yes"),
    ("Can a stone swim?", "No, a stone cannot swim. It sinks.", "no"),
    ("Can penguins fly?", "No, penguins cannot fly, but they swim very well.", "no"),
    ("How many wheels does a bicycle have?", "A bicycle has two wheels.", "two"),
    ("How many wheels does a car have?", "A car has four wheels.", "four"),
    ("How many fingers are on one hand?", "There are five fingers on one hand.", "five"),
    ("How many letters are in the English alphabet?", "There are 26 letters in the English alphabet.", "26"),
    ("Which planet do we live on?", "We live on the planet Earth.", "Earth"),
    ("What is the color of a stop light?", "A stop light is red.", "red"),
    ("What do caterpillars turn into?", "Caterpillars turn into butterflies.", "butterflies"),
    ("What is at the center of our solar system?", "The sun is at the center of our solar system.", "the sun"),
]
