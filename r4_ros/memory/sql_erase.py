"""Erasing what people forgot from a store: the entries, all that was seen of them, and what was said of them.

What is left of each is its place in the order of things: that a frame had an observation here, so that the same frame
sent again doesn't bring it back, and that somebody forgot something at this time. Nothing of it says what.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass

from r4_ros.core.model import CorrectionKind
from r4_ros.memory.codec import dump, text_key
from r4_ros.memory.sql import Database
from r4_ros.memory.sql_vectors import vector_models
from r4_ros.memory.ties import stated

_ERASED = "(SELECT slot FROM erased)"
ERASED = -1
"""``undone_by`` of corrections of what was erased, and ``visibility`` of its observations."""
_HELD = "SELECT entry_id, request FROM correction WHERE kind = ? AND undone_by = 0"
_OBSERVED = f"""UPDATE observation SET slot = NULL, label = '', box = ?, covariance = NULL, confidence = 0,
    visibility = {ERASED}, track_id = '', description = '', attributes = '[]', image = '' WHERE slot IN {_ERASED}"""
_SAID = f"""UPDATE correction SET entry_id = '', request = '["","",0,null,0]', entries = '[]', before = '[]',
    after = '[]', undone_by = {ERASED} WHERE correction_no = ?"""
_WORDS = "SELECT label, description FROM {} WHERE slot IN " + _ERASED
_STILL = """SELECT 1 FROM entry WHERE ? IN (label, description) UNION ALL SELECT 1 FROM observation
    WHERE ? IN (label, description) UNION ALL SELECT 1 FROM episode WHERE text = ? LIMIT 1"""
_NO_MODEL = "DELETE FROM model WHERE NOT EXISTS (SELECT 1 FROM vector WHERE vector.model_no = model.model_no)"


@dataclass(frozen=True)
class Erased:
    """How much is gone for good."""

    entries: int
    observations: int


def erase(file: Database, before_ns: int, only: Collection[str] = ()) -> Erased:
    """Erase what was forgotten before a time, or only these entries of it. Raises StoreError.

    The file must be opened anew afterwards by whoever keeps things of it in memory.
    """
    with file.overwriting(), file.transaction():
        slots = _with_parts(file, _forgotten(file, before_ns, only))
        file.execute("CREATE TEMP TABLE IF NOT EXISTS erased(slot INTEGER PRIMARY KEY)")
        file.execute("DELETE FROM erased")
        file.execute_many("INSERT INTO erased VALUES (?)", [(slot,) for slot in sorted(slots)])
        found = Erased(len(slots), _count(file, "observation"))
        if slots:
            _erase(file)
    return found


def _forgotten(file: Database, before_ns: int, only: Collection[str]) -> set[int]:
    rows = file.execute(
        "SELECT slot, entry.entry_id FROM correction JOIN entry USING(entry_id) "
        "WHERE kind = ? AND undone_by = 0 AND correction.stamp_ns < ?",
        (int(CorrectionKind.FORGET), before_ns),
    )
    return {slot for slot, entry_id in rows if not only or entry_id in only}


def _with_parts(file: Database, slots: set[int]) -> set[int]:
    """Also what the memory or people made parts of them."""
    slot_of: dict[str, int] = dict(file.execute("SELECT entry_id, slot FROM entry"))
    parts = [
        (slot_of.get(entry_id), slot_of.get(json.loads(request)[1]))
        for entry_id, request in file.execute(_HELD, (int(CorrectionKind.MERGE),))
    ]
    parts += file.execute("SELECT merged_into, slot FROM entry WHERE merged_into IS NOT NULL")
    whole = set(slots)
    while more := {part for kept, part in parts if kept in whole and part is not None} - whole:
        whole |= more
    return whole


def _erase(file: Database) -> None:
    ids = {row[0] for row in file.execute(f"SELECT entry_id FROM entry WHERE slot IN {_ERASED}")}
    words = {text for name in ("entry", "observation") for row in file.execute(_WORDS.format(name)) for text in row}
    for number, entries in file.execute("SELECT correction_no, entries FROM correction"):
        if ids & set(json.loads(entries)):
            file.execute(_SAID, (number,))
            file.execute("DELETE FROM division WHERE correction_no = ?", (number,))
    file.execute(_OBSERVED, (b"",))
    file.execute(f"DELETE FROM merge WHERE kept IN {_ERASED} OR merged IN {_ERASED}")
    for table in ("event", "crop", "stay", "sighting", "presence", "found_absent"):
        file.execute(f"DELETE FROM {table} WHERE slot IN {_ERASED}")
    file.execute(f"DELETE FROM entry WHERE slot IN {_ERASED}")
    for slot, moved_from, others in file.execute("SELECT slot, moved_from, maybe_same_as FROM entry"):
        kept = [i for i in json.loads(others) if i not in ids]
        if moved_from in ids or len(kept) < len(json.loads(others)):
            file.execute(
                "UPDATE entry SET moved_from = ?, maybe_same_as = ? WHERE slot = ?",
                ("" if moved_from in ids else moved_from, dump(kept), slot),
            )
    for number, participants in file.execute("SELECT episode_no, participants FROM episode"):
        named = json.loads(participants)
        kept = [
            name for name in named if name not in ids and ((tie := stated(name)) is None or tie.entry_id not in ids)
        ]
        if len(kept) < len(named):
            file.execute("UPDATE episode SET participants = ? WHERE episode_no = ?", (dump(kept), number))
    unsaid = [text for text in sorted(words) if text and not file.execute(_STILL, (text, text, text))]
    keys = [(text_key(model, text),) for model in vector_models(file) for text in unsaid]
    file.execute_many("DELETE FROM vector WHERE key = ?", keys)
    file.execute(_NO_MODEL)


def _count(file: Database, table: str) -> int:
    return int(file.execute(f"SELECT count(*) FROM {table} WHERE slot IN {_ERASED}")[0][0])
