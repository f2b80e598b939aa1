"""What comes with observations, or after them: pictures and late descriptions."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from r4_ros.core.model import Frame, Observation
from r4_ros.memory import observe
from r4_ros.memory.index import Index
from r4_ros.memory.store import EntryChange, FrameChange, MemoryStore, StoredEntry
from r4_ros.memory.stored_words import DescriptionChange, StoredCrop
from r4_ros.memory.working import EntryCache

DATA_URL = "data:image/jpeg;base64,"
"""How a picture travels in ``Observation.image``; once stored, its name stands there."""
MAX_BYTES = 32 * 1024
NAME = "crop:"


def without_pictures(observations: Iterable[Observation]) -> tuple[list[Observation], dict[str, bytes]]:
    """The observations with names in place of pictures, and the pictures by name; what is none is left out."""
    kept: list[Observation] = []
    pictures: dict[str, bytes] = {}
    for o in observations:
        if o.image.startswith("data:"):
            jpeg = _picture(o.image)
            name = f"{NAME}{hashlib.blake2b(jpeg, digest_size=8).hexdigest()}" if jpeg else ""
            if name:
                pictures[name] = jpeg
            o = replace(o, image=name)
        kept.append(o)
    return kept, pictures


def _picture(url: str) -> bytes:
    """The JPEG of a data URL; empty where it is none or too large."""
    if not url.startswith(DATA_URL) or len(url) > len(DATA_URL) + 4 * (MAX_BYTES // 3 + 1):
        return b""
    try:
        data = base64.b64decode(url[len(DATA_URL) :], validate=True)
    except (binascii.Error, ValueError):
        return b""
    return data if data.startswith(b"\xff\xd8\xff") and len(data) <= MAX_BYTES else b""


def with_pictures(change: FrameChange, pictures: dict[str, bytes], budget: int) -> FrameChange:
    """The change with the pictures of entries, where there is a budget for them."""
    crops = tuple(
        (o.image, StoredCrop(slot, change.frame.stamp_ns, pictures[o.image]))
        for o, slot in change.observations
        if slot is not None and o.image in pictures and budget
    )
    return replace(change, crops=crops, crop_budget=budget) if crops else change


def late_descriptions(
    frame: Frame, frame_id: int, store: MemoryStore, index: Index, cache: EntryCache, revision: int
) -> DescriptionChange | None:
    """What descriptions of a known frame's observations change; None: nothing. They never change what a thing is."""
    said = [o for o in frame.observations if o.description]
    if not said:
        return None
    observed = store.observed(frame_id)
    new = [o for o in said if o.index in observed and observed[o.index][1] != o.description]
    after: dict[int, StoredEntry] = {}
    for o in new:
        slot = index.slots.get(observed[o.index][0])
        if slot is not None:
            stored = after.get(slot) or cache.get(slot)
            after[slot] = observe.described(stored, o, frame.stamp_ns, revision)
    changes = tuple(EntryChange(cache.get(slot), after[slot]) for slot in sorted(after))
    return DescriptionChange(revision, frame_id, tuple(_with_description(frame, new)), changes) if new else None


def _with_description(frame: Frame, observations: Sequence[Observation]) -> Iterable[Observation]:
    return sorted((replace(o, image="") for o in observations), key=lambda o: o.index)
