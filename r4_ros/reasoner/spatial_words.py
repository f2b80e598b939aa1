"""Words of place: which say a relation, a side, a length, and which only look like it. Data only."""

from __future__ import annotations

import itertools

from r4_ros.reasoner import lexicon
from r4_ros.reasoner.keys import Relation

R = Relation
Words = tuple[str, ...]
SIMPLE = {
    R.ON: "on|on top of|top of|on top|atop|upon|onto|on the top of|covering|covers|laying on|lying on|resting on",
    R.IN: "all over|all around|throughout|in|inside|inside of|into|within|indoors in",
    R.AT: "at",
    R.UNDER: "under|underneath|beneath|underneath of",
    R.BELOW: "below",
    R.ABOVE: "above|over|hanging over|hanging above",
    R.NEXT_TO: "next to|beside|by|alongside|adjacent to|right by|to the side of|right next to",
    R.NEAR: "near|close to|near to|nearby|outside|outside of|just outside|in the vicinity of|around the area of",
    R.BETWEEN: "between|in between|in between of|in-between|in the middle between",
    R.BEHIND: "behind|beyond|round the back of|around the back of|in back of|in the back of|at the back of|"
    "to the rear of",
    R.IN_FRONT_OF: "in front of|ahead of|at the front of|directly in front of|before",
    R.ACROSS_FROM: "across from|opposite|opposite to|on the other side of|on the far side of|opposite of|across",
    R.AROUND: "around|surrounding|round|surround|surrounds",
    R.AGAINST: "against|leaning on|leaning against|leans on|leans against|touching|up against|flush against",
    R.ATTACHED_TO: "attached to|hanging on|hanging from|mounted on|hung on|hung from|fixed to|mounted to|stuck to|"
    "hanging off",
    R.FACING: "facing|looking at|looking directly at|looking straight at|"
    "facing towards|face|faces|faced|looking towards|looking out on",
    R.CORNER: "in the left corner of|in the right corner of|in the corner of|"
    "at the corner of|on the corner of|in the far corner of|in a corner of|in the corner",
    R.END: "at the end of|at the far end of|on the end of|at the near end of|at the other end of",
    R.CENTRE: "halfway down|halfway along|halfway up|"
    "in the middle of|in the center of|in the centre of|at the center of|at the centre of|on the center of|"
    "in the middle",
    R.TOP: "at the top of|on the top shelf of|at the very top of",
    R.BOTTOM: "at the bottom of|on the bottom of|in the bottom of|at the foot of|at the base of|on the bottom shelf of",
    R.SIDE: "on the side of|at the side of|on all sides of",
    R.ALONG: "along",
    R.THROUGH: "through|out of",
    R.SAME_ROOM: "in the same room as",
}
"""relation = its words, taking a noun phrase after them."""
REACH_M = 1.0  # an arm's length, from where one stands
UNITS_OF_LENGTH = {"m": 1.0, "metre": 1.0, "metres": 1.0, "meter": 1.0, "meters": 1.0, "cm": 0.01, "feet": 0.3048}
UNITS_OF_LENGTH |= {"foot": 0.3048, "ft": 0.3048, "centimetres": 0.01, "centimeters": 0.01, "yards": 0.9144}
PARTS = {
    "corner": R.CORNER,
    "end": R.END,
    "tip": R.END,
    "middle": R.CENTRE,
    "center": R.CENTRE,
    "centre": R.CENTRE,
    "heart": R.CENTRE,
    "side": R.SIDE,
    "edge": R.SIDE,
    "top": R.TOP,
    "bottom": R.BOTTOM,
    "foot": R.BOTTOM,
    "base": R.BOTTOM,
    "front": R.IN_FRONT_OF,
}
"""What 'in the .. of' a thing or a room means, whatever stands between: 'in the far left corner of the room'."""
AT_PARTS = frozenset("in on at to onto into by along".split())
ATTACHING = frozenset(
    """attach affix clip tape pin screw glue clamp nail plug tie strap hook stick fix fasten bolt weld chain staple
    mount hang dangle suspend""".split()
)
"""Verbs of what holds on by itself; 'to' or 'onto' follows."""
HANGING = frozenset("hang dangle hover tower lean loom suspend".split())
STANCES = {"sit": R.UNDER, "stand": R.UNDER, "lie": R.UNDER, "lean": R.AGAINST, "kneel": R.UNDER}
"""'the chair I am sitting on' is under me."""
STOOD_BY = {
    ("in", "front", "of"): R.IN_FRONT_OF,
    ("behind",): R.IN_FRONT_OF,
    ("next", "to"): R.NEXT_TO,
    ("beside",): R.NEXT_TO,
    ("by",): R.NEXT_TO,
    ("near",): R.NEAR,
    ("under",): R.ABOVE,
}
"""'the table I am standing in front of' is in front of me, and so is what I stand behind."""
CLOTHES = frozenset(
    """overall overalls jacket coat shirt t-shirt dress apron uniform vest suit hat cap jumper sweater hoodie trousers
    jeans scarf gloves boots robe pyjamas skirt blouse cardigan overcoat raincoat waistcoat tie glasses black white red
    blue green""".split()
)
"""What somebody is 'in'."""
BODY = frozenset("hand arm foot leg ear eye pocket shoulder knee wrist shoe sleeve".split())
"""'in my right hand' is no side of mine."""
OWN_PARTS = frozenset("position location spot head feet face body".split())
"""'over my head', 'under my feet': the asker."""
COUNTED_FROM = frozenset("left right top bottom front back".split())
SIDES = {"left": R.LEFT_OF, "right": R.RIGHT_OF}
DEPTHS = {"back": R.BEHIND, "rear": R.BEHIND, "front": R.IN_FRONT_OF}
CLOCK = {
    12: (R.IN_FRONT_OF,),
    1: (R.IN_FRONT_OF, R.RIGHT_OF),
    2: (R.IN_FRONT_OF, R.RIGHT_OF),
    3: (R.RIGHT_OF,),
    4: (R.BEHIND, R.RIGHT_OF),
    5: (R.BEHIND, R.RIGHT_OF),
    6: (R.BEHIND,),
    7: (R.BEHIND, R.LEFT_OF),
    8: (R.BEHIND, R.LEFT_OF),
    9: (R.LEFT_OF,),
    10: (R.IN_FRONT_OF, R.LEFT_OF),
    11: (R.IN_FRONT_OF, R.LEFT_OF),
}
HOURS = {w: i for i, w in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())}
LEAVING = frozenset("disappear vanish remove take steal move".split())
FETCHING = frozenset("fetch get bring grab take collect".split())
"""'the vase from the shelf' is on it, where one of these commands."""
EVERYWHERE = frozenset(
    "photo photograph scene house home apartment flat world memory video clip film footage recording".split()
)
"""Being in these restricts nothing."""
MANNER = frozenset(
    """total case order relation comparison addition general particular detail way use question mood business career
    life practice process game match race contest competition event show episode team family group class college
    context future past role interview speech opinion view project theory test trial sense style language words depth
    pain danger charge control love trouble fact favour hurry sport industry routine term company department university
    course diet job ad advertisement segment challenge conversation relationship season series lesson dream workflow
    experience birthday journey risk speed minimum maximum""".split()
)
ABSTRACT_ENDINGS = ("ing", "tion", "sion", "ment", "ness", "ship", "ism", "ance", "ence", "ology", "ics", "hood")
CONCRETE = frozenset(
    """thing something station apartment basement entrance fence ambulance appliance pavement residence instrument
    building ceiling painting railing clothing landing wing ring swing string crossing clearing opening dwelling lining
    awning siding wiring casing covering bedding king spring drawing carving filing scaffolding tubing""".split()
)
TURNING = frozenset("turn divide split change transform convert break cut make fold".split())
"""'into' behind these is no place."""
TIMELY = frozenset(
    """time night moment day morning evening afternoon noon midnight lunch dinner breakfast work once dawn dusk sunset
    sunrise weekend week point least most present first last random""".split()
)
"""What 'at' and 'in' make a time or a manner of."""
FACES = frozenset("back front side top bottom inside outside edge rear surface face".split())
"""What is 'of' a thing and at the same place."""
PARTITIVE = frozenset(
    """side end corner top bottom middle centre center front back rest one each all some most many lot number amount
    kind type sort part piece pair set bunch group picture photo photograph painting image map view owner name direction
    position location way edge half thing object item state colour color shape size time record sign trace list
    pattern use distance atmosphere mood voice sound smell taste look history""".split()
)
"""What 'of the ..' makes no part of a thing."""
HAVING = frozenset("have contain hold".split())
"""'does the room have a window': what is in it, or at it."""
SURFACES = lexicon.kinds_within("table") | frozenset(
    "desk counter shelf wall floor bench door sideboard nightstand dresser".split()
)
"""What things are gone from that were on it, not in it."""
SAT_AT = lexicon.kinds_within("table") | {"desk", "counter"}
RELATIONSHIPS = frozenset("relationship difference similarity conversation contrast connection comparison".split())
"""What is between two things without being anywhere."""
ABSTRACTLY_ON = frozenset("base depend rely focus work turn switch agree comment spend insist decide try".split())
ABILITIES = frozenset(
    """good bad better best worse worst skilled skillful adept poor great excellent proficient terrible
    interested""".split()
)
LINKS = frozenset(
    """that which who is are was were 's sitting standing hanging placed located positioned lying laying mounted placed
    stored kept found set left parked
    stacked piled seated tied directly immediately just right also currently situated resting there things
    stuff up put seen visible stand sit lie lay hang rest stood sat hung""".split()
)
"""Words that may stand between a noun and the preposition that restricts it."""


def table() -> tuple[dict[Words, Relation], dict[Words, Relation]]:
    """Phrases that take a noun, and phrases that mean the asker's own side."""
    taking = {tuple(p.split()): relation for relation, text in SIMPLE.items() for p in text.split("|")}
    own: dict[Words, Relation] = {}
    for side, relation in SIDES.items():
        leads = ["to the", "on the", "at the", "just to the", "directly to the", "off to the", "towards the", ""]
        tails = ["", "side", "hand side", "- hand side", "-hand side"]
        for lead, tail in itertools.product(leads, tails):
            taking[tuple(f"{lead} {side} {tail} of".split())] = relation
            taking[tuple(f"{lead} {side} {tail} from".split())] = relation
        for lead, tail in itertools.product(["to", "on", "at", "in", "off to", "towards", ""], tails):
            for who in ("my", "your", "our"):
                for mid in ("", "immediate", "direct", "far"):
                    own[tuple(f"{lead} {who} {mid} {side} {tail}".split())] = relation
        for lead, tail in itertools.product(["to the", "on the", "at the", "directly to the"], tails):
            own[tuple(f"{lead} {side} {tail}".split())] = relation
    for text in ("ahead", "straight ahead", "up ahead", "in front"):
        own[tuple(text.split())] = R.IN_FRONT_OF
    for text, closing in itertools.product(("behind",), ("that", "which")):
        own[(text, closing)] = R.BEHIND  # 'the tables behind that are round'
    for text in ("i am facing", "i 'm facing", "am i facing", "i face"):
        own[tuple(text.split())] = R.IN_FRONT_OF
    ways = (("around", R.BEHIND), ("round", R.BEHIND), ("back", R.BEHIND), *SIDES.items())
    for turned, (way, relation) in itertools.product(("turn", "turned", "look", "looked"), ways):
        for who in ("i", "i had", "i 'd", "if i", "if i had", "if i 'd"):
            own[tuple(f"{who} {turned} {way}".split())] = relation
    onward = ("forward", "forwards", "straight", "straight ahead")
    backward = ("back", "backward", "backwards", "straight back", "straight backwards")
    for moved, way in itertools.product(("walk", "walked", "move", "moved", "step", "stepped"), (*onward, *backward)):
        own[tuple(f"i {moved} {way}".split())] = R.IN_FRONT_OF if way in onward else R.BEHIND
    own[("turning", "around")] = own[("turning", "backward")] = own[("turning", "back")] = R.BEHIND
    own[("behind", "my", "back")] = R.BEHIND
    own[("at", "my", "back")] = R.BEHIND
    return taking, own


TAKING, OWN = table()
LONGEST = max(map(len, (*TAKING, *OWN)))
