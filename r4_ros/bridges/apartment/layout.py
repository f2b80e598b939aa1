"""Which things stand where: the furnished apartment. Small things are shifted a little by the seed."""

from __future__ import annotations

import math

import numpy as np

from r4_ros.bridges.apartment import appliances as app
from r4_ros.bridges.apartment import furniture as fur
from r4_ros.bridges.apartment import objects as obj
from r4_ros.bridges.apartment.materials import COLORS, Material, fabric, leather, paint, pattern, wood
from r4_ros.bridges.apartment.scene import CEILING, DOOR_HEIGHT, ROOMS, WALL, Thing
from r4_ros.bridges.apartment.shapes import Shape, box, place

TABLE, COUNTER, DESK, COFFEE, NIGHTSTAND = 0.74, 0.90, 0.74, 0.42, 0.50
"""Heights of the tops that small things stand on, metres."""
JITTER = 0.03
"""Small things are moved by up to this, so that no two seeds are alike; metres."""


class Furnisher:
    """Collects things, numbers them and shifts the small ones."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 1])
        self.things: list[Thing] = []

    def put(
        self, name: str, label: str, shape: Shape, at: tuple[float, float, float], degrees: float = 0, color: str = ""
    ) -> None:
        """Furniture: stands exactly here, its front turned to ``degrees`` (0: +x, 90: +y)."""
        self._add(name, label, shape, at, math.radians(degrees), color, movable=False)

    def lay(
        self, name: str, label: str, shape: Shape, at: tuple[float, float, float], degrees: float = 0, color: str = ""
    ) -> None:
        """A small thing: near here, turned somehow."""
        dx, dy = self.rng.uniform(-JITTER, JITTER, 2)
        turn = math.radians(degrees + self.rng.uniform(-15, 15))
        self._add(name, label, shape, (at[0] + float(dx), at[1] + float(dy), at[2]), turn, color, movable=True)

    def _add(
        self, name: str, label: str, shape: Shape, at: tuple[float, float, float], yaw: float, color: str, movable: bool
    ) -> None:
        self.things.append(Thing(len(self.things) + 1, name, label, shape, at, yaw, color, movable))


def furnish(seed: int = 0) -> list[Thing]:
    """All things of the apartment at the beginning; instance ids count from 1."""
    f = Furnisher(seed)
    for room in (_fixtures, _living_room, _kitchen, _hallway, _bedroom, _bathroom, _study, _storage_room):
        room(f)
    return f.things


def _window(width: float, height: float) -> Shape:
    """On the wall at -x; the origin is the middle of its lower edge."""
    frame = [box((0.03, width + 0.1, height + 0.1), (0.015, 0, -0.05), paint("white", 0.2))]
    pane = box((0.004, width, height), (0.032, 0, 0), pattern("outside", glow=0.95))
    return [*frame, pane, box((0.14, width + 0.16, 0.03), (0.07, 0, -0.08), paint("white", 0.2))]


def _fixtures(f: Furnisher) -> None:
    """Door leaves and ceiling lamps. Doors stand open into the rooms; the front door and the storage's are closed."""
    width, height = 0.95 - 0.02, DOOR_HEIGHT - 0.02
    for name, x, y, degrees, color in (
        ("living room door", 4.83, 5 - WALL, 172, "white"),
        ("kitchen door", 9.83, 5 - WALL, 176, "white"),
        ("bedroom door", 1.62, 6.6 + WALL, 8, "white"),
        ("bathroom door", 5.32, 6.6 + WALL, 6, "white"),
        ("study door", 7.92, 6.6 + WALL, 6, "white"),
        ("storage room door", 10.4, 5.36, 0, "brown"),
        ("front door", WALL + 0.02, 5.35, 0, "dark green"),
    ):
        f.put(name, "door", fur.door_leaf(width - 0.04, height, color), (x, y, 0), degrees, color)
    for room in ROOMS:
        if room.name != "storage room":
            f.put(f"{room.name} ceiling lamp", "ceiling lamp", app.ceiling_lamp(), (*room.centre, CEILING), 0, "white")


def _living_room(f: Furnisher) -> None:
    f.put("oriental rug", "rug", fur.rug(2.6, 1.8, pattern("oriental")), (1.9, 2.1, 0), 0, "red")
    f.put("sofa", "sofa", fur.sofa(2.1, fabric("grey"), 3), (1.9, 3.45, 0), -90, "grey")
    f.put("red armchair", "armchair", fur.sofa(0.95, fabric("red"), 1, 0.85), (0.56, 1.9, 0), 0, "red")
    f.put("coffee table", "coffee table", fur.table(1.1, 0.6, COFFEE, wood("walnut")), (1.9, 2.1, 0.012), 0, "walnut")
    f.put(
        "tv stand", "tv stand", fur.cabinet(0.42, 1.7, 0.45, wood("walnut"), wood("walnut"), 3, 1), (1.9, 0.28, 0), 90
    )
    f.put("living room tv", "tv", app.tv(1.15), (1.9, 0.26, 0.45), 90, "black")
    f.put("living room bookcase", "bookcase", _bookcase(f.rng, 1.0, 1.9, 5), (5.78, 3.9, 0), 180, "oak")
    f.put("floor lamp", "floor lamp", app.floor_lamp(), (0.4, 4.55, 0))
    f.put("side table", "side table", fur.round_table(0.25, 0.52, wood("oak")), (3.3, 3.5, 0), 0, "oak")
    f.put("west window", "window", _window(1.5, 1.15), (WALL, 3.3, 1.0), 0)
    f.put("south window", "window", _window(1.5, 1.15), (4.4, WALL, 1.0), 90)
    for name, x in (("left curtain", 3.42), ("right curtain", 5.38)):
        f.put(name, "curtain", fur.curtain(0.5, 2.25, fabric("beige")), (x, 0.16, 0.1), 90, "beige")
    f.put("sea picture", "picture", fur.picture(1.0, 0.7, "painting_sea"), (1.9, 5 - WALL, 1.25), -90)
    f.put("blocks picture", "picture", fur.picture(0.6, 0.6, "painting_blocks"), (6 - WALL, 0.85, 1.3), 180)
    f.lay("rubber plant", "plant", obj.plant(1.1, 16, "terracotta"), (5.5, 0.5, 0), 0, "green")
    f.lay("yellow cushion", "pillow", obj.cushion("yellow"), (1.25, 3.42, COFFEE + 0.04), -90, "yellow")
    f.lay("blue cushion", "pillow", obj.cushion("blue"), (2.5, 3.42, COFFEE + 0.04), -90, "blue")
    top = COFFEE + 0.012
    f.lay("flower vase", "vase", obj.vase("blue"), (1.95, 2.15, top), 0, "blue")
    f.lay("magazine", "magazine", obj.magazine(), (1.55, 1.98, top), 20)
    f.lay("remote", "remote", obj.remote(), (2.22, 1.95, top), 60, "black")
    f.lay("green book", "book", obj.lying_book("green"), (3.3, 3.45, 0.52), 30, "green")
    f.lay("glass bottle", "bottle", obj.bottle("dark green", "cream"), (2.62, 0.36, 0.45), 0, "green")


def _kitchen(f: Furnisher) -> None:
    f.put("kitchen counter", "counter", app.counter(2.7, 0.62, COUNTER, 5), (8.3, 0.38, 0), 90)
    f.put("kitchen sink", "sink", app.kitchen_sink(), (7.95, 0.40, COUNTER), 90, "steel")
    f.put("stove", "stove", app.stove(), (9.97, 0.38, 0), 90, "white")
    f.put("fridge", "fridge", app.fridge(), (6.52, 0.42, 0), 90, "steel")
    f.put("wall cabinet", "cabinet", app.wall_cabinet(1.5, 3), (9.45, 0.24, 1.45), 90, "light blue")
    f.put("microwave", "microwave", app.microwave(), (7.25, 0.34, COUNTER), 90, "steel")
    f.put("kitchen table", "table", fur.table(1.5, 0.9, TABLE, wood("oak")), (8.25, 2.85, 0), 0, "oak")
    for k, (x, y, degrees) in enumerate(((7.85, 2.22, 90), (8.65, 2.18, 90), (7.8, 3.5, -90), (8.7, 3.54, -90))):
        f.put(f"kitchen chair {k + 1}", "chair", fur.chair(wood("oak"), fabric("blue")), (x, y, 0), degrees, "blue")
    f.put(
        "sideboard",
        "sideboard",
        fur.cabinet(0.42, 1.2, 0.85, wood("pine"), wood("pine"), 3, 2, 0.1),
        (6.3, 4.05, 0),
        0,
        "pine",
    )
    f.put("kitchen window", "window", _window(1.0, 0.8), (7.95, WALL, 1.2), 90)
    f.put("wall clock", "clock", obj.wall_clock(), (10.4 - WALL, 2.6, 1.55), 180, "black")
    f.put("flower picture", "picture", fur.picture(0.5, 0.65, "painting_flower"), (10.4 - WALL, 3.7, 1.25), 180)
    f.lay("kitchen trash can", "trash can", obj.trash_can("grey"), (10.05, 1.1, 0), 0, "grey")
    f.lay("kettle", "kettle", app.kettle("steel"), (8.85, 0.28, COUNTER), 200, "steel")
    f.lay("toaster", "toaster", app.toaster(), (9.38, 0.32, COUNTER), 0, "red")
    f.lay("white mug 1", "mug", obj.mug("white"), (8.42, 0.52, COUNTER), 120, "white")
    f.lay("white mug 2", "mug", obj.mug("white"), (9.05, 0.54, COUNTER), 60, "white")
    f.lay("kitchen red mug", "mug", obj.mug("red"), (8.72, 3.0, TABLE), 200, "red")
    f.lay("fruit bowl", "bowl", obj.bowl("light blue"), (8.25, 2.85, TABLE), 0, "blue")
    f.lay("plate 1", "plate", obj.plate("white"), (7.82, 2.66, TABLE), 0, "white")
    f.lay("plate 2", "plate", obj.plate("white"), (8.68, 2.6, TABLE), 0, "white")
    f.lay("red apple", "apple", obj.apple("red"), (7.78, 3.1, TABLE), 0, "red")
    f.lay("green apple", "apple", obj.apple("green"), (8.0, 3.14, TABLE), 0, "green")
    f.lay("banana", "banana", obj.banana(), (8.36, 3.16, TABLE), 0, "yellow")
    f.lay("keys", "keys", obj.keys(), (6.36, 3.7, 0.85), 0, "red")
    f.lay("basil", "plant", obj.plant(0.36, 12, "white"), (6.24, 4.1, 0.85), 0, "green")
    f.lay("wine bottle", "bottle", obj.bottle("dark green", "cream"), (6.2, 4.33, 0.85), 0, "green")


def _hallway(f: Furnisher) -> None:
    f.put("console table", "console table", fur.table(1.0, 0.32, 0.8, wood("walnut")), (2.6, 5.24, 0), 0, "walnut")
    f.put("hall mirror", "mirror", fur.mirror(0.7, 0.95), (2.6, 5 + WALL, 1.0), 90)
    f.put("bench", "bench", fur.bench_box(1.1, 0.38, 0.45), (6.9, 5.27, 0), 90, "brown")
    f.put("coat rack", "coat rack", fur.coat_rack(), (0.5, 6.2, 0), -20)
    f.put("hall picture", "picture", fur.picture(0.8, 0.55, "painting_blocks"), (7.1, 6.6 - WALL, 1.3), -90)
    f.put("runner", "rug", fur.rug(2.6, 0.75, Material(COLORS["dark grey"], "stripes", 0.8)), (5.0, 5.8, 0), 0, "grey")
    f.lay("umbrella", "umbrella", obj.umbrella("purple"), (0.35, 5.28, 0), 0, "purple")
    f.lay("brown shoes", "shoes", obj.shoes("brown"), (1.25, 5.3, 0), 90, "brown")
    f.lay("red shoes", "shoes", obj.shoes("red"), (1.75, 5.32, 0), 90, "red")
    f.lay("backpack", "backpack", obj.backpack("blue"), (6.75, 5.27, 0.45), 90, "blue")
    f.lay("palm", "plant", obj.plant(0.95, 14, "white"), (3.85, 6.28, 0), 0, "green")
    f.lay("hat box", "box", obj.carton(0.34, 0.34, 0.24), (9.75, 6.25, 0), 0, "brown")
    f.lay("hall book", "book", obj.lying_book("blue"), (2.9, 5.24, 0.8), 100, "blue")


def _bedroom(f: Furnisher) -> None:
    f.put("bed", "bed", fur.bed(1.6, 2.05, "blue", wood("oak")), (1.2, 9.0, 0), 0, "blue")
    for name, y in (("near nightstand", 7.88), ("far nightstand", 10.12)):
        f.put(
            name,
            "nightstand",
            fur.cabinet(0.4, 0.45, NIGHTSTAND, wood("oak"), wood("oak"), 1, 2),
            (0.3, y, 0),
            0,
            "oak",
        )
        f.put(f"{name} lamp", "lamp", app.table_lamp("terracotta"), (0.24, y + 0.06, NIGHTSTAND), 0, "cream")
    f.put(
        "wardrobe",
        "wardrobe",
        fur.cabinet(0.6, 1.8, 2.1, wood("oak"), paint("white", 0.2), 3, 1),
        (4.03, 9.7, 0),
        180,
        "white",
    )
    f.put(
        "dresser", "dresser", fur.cabinet(0.48, 1.1, 0.85, wood("oak"), wood("oak"), 2, 3), (4.08, 7.75, 0), 180, "oak"
    )
    f.put("bedroom window", "window", _window(1.3, 1.15), (2.6, 10.8 - WALL, 1.0), -90)
    for name, x in (("bedroom left curtain", 1.75), ("bedroom right curtain", 3.45)):
        f.put(name, "curtain", fur.curtain(0.45, 2.25, fabric("light blue")), (x, 10.64, 0.1), -90, "light blue")
    f.put("bedroom rug", "rug", fur.rug(0.9, 1.7, Material(COLORS["cream"], "carpet", 0.3)), (2.85, 9.0, 0), 0, "cream")
    f.put("bedroom picture", "picture", fur.picture(0.9, 0.6, "painting_flower"), (WALL, 9.0, 1.35), 0)
    f.lay("left pillow", "pillow", obj.pillow("white"), (0.5, 8.62, 0.49), 0, "white")
    f.lay("right pillow", "pillow", obj.pillow("white"), (0.5, 9.4, 0.49), 0, "white")
    f.lay("teddy bear", "teddy bear", obj.teddy_bear(), (1.35, 9.25, 0.54), 20, "brown")
    f.lay("alarm clock", "clock", obj.alarm_clock(), (0.4, 7.78, NIGHTSTAND), 0, "red")
    f.lay("phone", "phone", obj.phone(), (0.4, 10.02, NIGHTSTAND), 0, "black")
    f.lay("dresser plant", "plant", obj.plant(0.42, 12, "yellow"), (4.08, 8.1, 0.85), 0, "green")
    f.lay("bedroom book", "book", obj.lying_book("red"), (4.05, 7.5, 0.85), 200, "red")


def _bathroom(f: Furnisher) -> None:
    f.put("bathtub", "bathtub", app.bathtub(1.7, 0.78), (5.6, 10.33, 0), 90, "white")
    f.put("toilet", "toilet", app.toilet(), (4.78, 8.9, 0), 0, "white")
    f.put("washbasin", "sink", app.washbasin(), (6.67, 8.3, 0), 180, "white")
    f.put("bathroom mirror", "mirror", fur.mirror(0.6, 0.75), (7 - WALL, 8.3, 1.1), 180)
    f.put("washing machine", "washing machine", app.washing_machine(), (6.62, 7.15, 0), 180, "white")
    f.put(
        "bath mat",
        "bath mat",
        fur.rug(0.9, 0.55, Material(COLORS["orange"], "carpet", 0.2)),
        (5.6, 9.6, 0),
        0,
        "orange",
    )
    f.put("bathroom window", "window", _window(0.8, 0.6), (5.6, 10.8 - WALL, 1.45), -90)
    f.put("green towel", "towel", obj.towel("green"), (4.4 + WALL, 7.95, 0.75), 0, "green")
    f.put("yellow towel", "towel", obj.towel("yellow"), (7 - WALL, 9.35, 0.75), 180, "yellow")
    f.lay("toothbrush cup", "cup", obj.toothbrush_cup(), (6.86, 8.5, 0.86), 0, "light blue")
    f.lay("soap", "soap dispenser", obj.soap_bottle(), (6.86, 8.08, 0.86), 180, "green")
    f.lay("laundry basket", "basket", obj.basket(), (6.62, 7.78, 0), 0, "pine")


def _study(f: Furnisher) -> None:
    f.put("desk", "desk", fur.desk(1.7, 0.72, DESK, wood("pine"), paint("white")), (9.97, 9.1, 0), 180, "pine")
    f.put("monitor", "monitor", app.monitor(), (10.1, 9.1, DESK), 180, "black")
    f.put("office chair", "office chair", fur.office_chair(fabric("black")), (9.2, 9.15, 0), 10, "black")
    f.put("study bookcase", "bookcase", _bookcase(f.rng, 1.4, 1.9, 5), (7.22, 9.2, 0), 0, "oak")
    f.put("green armchair", "armchair", fur.sofa(0.95, leather("dark green"), 1, 0.85), (8.35, 10.25, 0), -90, "green")
    f.put("study window", "window", _window(1.3, 1.15), (9.2, 10.8 - WALL, 1.0), -90)
    f.put("low shelf", "shelf", fur.shelf_unit(0.34, 1.2, 0.78, 2, wood("pine")), (10.15, 7.5, 0), 180, "pine")
    f.put("printer", "printer", app.printer(), (10.15, 7.15, 0.78), 180, "grey")
    f.put("study lamp", "lamp", app.table_lamp("blue"), (10.16, 9.75, DESK), 0, "cream")
    f.lay("keyboard", "keyboard", app.keyboard(), (9.78, 9.1, DESK), 0, "black")
    f.lay("computer mouse", "computer mouse", obj.computer_mouse(), (9.76, 8.76, DESK), 0, "grey")
    f.lay("laptop", "laptop", app.laptop(), (9.95, 8.5, DESK), 180, "steel")
    f.lay("study red mug", "mug", obj.mug("red"), (9.78, 9.62, DESK), 30, "red")
    f.lay("globe", "globe", obj.globe(), (10.15, 7.82, 0.78), 0, "blue")
    f.lay("guitar", "guitar", obj.guitar(), (7.3, 10.3, 0), -30, "oak")
    f.lay("study trash can", "trash can", obj.trash_can("black"), (9.75, 10.4, 0), 0, "black")
    f.lay("lower carton", "box", obj.carton(0.5, 0.4, 0.35), (7.4, 8.0, 0), 90, "brown")
    f.lay("shelf book 1", "book", obj.lying_book("blue"), (10.1, 7.25, 0.4), 180, "blue")
    f.lay("shelf book 2", "book", obj.lying_book("blue"), (10.1, 7.75, 0.4), 180, "blue")


def _storage_room(f: Furnisher) -> None:
    """Behind a closed door: nobody ever sees these."""
    f.put("ladder", "ladder", obj.ladder(), (12.8 - WALL, 5.0, 0), 180, "steel")
    f.put("vacuum cleaner", "vacuum cleaner", app.vacuum_cleaner(), (11.2, 4.7, 0), 60, "red")
    f.put("suitcase", "suitcase", obj.suitcase("orange"), (12.4, 6.6, 0), 180, "orange")
    f.put("storage carton", "box", obj.carton(0.6, 0.45, 0.5), (11.3, 6.9, 0), 0, "brown")


def _bookcase(rng: np.random.Generator, width: float, height: float, shelves: int) -> Shape:
    """A shelf unit that is filled with books and a few ornaments, all of one piece."""
    parts = fur.shelf_unit(0.3, width, height, shelves, wood("oak"))
    colors = ("red", "blue", "green", "brown", "cream", "dark grey", "orange", "purple", "beige", "dark green")
    for k in range(shelves):
        z, y = k * (height - 0.02) / shelves + 0.02, -width / 2 + 0.05
        limit = width / 2 - 0.06 - float(rng.uniform(0.05, 0.35))
        while y < limit:
            thick, tall = float(rng.uniform(0.022, 0.05)), float(rng.uniform(0.2, 0.29))
            color = colors[int(rng.integers(len(colors)))]
            parts += place(obj.book(color, thick, tall), (0.03, y + thick / 2, z))
            y += thick + 0.002
            if rng.random() < 0.06:
                y += float(rng.uniform(0.08, 0.16))
    return parts
