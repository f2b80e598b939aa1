"""The alternatives of 'A or B': which places are what is chosen between, and restrict nothing."""

from __future__ import annotations

from dataclasses import replace

from r4_ros.reasoner.claims import DIRECTIONS
from r4_ros.reasoner.keys import Asked, Relation
from r4_ros.reasoner.places import Place
from r4_ros.reasoner.sketch import Sketch


def drop(sketch: Sketch) -> None:
    """'to my left or my right', 'attached to the wall or standing by itself': the alternatives restrict nothing."""
    reading, ask = sketch.reading, sketch.ask
    located = ask.asked is Asked.LOCATION
    at = next((i for i in range(ask.start, sketch.end) if reading.lowers[i] == "or"), -1)
    if at < 0 or at + 1 >= sketch.end:
        return
    first = reading.words[at + 1]
    clauses_chosen = first.tag[:2] in ("IN", "TO", "VB", "MD", "RP") or first.lower == "off"
    clauses_chosen = clauses_chosen and first.lower not in ("up", "down")
    said = {w for c in ask.choices[-1:] for w in c.split()}
    placed = clauses_chosen or (located and bool(said & DIRECTIONS))
    chain = _chain(sketch, at)
    for place in [p for p in sketch.places if (p.end >= at or p in chain) and not p.viewer]:
        if not placed and not (located and place.end == at) and place not in chain:
            continue  # 'messy or neat to my left'
        sketch.places.remove(place)
        if located:
            sketch.alternatives.append(place)
        sketch.used.update(range(place.start, place.end))
    if located and sketch.claimed is not None and sketch.claimed not in sketch.alternatives:
        sketch.alternatives.insert(0, sketch.claimed)
    far = reading.phrase_at(at + 1)
    if chain and far is not None and chain[-1].anchor is not None:  # 'in the chest or the drawer'
        sketch.ask = replace(ask, asked=Asked.LOCATION)
        if far.noun != "one" or chain[-1].relation in (Relation.ON, Relation.IN):
            far = replace(far, noun=chain[-1].anchor.noun) if far.noun == "one" else far
            sketch.alternatives = [chain[-1], replace(chain[-1], start=at, end=far.end, anchor=far)]


def _chain(sketch: Sketch, at: int) -> list[Place]:
    """'on the top shelf of the rack or the bottom one': places that end where 'or' and one more place follow."""
    reading = sketch.reading
    far = reading.phrase_at(at + 1)
    last = next((p for p in sketch.places if p.end == at and p.anchor is not None and not p.viewer), None)
    rest = [w for w in reading.words[far.end : sketch.end] if w.i not in sketch.masked] if far is not None else []
    if far is None or far.start != at + 1 or last is None or not far.determiner or rest:
        return []
    chain = [last]
    while (outer := next((p for p in sketch.places if p.anchor is chain[-1].subject), None)) is not None:
        if chain[-1].subject is None or outer in chain:
            break
        chain.append(outer)
    return chain if chain[-1].subject in (sketch.target, None) else []
