"""A recogniser that errs as recognisers do: by thing and all day long, not by frame. All from a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from r4_ros.bridges.apartment.scene import Thing
from r4_ros.bridges.apartment.simulation import SimFrame
from r4_ros.core.model import Matrix3, Observation

TAKEN_FOR: dict[str, tuple[str, ...]] = {
    "mug": ("bowl", "vase", "candle holder"),
    "bottle": ("vase", "candle"),
    "vase": ("bottle", "pitcher"),
    "bowl": ("plate", "basin"),
    "plate": ("bowl", "tray"),
    "apple": ("ball", "tomato"),
    "banana": ("lemon", "toy"),
    "keys": ("remote", "bracelet"),
    "remote": ("phone", "calculator"),
    "phone": ("remote", "wallet"),
    "book": ("magazine", "box", "tablet"),
    "magazine": ("book", "placemat"),
    "pillow": ("blanket", "bag"),
    "teddy bear": ("pillow", "dog"),
    "clock": ("plate", "thermostat"),
    "plant": ("vase", "bush"),
    "umbrella": ("cane", "bat"),
    "shoes": ("slippers", "bag"),
    "backpack": ("suitcase", "jacket"),
    "box": ("drawer", "suitcase"),
    "basket": ("trash can", "flower pot"),
    "trash can": ("basket", "flower pot"),
    "towel": ("curtain", "shirt"),
    "cup": ("candle", "vase"),
    "soap dispenser": ("bottle", "vase"),
    "globe": ("ball", "lamp"),
    "guitar": ("violin", "cutting board"),
    "keyboard": ("remote", "piano"),
    "computer mouse": ("remote", "soap"),
    "laptop": ("monitor", "book"),
    "monitor": ("tv", "picture"),
    "tv": ("monitor", "window"),
    "lamp": ("vase", "mushroom"),
    "floor lamp": ("coat rack", "lamp"),
    "printer": ("microwave", "scanner"),
    "microwave": ("oven", "tv"),
    "toaster": ("radio", "box"),
    "kettle": ("pitcher", "vase"),
    "picture": ("window", "mirror", "poster"),
    "mirror": ("picture", "window"),
    "curtain": ("shower curtain", "towel"),
    "armchair": ("sofa", "chair"),
    "sofa": ("bed", "bench"),
    "office chair": ("stool", "armchair"),
    "chair": ("stool", "bench"),
    "bench": ("table", "chest"),
    "dresser": ("sideboard", "cabinet"),
    "sideboard": ("cabinet", "dresser"),
    "nightstand": ("stool", "cabinet"),
    "wardrobe": ("door", "fridge"),
    "bookcase": ("cabinet", "shelf"),
    "shelf": ("bench", "table"),
    "coffee table": ("bench", "table"),
    "side table": ("stool", "nightstand"),
    "console table": ("bench", "desk"),
    "desk": ("table", "bench"),
    "coat rack": ("lamp", "ladder"),
    "rug": ("blanket", "tile"),
    "washing machine": ("oven", "dryer"),
}
"""What recognisers often take such things for; none of it is looked up by the reasoner."""
COLOR_TAKEN_FOR: dict[str, tuple[str, ...]] = {
    "red": ("orange", "brown"),
    "orange": ("yellow", "red"),
    "yellow": ("orange", "white"),
    "green": ("blue", "black"),
    "blue": ("purple", "grey"),
    "purple": ("blue", "black"),
    "white": ("grey", "yellow"),
    "grey": ("white", "black"),
    "black": ("grey", "brown"),
    "brown": ("orange", "black"),
}
NAMELESS = "object"


@dataclass(frozen=True)
class Mix:
    """How much goes wrong: shares of things with a wrong label, none, a wrong or no colour, of things never seen, and
    of frames in which a thing is missed; ``sigma_m`` shifts boxes.
    """

    label: float = 0.3
    nameless: float = 0.04
    color: float = 0.25
    colorless: float = 0.1
    unseen: float = 0.04
    missed: float = 0.3
    sigma_m: float = 0.03


USUAL = Mix()
DARK = Mix(label=0.06, nameless=0.0, color=0.5, colorless=0.4, missed=0.5)
"""A dim day: shapes are told well and colours badly, and much is overlooked at times."""


class Recogniser:
    """What it makes of each thing of an apartment."""

    def __init__(self, things: Sequence[Thing], seed: int, mix: Mix) -> None:
        self._mix, self._seed = mix, seed
        rng = np.random.default_rng([seed, 21])
        self._fates = {thing.instance_id: _fate(thing, rng, mix) for thing in things}

    def __call__(self, frame: SimFrame, seen: Mapping[int, Observation]) -> list[Observation]:
        """What it reports of what is in view."""
        rng = np.random.default_rng([self._seed, 22, frame.stamp_ns])
        found: list[Observation] = []
        for number, observation in seen.items():
            fate, missed = self._fates[number], float(rng.random()) < self._mix.missed
            if fate is None or missed:
                continue
            label, color = fate
            x, y, z = (float(v + rng.normal(0, self._mix.sigma_m)) for v in observation.box.pose.position)
            pose = replace(observation.box.pose, position=(x, y, z))
            kept = dict(observation.attributes)
            told = kept.get("color") if color is None else color
            found.append(
                replace(
                    observation,
                    label=label,
                    box=replace(observation.box, pose=pose),
                    position_covariance=_wider(observation.position_covariance, self._mix.sigma_m),
                    attributes=(("color", told),) if told else (),
                )
            )
        return found


def _fate(thing: Thing, rng: np.random.Generator, mix: Mix) -> tuple[str, str | None] | None:
    """Label and colour (None: the true one, '': none) that a thing gets; None: it is never seen."""
    drawn = rng.random(4)
    names = TAKEN_FOR.get(thing.label, (NAMELESS,))
    label = thing.label
    if drawn[1] < mix.label:
        label = names[int(drawn[3] * len(names))]
    elif drawn[1] < mix.label + mix.nameless:
        label = NAMELESS
    color: str | None = None
    if drawn[2] < mix.color:
        others = COLOR_TAKEN_FOR.get(thing.color, ())
        color = others[int(drawn[3] * len(others))] if others else ""
    elif drawn[2] < mix.color + mix.colorless:
        color = ""
    return None if drawn[0] < mix.unseen else (label, color)


def _wider(covariance: Matrix3, sigma_m: float) -> Matrix3:
    wider: Any = tuple(v + sigma_m**2 if k in (0, 4, 8) else v for k, v in enumerate(covariance))
    return cast(Matrix3, wider)
