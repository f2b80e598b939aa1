"""What is asked in a stream, in awkward words, and whether an answer led to the right thing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import yaml

from r4_ros.core.model import NS_PER_S
from r4_ros.evaluation.experience.days import Day, Part
from r4_ros.evaluation.experience.recogniser import TAKEN_FOR
from r4_ros.evaluation.sim.ask import fill
from r4_ros.evaluation.sim.candidates import NEVER_THERE
from r4_ros.evaluation.sim.surfaces import SURFACES
from r4_ros.evaluation.sim.truth import MIXED, Stay, Thing, Truth, plain_color, related

NEAR_M = 0.3
MARGIN_NS = 20 * NS_PER_S
MISREMEMBERED = 0.2
"""How often people name another place than the one where a thing is or was."""
MISSPELT = 0.06
SHARES = {
    "where": 0.08,
    "where_colored": 0.14,
    "where_on": 0.22,
    "where_in": 0.22,
    "where_ago": 0.12,
    "is_on": 0.06,
    "is_in": 0.04,
    "nothing": 0.12,
}
"""The mix of questions."""
TRIES = 40
COLORS = ("red", "green", "blue", "yellow", "white", "black")


@dataclass(frozen=True)
class Task:
    """A question; what is right: the stays that the thing may be pointed out at, or silence, or yes and no."""

    day: int
    text: str
    kind: str
    about: str  # the thing's name, or what isn't there
    stays: tuple[Stay, ...] = ()
    yes: bool | None = None


def right(task: Task, answer: Mapping[str, Any]) -> bool:
    """Whether somebody who follows the answer comes to the right place, or is told rightly that there is none.

    answer: as of ``answer_to_dict``. What is told beside an honest 'not seen' counts as what one would follow: its
    first piece of evidence. So an offer is worth something where it is the right thing, and wrong where it isn't.
    """
    answered, value = answer["verdict"] == "ANSWERED", answer.get("value")
    offered = [tuple(e["position"]) for e in answer.get("evidence") or []]
    if task.kind == "nothing":
        return not offered and not (answered and value not in (False, "no", None))
    if task.yes is False:
        return not (answered and value in (True, "yes"))
    if answered and value in (False, "no"):
        return False
    pointed = tuple(value) if answered and value is not None and _is_place(value) else offered[0] if offered else None
    return pointed is not None and any(_is_at(pointed, stay) for stay in task.stays)


def tasks(day: Day, seed: int, count: int) -> list[Task]:
    """The questions of a day, each wording with each thing at most once."""
    rng = np.random.default_rng([seed, day.number, 41])
    truth = Truth(day.made.truth)
    asker = _Asker(truth, day, rng)
    left = {kind: round(count * share) for kind, share in SHARES.items()}
    found: dict[str, Task] = {}
    for _ in range(count * TRIES):
        wanted = [kind for kind, number in left.items() if number > 0]
        if not wanted or len(found) == count:
            break
        kind = str(rng.choice(wanted))
        task = asker.ask(kind)
        if task is not None and task.text not in found:
            found[task.text] = task
            left[kind] -= 1
    return list(found.values())


@cache
def wordings() -> dict[str, Any]:
    """The hand-written wordings."""
    text = resources.files("r4_ros.evaluation.experience").joinpath("awkward.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


class _Asker:
    """Somebody who asks about the things of one part of the apartment."""

    def __init__(self, truth: Truth, day: Day, rng: np.random.Generator) -> None:
        self._truth, self._day, self._rng = truth, day, rng
        self._things = [t for t in truth.things if _belongs(t, day.part)]
        self._half = ("one", "two")[day.part.half]
        self._places = [s for s in SURFACES if s.room in day.part.rooms]

    def ask(self, kind: str) -> Task | None:
        """A question of that kind about something; None: about what was drawn it can't be asked."""
        wording = str(self._rng.choice(wordings()[kind][self._half]))
        ago, ago_s = self._time()
        if kind == "nothing":
            return self._nothing(wording, ago)
        thing = self._things[int(self._rng.integers(len(self._things)))]
        at_ns = self._truth.now_ns - ago_s * NS_PER_S if kind == "where_ago" else self._truth.now_ns
        stay = thing.at(at_ns)
        steady = stay is not None and thing.at(at_ns - MARGIN_NS) is stay is thing.at(
            min(at_ns + MARGIN_NS, self._truth.now_ns)
        )
        if stay is None or (kind == "where_ago" and not steady) or not self._is_seen(thing, stay, at_ns):
            return None
        told = thing.stays[0] if self._rng.random() < 0.5 else stay
        place = told.surface
        if place is None and "{s}" in wording:
            return None
        if place is not None and self._rng.random() < MISREMEMBERED:
            place = self._places[int(self._rng.integers(len(self._places)))]
        room = told.room
        if self._rng.random() < MISREMEMBERED:
            room = str(self._rng.choice(self._day.part.rooms))
        color = plain_color(thing.color)
        needs_color = "{c}" in wording
        if (needs_color and (not color or thing.name in MIXED)) or not self._is_clear(thing, wording, place, room):
            return None
        yes = None
        if kind in ("is_on", "is_in"):
            yes = stay.surface is place if kind == "is_on" else stay.room == room
        slots = {"x": self._name(thing), "k": self._kind(thing), "c": color, "n": ago, "r": room}
        text = fill(wording, {**slots, "s": place.thing if place is not None else ""})
        return Task(self._day.number, text, kind, thing.name, (stay,), yes)

    def _is_seen(self, thing: Thing, stay: Stay, at_ns: int) -> bool:
        """Whether a camera had it in view there by then, and noticed that it had left where it was before."""
        return thing.is_clear(stay) and bool(thing.views(stay.start_ns, at_ns + 1))

    def _nothing(self, wording: str, ago: str) -> Task:
        names = {name for names in TAKEN_FOR.values() for name in names}
        unseen = [n for n in NEVER_THERE if n not in names]
        half = [n for k, n in enumerate(sorted(unseen)) if k % 2 == self._day.part.half]
        z = half[int(self._rng.integers(len(half)))]
        place = self._places[int(self._rng.integers(len(self._places)))].thing
        room, color = str(self._rng.choice(self._day.part.rooms)), str(self._rng.choice(COLORS))
        text = fill(wording, {"z": z, "c": color, "s": place, "r": room, "n": ago})
        return Task(self._day.number, text, "nothing", z)

    def _is_clear(self, thing: Thing, wording: str, place: object, room: str) -> bool:
        """Whether a person who knows the apartment would know which thing is meant."""
        alike = [t for t in self._truth.things if t is not thing and related(t.label, thing.label)]
        if "{c}" in wording:
            alike = [t for t in alike if plain_color(t.color) in ("", plain_color(thing.color)) or t.name in MIXED]
        if "{s}" in wording:
            alike = [t for t in alike if any(s.surface is place for s in t.stays)]
        elif "{r}" in wording:
            alike = [t for t in alike if any(s.room == room for s in t.stays)]
        return not alike

    def _kind(self, thing: Thing) -> str:
        """One of the names that people have for such a thing, sometimes misspelt."""
        names = [thing.label, *wordings()["spoken"].get(thing.label, ())]
        name = str(names[int(self._rng.integers(len(names)))])
        at = int(self._rng.integers(1, max(2, len(name) - 2)))
        if self._rng.random() < MISSPELT and len(name) > 4 and name[at : at + 2].isalpha():
            name = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
        return name

    def _name(self, thing: Thing) -> str:
        """Its kind, more often than not with its colour."""
        color = plain_color(thing.color)
        with_color = bool(color) and thing.name not in MIXED and self._rng.random() < 0.6
        return f"{color} {self._kind(thing)}" if with_color else self._kind(thing)

    def _time(self) -> tuple[str, int]:
        times: Sequence[tuple[str, int]] = list(wordings()["times"][self._half].items())
        return times[int(self._rng.integers(len(times)))]


def _belongs(thing: Thing, part: Part) -> bool:
    """Whether a thing is of a kind of this half and stays in its rooms all day."""
    return thing.label in part.labels and bool(thing.stays) and all(s.room in part.rooms for s in thing.stays)


def _is_place(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 3 and all(isinstance(v, (int, float)) for v in value)


def _is_at(place: tuple[float, ...], stay: Stay) -> bool:
    centre, extent = stay.box.pose.position, stay.box.extent
    inside = all(abs(p - c) <= e / 2 for p, c, e in zip(place, centre, extent, strict=True))
    return inside or math.dist(place, centre) <= NEAR_M
