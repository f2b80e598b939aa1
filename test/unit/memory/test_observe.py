"""What a sighting changes of an entry, and what it must leave."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.model import (
    IDENTITY,
    NO_COVARIANCE,
    NS_PER_S,
    Anchor,
    AttributeValue,
    Box,
    Embedding,
    Entry,
    EntryState,
    Interval,
    Motion,
    Observation,
    Pose,
    Presence,
    Stay,
    Visibility,
)
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.observe import sight
from r4_ros.memory.stays import FrameContext, merged, place
from r4_ros.memory.store import AnchorRecord, StoredEntry

BOX = Box(Pose((2.0, 0.0, 0.5)), (0.2, 0.2, 0.2))
MEANS = Embedding("model", np.array([1, 0], np.float32))
ENTRY = Entry(
    entry_id="e",
    agent_id="a",
    revision=7,
    session=3,
    map_id="hall",
    label="mug",
    label_votes=(("mug", 2.0),),
    stays=(Stay(Interval(1, 2**63 - 1), 0, BOX, NO_COVARIANCE, 4, 2, 5),),
    sightings=(Interval(1, NS_PER_S),),
    presence=(Presence(0, 1, NS_PER_S - 1),),
    description="a red mug",
    attributes=(AttributeValue("color", "red", 1, 1, 2),),
    label_embedding=MEANS,
    description_embedding=MEANS,
    visibility=Visibility.TRUNCATED,
    confidence=0.5,
    count=4,
    state=EntryState.UNKNOWN,
    motion=Motion.MOVABLE,
    moved_from="before",
    maybe_same_as=("other",),
)


def seen_again(observation: Observation, stamp_ns: int = 2 * NS_PER_S) -> Entry:
    anchor = Anchor(0, "a", 3, "hall", 0, IDENTITY)
    book = AnchorBook(MemoryConfig(), [AnchorRecord("front", anchor)])
    context = FrameContext("a", 3, 0, "hall", stamp_ns, 8, anchor, (0.0, 0.0, 0.5), book, MemoryConfig())
    [seen], views = place([observation], IDENTITY)
    [again] = merged([ENTRY.stays[-1]], [seen], views, context)
    after, events = sight(StoredEntry(0, ENTRY), seen, again, context)
    assert not events
    return after.entry


def test_a_plain_sighting_changes_what_a_sighting_says_and_nothing_else() -> None:
    after = seen_again(Observation(0, "mug", BOX, confidence=0.9))
    changed = {f.name for f in fields(Entry) if getattr(after, f.name) != getattr(ENTRY, f.name)}
    assert changed == {
        "revision",
        "label_votes",
        "stays",
        "sightings",
        "presence",
        "visibility",
        "confidence",
        "count",
        "state",
    }
    assert all(getattr(ENTRY, f.name) for f in fields(Entry) if f.name != "state"), "the test must see every field"


def test_another_label_leads_only_once_it_has_more_votes_and_brings_its_meaning() -> None:
    cup = Embedding("model", np.array([0, 1], np.float32))
    once = seen_again(Observation(0, "cup", BOX, confidence=0.9, label_embedding=cup))
    assert (once.label, once.label_embedding) == ("mug", MEANS)
    sure = seen_again(Observation(0, "cup", BOX, confidence=2.5, label_embedding=cup))
    assert (sure.label, sure.label_embedding) == ("cup", cup)
    assert dict(sure.label_votes) == {"mug": 2.0, "cup": 2.5}


def test_the_newest_description_is_kept_with_its_meaning_and_none_keeps_the_old_one() -> None:
    new = Embedding("model", np.array([0, 1], np.float32))
    told = seen_again(Observation(0, "mug", BOX, description="a chipped mug", description_embedding=new))
    assert (told.description, told.description_embedding) == ("a chipped mug", new)
    silent = seen_again(Observation(0, "mug", BOX))
    assert (silent.description, silent.description_embedding) == (ENTRY.description, MEANS)
