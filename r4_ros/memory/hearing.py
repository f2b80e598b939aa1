"""What others know becomes part of a robot's memory: news with a map server's numbers, in the numbers of this one.

Others' namespaces are only read here; nothing of what this memory saw itself is touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from r4_ros.core.model import Embedding, Stay
from r4_ros.memory.absences import FoundAbsent
from r4_ros.memory.anchoring import AnchorBook, apart
from r4_ros.memory.heard import HeardFrame, News
from r4_ros.memory.sql_peers import PeerChange, PeerStore
from r4_ros.memory.store import (
    AnchorRecord,
    EntryChange,
    FrameChange,
    SessionRecord,
    StoredCells,
    StoredEntry,
    StoredEpisode,
    StoredEvent,
)

_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Own:
    """Numbers of the memory that hears: of its next frame, entry and change; and whose news it doesn't take."""

    next_frame: int
    next_slot: int
    revision: int
    agents: frozenset[str]


class Hearing:
    """One piece of news on its way in. ``change`` is what to write; nothing is changed before that."""

    def __init__(self, news: News, own: Own, store: PeerStore, anchors: AnchorBook) -> None:
        self._news, self._own, self._store, self._book = news, own, store, anchors
        self._numbers: dict[int, int] = {}
        self._new_anchors: list[AnchorRecord] = []
        self._moved: dict[int, AnchorRecord] = {}
        for number, record in news.anchors.items():
            self._take_anchor(number, record)
        for record in news.moved:
            known = anchors.find(record)
            if known is not None:
                self._move(known, record)

    def _take_anchor(self, number: int, record: AnchorRecord) -> None:
        known = self._book.find(record)
        if known is not None:
            self._numbers[number] = known
            self._move(known, record)
        elif self._is_others(record.anchor.agent_id):
            mine = len(self._book) + len(self._new_anchors)
            self._numbers[number] = mine
            self._new_anchors.append(replace(record, anchor=replace(record.anchor, anchor_id=mine)))

    def _move(self, known: int, record: AnchorRecord) -> None:
        anchor = record.anchor
        if self._is_others(anchor.agent_id) and apart(self._book[known].pose_in_map, anchor.pose_in_map) > _SAME:
            self._moved[known] = replace(record, anchor=replace(anchor, anchor_id=known))

    def _is_others(self, agent_id: str) -> bool:
        return agent_id not in self._own.agents

    def change(self, kept: dict[str, str]) -> PeerChange:
        """What to write."""
        news = self._news
        entries, parts = self._entries()
        return PeerChange(
            revision=self._own.revision,
            sessions=tuple(s for s in news.sessions if self._is_others(s.agent_id)),
            anchors=tuple(self._new_anchors),
            moved=tuple(self._moved.values()),
            frames=tuple(self._frames()),
            entries=entries,
            parts=parts,
            gone=tuple(self._gone()),
            events=tuple(self._events(entries)),
            absences=tuple(self._absences(entries)),
            cells=tuple(self._cells()),
            episodes=tuple(self._episodes()),
            kept=kept,
        )

    def _frames(self) -> Iterable[tuple[FrameChange, int, bool]]:
        sessions = {(s.agent_id, s.session): s for s in self._news.sessions}
        number = self._own.next_frame
        for heard in self._news.frames:
            f = heard.frame
            where = (f.agent_id, f.session, f.camera, f.stamp_ns)
            session = sessions.get((f.agent_id, f.session))
            if not self._is_others(f.agent_id) or session is None or self._store.find_frame(*where) is not None:
                continue
            yield self._frame(heard, session, number)
            number += 1

    def _frame(self, heard: HeardFrame, session: SessionRecord, number: int) -> tuple[FrameChange, int, bool]:
        frame = replace(heard.frame, frame_id=number, anchor_id=self._numbers[heard.frame.anchor_id])
        return FrameChange(self._own.revision, session, frame, False, None, (), (), ()), heard.until_ns, heard.settled

    def _entries(self) -> tuple[tuple[EntryChange, ...], dict[int, int | None]]:
        """Entries as they are now, and which are parts of which (by slot; None: of none)."""
        heard = [s for s in self._news.entries if self._is_others(s.entry.agent_id)]
        parts = self._news.parts
        known = self._store.slots_of(sorted({*(s.entry.entry_id for s in heard), *parts.values()}))
        before = {s.slot: s for s in self._store.read_entries([slot for slot, _ in known.values()])}
        slots = {entry_id: slot for entry_id, (slot, _) in known.items()}
        new = dict.fromkeys(s.entry.entry_id for s in heard if s.entry.entry_id not in known)
        slots |= {entry_id: self._own.next_slot + i for i, entry_id in enumerate(new)}
        changes = [
            EntryChange(before.get(slots[s.entry.entry_id]), self._mine(s, slots[s.entry.entry_id])) for s in heard
        ]
        part_of = dict(known.values())
        now = {slots[s.entry.entry_id]: slots.get(parts.get(s.entry.entry_id, "")) for s in heard}
        other = {slot: kept for slot, kept in now.items() if kept != part_of.get(slot)}
        return tuple(sorted(changes, key=lambda c: c.after.slot)), other

    def _mine(self, stored: StoredEntry, slot: int) -> StoredEntry:
        entry = stored.entry.evolve(stays=tuple(map(self._stay, stored.entry.stays)))
        return replace(stored, slot=slot, entry=entry)

    def _stay(self, stay: Stay) -> Stay:
        shares = tuple(replace(share, anchor_id=self._numbers[share.anchor_id]) for share in stay.shares)
        return replace(stay, anchor_id=self._numbers[stay.anchor_id], shares=shares)

    def _gone(self) -> list[StoredEntry]:
        """Entries of others that are no more."""
        ids = set(self._news.gone)
        if self._news.all_ids is not None:
            ids |= set(self._store.entry_ids_of_others(sorted(self._own.agents))) - self._news.all_ids
        known = self._store.slots_of(sorted(ids))
        found = self._store.read_entries([slot for slot, _ in known.values()])
        return [s for s in found if self._is_others(s.entry.agent_id)]

    def _slots(self, ids: Iterable[str], entries: Sequence[EntryChange]) -> dict[str, int]:
        known = {entry_id: slot for entry_id, (slot, _) in self._store.slots_of(sorted(set(ids))).items()}
        return known | {c.after.entry.entry_id: c.after.slot for c in entries}

    def _events(self, entries: Sequence[EntryChange]) -> Iterable[tuple[StoredEvent, bool]]:
        slots = self._slots((e.event.entry_id for e, _ in self._news.events), entries)
        for stored, voided in self._news.events:
            slot, anchor = slots.get(stored.event.entry_id), self._numbers.get(stored.anchor_id)
            start = None if stored.from_anchor is None else self._numbers.get(stored.from_anchor)
            if slot is not None and anchor is not None and self._is_others(stored.event.agent_id):
                yield replace(stored, slot=slot, anchor_id=anchor, from_anchor=start), voided

    def _absences(self, entries: Sequence[EntryChange]) -> Iterable[FoundAbsent]:
        slots = self._slots((entry_id for entry_id, _ in self._news.absences), entries)
        for entry_id, record in self._news.absences:
            if entry_id in slots and self._is_others(record.observer):
                yield replace(record, slot=slots[entry_id])

    def _cells(self) -> Iterable[StoredCells]:
        for minute in self._news.cells:
            if self._is_others(minute.agent_id) and not self._store.was_looked_at(minute):
                yield replace(minute, anchor_id=self._numbers[minute.anchor_id])

    def _episodes(self) -> Iterable[tuple[StoredEpisode, Embedding | None]]:
        for stored, embedding in self._news.episodes:
            if self._is_others(stored.episode.agent_id):
                anchor = None if stored.anchor_id is None else self._numbers.get(stored.anchor_id)
                if anchor is not None or stored.anchor_id is None:
                    yield replace(stored, anchor_id=anchor), embedding
