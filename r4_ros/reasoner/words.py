"""The words that the rules know: kinds of things with their synonyms, colours, rooms, states. Data only."""

from __future__ import annotations

KINDS = """
cup = mug, coffee cup, coffee mug, teacup, tea cup, tea mug, drinking cup, tankard, beaker
tv = tele, television, television set, telly, tv set, tvmonitor, tv monitor, tv screen, television screen
tv stand = tv bench, tv unit, tv cabinet, media console
monitor = screen, computer monitor, computer screen, display, desktop monitor
couch = sofa, settee, loveseat, love seat, chesterfield, davenport, divan
refrigerator = fridge, freezer, fridge freezer, refridgerator, icebox
trash can = trash bin, bin, garbage can, garbage bin, rubbish bin, waste bin, wastebasket, waste basket, dustbin, \
trashcan, recycling bin, wastebin, litter bin
cell phone = phone, mobile phone, mobile, cellphone, smartphone, smart phone, telephone, handset
table =
sideboard = buffet, credenza
console table = hall table
dining table = dinner table, diningtable
coffee table =
side table = end table
desk = office desk, writing desk, work desk, workbench
nightstand = night stand, bedside table
chair =
office chair = desk chair, swivel chair
armchair = arm chair, easy chair, recliner
dining chair =
stool = bar stool, barstool, footstool
bench =
ottoman = pouf, footrest
bed = double bed, single bed, bunk bed, futon
crib = cot, cradle
potted plant = plant, houseplant, house plant, pottedplant, pot plant, potted plants
vase = flower vase
flower = flowers, bouquet
tree = christmas tree
backpack = rucksack, back pack, knapsack, school bag, schoolbag
handbag = purse, hand bag, shoulder bag
suitcase = luggage, travel bag, valise
bag = tote bag, paper bag, plastic bag, shopping bag, duffel bag, satchel
box = cardboard box, carton, crate, storage box
basket = laundry basket, hamper, laundry hamper
laptop = laptop computer, notebook computer
computer = pc, desktop computer, computer tower, pc tower
keyboard = computer keyboard
mouse = computer mouse
remote = remote control, remote controller, tv remote
microwave = microwave oven
oven = cooker
stove = stovetop, hob, cooktop
toaster =
kettle = teapot, tea pot, electric kettle
coffee machine = coffee maker, espresso machine, percolator
dishwasher =
washing machine = washer, clothes washer
dryer = tumble dryer, clothes dryer, drier
sink = washbasin, basin, wash basin
faucet = tap
toilet = loo, wc, lavatory bowl
bathtub = bath tub, tub
shower = shower cabin
towel = bath towel, hand towel
mirror =
cabinet = cupboard
wardrobe = armoire, closet
dresser = chest of drawers, drawer chest
drawer =
shelf = bookshelf, bookcase, book case, book shelf, shelving, shelves, rack, bookstand
counter = countertop, worktop, counter top
kitchen island = island
door = front door, back door
light switch = switch, wall switch
high chair =
window = windowpane
curtain = drape, curtains, drapes
blinds = window blinds, blind
lamp = floor lamp, table lamp, desk lamp, light fixture, lampshade, chandelier, lantern
rug = carpet, mat, doormat
pillow = cushion, throw pillow
blanket = comforter, duvet, quilt
picture = painting, photo, picture frame, framed picture, photo frame, poster, framed photo, portrait
clock = wall clock, alarm clock, timepiece
book = paperback
magazine = journal
newspaper = news paper
bottle = water bottle, wine bottle, flask
wine glass = goblet, wineglass
glass = drinking glass, tumbler
bowl =
plate = dish, saucer
fork =
knife =
spoon = teaspoon
pan = frying pan, saucepan, skillet, wok
pot = cooking pot
cutting board = chopping board
banana =
apple =
orange =
broccoli =
carrot =
sandwich =
pizza =
donut = doughnut
cake =
hot dog =
ice cream =
scissors = pair of scissors
teddy bear = teddy
hair drier = hair dryer, hairdryer, blow dryer
toothbrush =
toothpaste =
soap =
soap dispenser =
coat rack = coat stand, coat hanger, hat stand
globe =
person = human, man, woman, people, somebody, someone, anybody, anyone, guy, lady, boy, girl, child, kid
dog = puppy, pooch, doggy
cat = kitten, moggy, kitty
bird =
horse =
sheep =
cow =
elephant =
bear =
zebra =
giraffe =
bicycle = bike, cycle
car = automobile
motorcycle = motorbike, moped, scooter
airplane = aeroplane, plane, aircraft
bus =
train =
truck = lorry
boat =
traffic light =
fire hydrant =
stop sign =
parking meter =
umbrella =
tie = necktie
hat = cap, beanie, bonnet
shoe = shoes, sneaker, sneakers, trainers, trainer
coat = jacket, parka, raincoat, anorak
glasses = eyeglasses, spectacles
key = keys, keychain
wallet =
watch = wristwatch
frisbee =
skis = ski
snowboard =
ball = sports ball, football, soccer ball, basketball
kite =
baseball bat =
baseball glove =
skateboard =
surfboard =
tennis racket = tennis racquet
piano = keyboard piano
guitar =
fireplace = chimney, hearth
radiator = heater
fan = ceiling fan
air conditioner = ac unit, air conditioning unit, aircon
printer = copier, photocopier, photo copier
whiteboard = white board
projector =
speaker = loudspeaker
fire extinguisher =
ladder = stepladder
broom =
mop =
vacuum cleaner = vacuum, hoover
bucket = pail
iron =
ironing board =
tissue box = box of tissues, tissues
toilet paper = toilet roll
paper towel = kitchen roll
stairs = staircase, stairway
toy = plush toy
robot =
wall =
floor =
ceiling =
"""
"""canonical kind = synonyms, one kind a line."""

NARROWER = """
table > dining table, coffee table, side table, console table
chair > office chair, armchair, dining chair
seat > chair, couch, stool, bench, armchair, ottoman
light > lamp
bag > backpack, handbag
furniture > table, dining table, coffee table, side table, console table, sideboard, desk, \
chair, office chair, armchair, dining chair, couch, bed, \
cabinet, wardrobe, dresser, shelf, nightstand, stool, bench, ottoman
appliance > refrigerator, microwave, oven, stove, toaster, kettle, coffee machine, dishwasher, washing machine, dryer
fruit > banana, apple, orange
food > banana, apple, orange, broccoli, carrot, sandwich, pizza, donut, cake, hot dog
animal > dog, cat, bird, horse, sheep, cow, elephant, bear, zebra, giraffe
pet > dog, cat
vehicle > car, bus, truck, motorcycle, bicycle
dish > plate, bowl, cup
cutlery > fork, knife, spoon
silverware > fork, knife, spoon
plant > flower
clothes > coat, hat, shoe, tie
electronics > tv, monitor, laptop, computer, keyboard, mouse, cell phone, remote
"""
"""wider word > kinds that are such things."""

STANDING = """
refrigerator oven stove dishwasher washing_machine dryer tv door window curtain mirror picture radiator sink toilet
bathtub shower fireplace stairs coat_rack rug
"""
"""Besides furniture, what isn't carried about: it is fitted, hung up, or too big."""

STANDS_FOR = """
tv > monitor
monitor > tv
table > desk, nightstand
soap > soap dispenser
desk > dining table
"""
"""kind > kinds that people call so too, where there is nothing better."""

ANYTHING = frozenset(
    "object objects thing things item items stuff something anything everything entity entities article".split()
)

ROOMS = frozenset(
    """kitchen bathroom bedroom office hallway hall corridor garage garden lobby lounge study den pantry balcony attic
    basement cellar laundry restroom dining living guest conference meeting waiting storage utility classroom library
    gym workshop shed stairwell entrance foyer terrace patio yard nursery toilet lab laboratory ward reception bay
    hangar warehouse cafeteria canteen studio porch chapel church greenhouse conservatory cloakroom parlour parlor
    vestibule stable theatre theater auditorium""".split()
)
"""Words that name a room or site alone or before 'room'; 'toilet' only before 'room'."""
ROOM_KINDS = frozenset(
    "toilet dining guest waiting storage living meeting conference utility bay church reception library church".split()
)
"""Those that don't say where a thing is, before it: 'toilet seat', 'conference table'."""

COLORS = {
    word: color
    for color, words in {
        "red": "red crimson scarlet",
        "orange": "orange",
        "yellow": "yellow golden",
        "green": "green",
        "blue": "blue navy turquoise cyan",
        "purple": "purple violet",
        "pink": "pink magenta",
        "brown": "brown",
        "beige": "beige cream tan",
        "white": "white",
        "gray": "gray grey silver",
        "black": "black",
    }.items()
    for word in words.split()
}
MATERIALS = frozenset(
    "wooden wood metal plastic glass leather fabric ceramic steel stone paper cardboard cloth".split()
)
SHAPES = frozenset("round square rectangular circular oval triangular hexagonal".split())
STATES = {
    "open": ("openness", "open"),
    "opened": ("openness", "open"),
    "ajar": ("openness", "open"),
    "closed": ("openness", "closed"),
    "shut": ("openness", "closed"),
    "locked": ("openness", "closed"),
    "unlocked": ("openness", "open"),
    "on": ("power", "on"),
    "off": ("power", "off"),
    "lit": ("power", "on"),
    "empty": ("fullness", "empty"),
    "full": ("fullness", "full"),
    "clean": ("cleanliness", "clean"),
    "dirty": ("cleanliness", "dirty"),
    "messy": ("cleanliness", "messy"),
    "cluttered": ("cleanliness", "cluttered"),
    "tidy": ("cleanliness", "tidy"),
    "free": ("availability", "free"),
    "occupied": ("availability", "occupied"),
    "available": ("availability", "free"),
    "broken": ("condition", "broken"),
    "made": ("condition", "made"),
    "folded": ("condition", "folded"),
    "warm": ("temperature", "warm"),
    "cold": ("temperature", "cold"),
    "hot": ("temperature", "hot"),
}
"""state word -> (property, value)."""

PROPERTIES = {
    "color": "color",
    "colour": "color",
    "colors": "color",
    "colours": "color",
    "material": "material",
    "shape": "shape",
    "size": "size",
    "brand": "brand",
    "make": "brand",
    "text": "text",
    "pattern": "pattern",
    "type": "type",
    "kind": "type",
    "sort": "type",
    "style": "type",
    "temperature": "temperature",
    "condition": "condition",
    "number plate": "text",
    "genre": "type",
    "breed": "type",
    "species": "type",
    "height": "size",
    "width": "size",
    "length": "size",
    "depth": "size",
    "weight": "other",
}
"""noun that names a property -> what is asked."""

TOLD_OF = {
    "title": "text",
    "label": "text",
    "inscription": "text",
    "caption": "text",
    "reading": "text",
    "name": "identity",
    "nickname": "identity",
    "profession": "identity",
    "occupation": "identity",
    "job": "identity",
    "nationality": "identity",
    "price": "other",
    "cost": "other",
    "age": "other",
    "background": "other",
    "hometown": "other",
    "hobby": "other",
    "birthday": "other",
    "role": "other",
    "email": "other",
    "address": "other",
    "salary": "other",
    "flavor": "other",
    "flavour": "other",
}
"""The same, where what it is of is named with it ('the title of the book')."""

WRITING = frozenset("write engrave scratch carve inscribe print".split())
"""What leaves a text on a thing."""

TEXTS = frozenset("reg registration plate expiry title inscription slogan caption label serial".split())
"""What is read off a thing."""

UNKNOWABLE = frozenset(
    """name names surname nickname occupation background hometown role age birthday birthdate job profession hobby
    opinion mood feeling feelings personality character password pin email address salary price cost value
    meaning reason idea plan purpose intention weather forecast news story song language religion nationality
    secret problem advice owner joke capital number kind kinds type types sort sorts""".split()
)
"""What no camera sees of somebody or something."""
