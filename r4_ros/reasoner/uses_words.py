"""What kinds of things serve for, in the words of people. Data only."""

from __future__ import annotations

USES = """
couch = sit down, lie down, rest, relax, nap, put your feet up
bed = sleep, lie down, take a nap, rest at night
chair = sit down, have a seat
desk = work, study, write, do homework, sit with a laptop
dining table = eat a meal together, have dinner, breakfast or lunch
table = put things down, eat, work
lamp = light up a dark corner, see in the dark, read at night
tv = watch a film, a match, the news or a show
monitor = see what a computer shows
laptop = go online, write an email, browse the web, type a document, join a video call
keyboard = type on a computer
mouse = click and point on a computer
remote = change the channel, switch the tv over, turn the volume up
cell phone = call somebody, send a message, text a friend
clock = see what time it is, be woken up in the morning
refrigerator = keep food cold and fresh, cool drinks, keep milk, butter and leftovers
microwave = heat up leftovers quickly, defrost food, make popcorn
oven = bake a cake, roast a chicken, bake bread
stove = cook a meal, fry an egg, boil pasta, simmer soup
toaster = toast a slice of bread
kettle = boil water for tea
coffee machine = make coffee, brew an espresso
dishwasher = wash the dirty dishes by machine
washing machine = wash clothes, do the laundry
dryer = dry wet clothes after washing
sink = wash hands, rinse vegetables, do the dishes, get water from the tap
toilet = relieve oneself, pee
bathtub = have a bath, soak in warm water
shower = take a shower, rinse off after sport
mirror = look at oneself, check one's hair, put on make-up, shave
towel = dry hands, dry oneself after a shower
soap = wash hands clean, get rid of germs
hair drier = blow wet hair dry
toothbrush = brush teeth
trash can = throw something away, dispose of rubbish, get rid of waste
broom = sweep the floor, sweep up crumbs
mop = wipe the floor wet, mop up a spill
vacuum cleaner = vacuum the carpet, suck up dust
paper towel = wipe up a spill, clean a surface
tissue box = blow one's nose, wipe a runny nose
wardrobe = hang up and keep clothes, a shirt, a suit, a dress
coat rack = hang up a coat, jacket or hat
shelf = store books and other things, keep books
cabinet = store dishes and supplies behind doors
drawer = keep small things, cutlery or socks
box = pack and store things, move house
backpack = carry things on the back on a hike or to school
suitcase = pack clothes for a trip, travel with
bag = carry shopping home
umbrella = stay dry in the rain
coat = keep warm outside in winter
blanket = cover oneself, keep warm in bed
pillow = lay the head on, support the neck
radiator = warm up a cold room, keep warm
fireplace = sit by a fire, warm up by flames
fan = cool down on a hot day, get a breeze
air conditioner = cool the room in summer
window = let fresh air in, look outside
curtain = keep the sun out, make the room dark, have privacy
blinds = keep the sun out, have privacy
door = leave the room, go out
stairs = go up to the next floor
ladder = climb up, reach a high place, change a light bulb
stool = sit at a bar, stand on to reach something high
cup = drink tea or coffee
glass = drink water or juice
bottle = take water along, drink from
bowl = eat soup or cereal, mix a salad
plate = serve food, eat from
fork = eat pasta, pick up food
knife = cut bread, slice vegetables, spread butter
spoon = stir coffee, eat soup
scissors = cut paper, open a parcel
cutting board = chop vegetables on
pan = fry eggs in
pot = cook soup or pasta in
book = read a story, learn something
newspaper = read the news on paper
magazine = leaf through while waiting
printer = print out a document, make a copy
whiteboard = sketch ideas for all to see, draw a diagram, take notes in a meeting
projector = show slides on the wall
speaker = play music aloud, listen to songs
piano = play a tune, practise music
guitar = strum a song
ball = play a game outside, kick around
bicycle = ride to work, cycle
car = drive somewhere
fire extinguisher = put out a fire
iron = smooth creased clothes, get the wrinkles out of a shirt
bucket = carry water, collect drips
basket = carry washing, hold toys
potted plant = make the room greener
vase = put flowers in water
clothes = get dressed
glasses = see better, read small print
key = unlock the door
wallet = pay, carry cash and cards
toy = keep a child busy, play
banana = have a snack, eat fruit
apple = have a snack, eat fruit
light switch = turn the light on or off
"""
"""kind = what it serves to do, one kind a line."""

PURPOSES = {
    "clean": ("mop", "broom", "vacuum cleaner", "sink", "paper towel"),
    "sweep": ("broom", "vacuum cleaner"),
    "wipe": ("paper towel", "towel", "tissue box"),
    "dry": ("towel", "dryer", "hair drier"),
    "heat": ("microwave", "stove", "oven", "kettle"),
    "warm": ("microwave", "stove", "oven", "radiator"),
    "boil": ("kettle", "stove"),
    "bake": ("oven",),
    "cut": ("knife", "scissors"),
    "eat": ("banana", "apple", "orange", "broccoli", "carrot", "sandwich", "pizza", "donut", "cake", "hot dog"),
    "snack": ("banana", "apple", "orange", "sandwich", "donut", "cake"),
    "store": ("cabinet", "shelf", "drawer", "wardrobe", "box"),
    "hang": ("coat rack", "wardrobe"),
    "carry": ("bag", "backpack", "handbag", "suitcase", "box"),
    "light": ("lamp",),
    "type": ("keyboard", "laptop"),
    "print": ("printer",),
    "call": ("cell phone",),
    "shower": ("shower",),
    "bathe": ("bathtub", "shower"),
    "nap": ("bed", "couch"),
    "relax": ("couch", "armchair", "bed"),
    "brush": ("toothbrush",),
    "dispose": ("trash can",),
    "discard": ("trash can",),
    "cover": ("blanket",),
    "play": ("piano", "guitar", "ball"),
    "sit": ("chair", "couch", "stool", "bench", "armchair", "ottoman"),
    "rest": ("couch", "bed", "chair", "armchair"),
    "sleep": ("bed", "couch"),
    "lie": ("bed", "couch"),
    "cook": ("stove", "oven", "microwave"),
    "drink": ("cup", "glass", "bottle", "wine glass"),
    "write": ("desk", "table"),
    "read": ("book", "magazine", "newspaper"),
    "wash": ("sink",),
    "throw": ("trash can",),
    "watch": ("tv", "monitor"),
}
"""verb of a purpose -> kinds that serve it."""

PLACES_FOR = {
    "eat": ("dining table", "table"),
    "work": ("desk", "table"),
    "study": ("desk", "table"),
    "put": ("table", "counter", "desk", "shelf"),
    "place": ("table", "counter", "desk", "shelf"),
}
"""The same where a place is asked for ('where can I eat')."""
