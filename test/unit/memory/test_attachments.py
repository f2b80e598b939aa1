"""Pictures that travel with observations, within a budget, and descriptions that come after them."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r4_ros.core.errors import UnknownEntry
from r4_ros.core.model import Box, Embedding, Entry, Observation, Pose, Query
from r4_ros.memory.attachments import DATA_URL, MAX_BYTES, without_pictures
from r4_ros.memory.transfer import Importer, export_lines


def picture(number: int, size: int = 5000) -> bytes:
    return b"\xff\xd8\xff" + np.random.default_rng(number).bytes(size - 3)


def url(data: bytes) -> str:
    return DATA_URL + base64.b64encode(data).decode()


def observation(**more: Any) -> Observation:
    return Observation(0, "mug", Box(Pose(), (0.1, 0.1, 0.1)), **more)


def identity(entry: Entry) -> Entry:
    """All of an entry but its words."""
    return replace(entry, description="", description_embedding=None, attributes=(), revision=0)


def test_a_picture_is_kept_with_its_entry_and_named_in_the_observation(memory: Any, robot: Any, thing: Any) -> None:
    mug, book = thing("mug", (2, 0, 1)), thing("book", (2, 1, 1))
    receipt = memory.ingest(robot.frame(1, mug.seen(image=url(picture(1))), book))
    by_label = {placed.label: placed.entry_id for placed in receipt.changed}
    kept = memory.crop(by_label["mug"])
    assert kept.jpeg == picture(1) and kept.stamp_ns == 1_000_000_000
    assert memory.crop(by_label["book"]) is None
    memory.ingest(robot.frame(2, mug.seen(image=url(picture(2)))))
    assert memory.crop(by_label["mug"]).jpeg == picture(2)  # the newest one
    images = [o.image for kept in memory._store.history() for o in kept.frame.observations]
    assert [image[:5] for image in images] == ["crop:", "", "crop:"] and len(set(images)) == 3
    with pytest.raises(UnknownEntry, match="no entry 'nobody'"):
        memory.crop("nobody")


def test_the_oldest_go_when_the_budget_is_spent(open_memory: Any, robot: Any, thing: Any) -> None:
    memory = open_memory(crops_mb=1)
    for number in range(40):
        memory.ingest(robot.frame(number, thing("mug", (2, 5 * number, 1)).seen(image=url(picture(number, 30_000)))))
    entries = memory.entries()
    kept = [memory.crop(entry.entry_id) is not None for entry in entries]
    assert kept == [False] * 7 + [True] * 33  # 33 x 30 kB fit into 1 MB
    info = memory.info()
    assert info["rows"]["crop"] == 33 and info["crops"] == {"bytes": 990_000, "dropped": 7}
    memory.close()
    again = open_memory(crops_mb=1)
    again.ingest(robot.frame(50, thing("mug", (2, 500, 1)).seen(image=url(picture(99, 30_000)))))
    assert again.info()["crops"] == {"bytes": 990_000, "dropped": 8}


def test_no_budget_no_pictures(open_memory: Any, robot: Any, thing: Any) -> None:
    memory = open_memory(crops_mb=0)
    memory.ingest(robot.frame(1, thing("mug", (2, 0, 1)).seen(image=url(picture(1)))))
    [entry] = memory.entries()
    assert memory.crop(entry.entry_id) is None


def test_a_merged_entry_s_picture_is_the_other_one_s(memory: Any, robot: Any, thing: Any) -> None:
    from r4_ros.core.model import CorrectionKind, EntryCorrection

    memory.ingest(robot.frame(1, thing("mug", (2, 0, 1)), thing("cup", (2, 2, 1)).seen(image=url(picture(1)))))
    mug, cup = memory.entries()
    memory.correct(EntryCorrection(CorrectionKind.MERGE, mug.entry_id, other_id=cup.entry_id, source="me"), 0)
    assert memory.crop(mug.entry_id).jpeg == picture(1)


@pytest.mark.parametrize(
    "image",
    [
        "data:",
        "data:text/html;base64,PGI+",
        DATA_URL,
        DATA_URL + "!!!!",
        url(b"GIF89a"),
        url(picture(1, MAX_BYTES + 1)),
        DATA_URL + "A" * 100_000,
    ],
)
def test_what_is_no_picture_is_left_out(image: str) -> None:
    [kept], pictures = without_pictures([observation(image=image)])
    assert kept.image == "" and not pictures


@given(st.text(max_size=60), st.binary(max_size=60))
def test_any_image_text_is_kept_dropped_or_named(text: str, data: bytes) -> None:
    for image in (text, DATA_URL + text, url(data)):
        [kept], pictures = without_pictures([observation(image=image)])
        assert not kept.image.startswith("data:")
        assert kept.image == image or kept.image == "" or kept.image in pictures


def test_a_late_description_fills_the_entry_and_changes_nothing_else(
    open_memory: Any, robot: Any, thing: Any, axes: Any
) -> None:
    embedder = axes(mug=(1, 0), thermos=(0.8, 0.6))
    memory = open_memory(embedder=embedder)
    mug = thing("mug", (2, 0, 1)).seen(attributes=(("color", "red"),))
    frame = robot.frame(1, mug, thing("book", (2, 1, 1)))
    memory.ingest(frame)
    memory.ingest(robot.frame(2, mug))
    before = memory.entries()
    text = "a steel thermos with a red band"
    vector = Embedding("axes", embedder.embed([text])[0])
    said = replace(
        frame.observations[0],
        description=text,
        description_embedding=vector,
        attributes=(("color", "red"), ("described_by", "vlm describe-1")),
    )
    late = replace(frame, observations=(said, frame.observations[1]))
    receipt = memory.ingest(late)
    assert receipt.stored == 0 and [p.description for p in receipt.changed] == [text] and not receipt.events
    after = memory.entries()
    assert [identity(e) for e in after] == [identity(e) for e in before]
    assert after[0].description == text and after[0].description_embedding.model == "axes"
    assert dict(receipt.changed[0].attributes) == {"color": "red", "described_by": "vlm describe-1"}
    assert memory.retrieve(Query(text=text)).entries[0].entry_id == after[0].entry_id
    again = memory.ingest(late)
    assert again.revision == receipt.revision and not again.changed  # the same one again changes nothing
    memory.close()
    reopened = open_memory(embedder=embedder)
    assert reopened.entries() == after and reopened.revision == receipt.revision
    [kept, *_] = [o for k in reopened._store.history() for o in k.frame.observations]
    assert kept.description == text


def test_an_older_description_that_comes_again_displaces_no_newer_one(memory: Any, robot: Any, thing: Any) -> None:
    mug = thing("mug", (2, 0, 1))
    first = robot.frame(1, mug)
    second = robot.frame(2, mug)
    memory.ingest(first)
    memory.ingest(second)

    def described(frame: Any, text: str) -> Any:
        return replace(frame, observations=(replace(frame.observations[0], description=text),))

    memory.ingest(described(first, "a red mug"))
    memory.ingest(described(second, "a chipped red mug"))
    memory.ingest(described(first, "a red mug"))
    assert memory.entries()[0].description == "a chipped red mug"


def test_descriptions_that_come_late_change_no_identity_in_an_import_either(
    open_memory: Any, robot: Any, thing: Any
) -> None:
    """Not even where they claim another colour: an export tells what was seen, and the newest description of it."""
    memory = open_memory()
    by = ("described_by", "vlm")

    def seen(stamp: float, y: float, color: str) -> Any:
        frame = robot.frame(stamp, thing("mug", (2, y, 0.8)).seen(attributes=(("color", color),)))
        memory.ingest(frame)
        return frame

    old = [seen(n, 0.0, "red") for n in range(3)]
    gone = memory.entries()[0]
    for stamp in (10, 11, 12):
        memory.ingest(robot.absent(stamp, gone.entry_id))
    robot.where = (0, 5, 0)
    new = [seen(20 + n, 5.0, "blue") for n in range(5)]
    for frame, text, color in [(new[3], "a red mug", "red"), (new[1], "a reddish mug", "red"), (old[0], "old", "blue")]:
        o = replace(frame.observations[0], description=text, attributes=(("color", color), by))
        memory.ingest(replace(frame, observations=(o,)))
    assert [e.description for e in memory.entries()] == ["old", "a red mug"], "of the latest sighting described"
    other = open_memory("other.db", writer_silence_s=0.0)
    Importer(other).read(export_lines(memory._store), strict=True)
    known = [(e.entry_id, e.count, e.sightings, e.presence, e.maybe_same_as) for e in memory.entries()]
    assert [(e.entry_id, e.count, e.sightings, e.presence, e.maybe_same_as) for e in other.entries()] == known
    assert [e.moved_from for e in other.entries()] == ["", ""]
    assert [e.description for e in other.entries()] == [e.description for e in memory.entries()]


def test_who_described_it_is_no_history_and_no_event(memory: Any, robot: Any, thing: Any) -> None:
    mug = thing("mug", (2, 0, 1))
    for number in range(8):
        by = "first" if number < 4 else "second"
        receipt = memory.ingest(robot.frame(number, mug.seen(attributes=(("described_by", by),))))
        assert not [e for e in receipt.events if e.detail]
    [entry] = memory.entries()
    assert [(a.name, a.value) for a in entry.attributes] == [("described_by", "second")]


def test_without_a_description_evidence_says_what_was_measured(memory: Any, robot: Any, thing: Any) -> None:
    mug = thing("mug", (2, 0, 1)).seen(attributes=(("color", "red"),))
    memory.ingest(robot.frame(1, mug))
    [found] = memory.retrieve(Query()).entries
    assert found.description == "A small red mug." and dict(found.attributes)["described_by"] == "template"
    said = mug.seen(description="a cup with a chip", attributes=(("color", "red"), ("described_by", "vlm 1")))
    memory.ingest(robot.frame(2, said))
    [found] = memory.retrieve(Query()).entries
    assert found.description == "a cup with a chip" and dict(found.attributes)["described_by"] == "vlm 1"
