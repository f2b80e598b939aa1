"""Looking after a store: copies, checks, sizes, pruning, and corrections with the records of them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from r4_ros.core.alignments import AlignmentRecord
from r4_ros.core.model import (
    FOREVER,
    MEMORY,
    CorrectionKind,
    CorrectionRecord,
    Embedding,
    Interval,
    Observation,
)
from r4_ros.memory import entry_json, sql_prune
from r4_ros.memory.absences import FoundAbsent
from r4_ros.memory.anchor_records import BeliefRecord
from r4_ros.memory.attributes import LATEST
from r4_ros.memory.bulk import EntryBatch, VectorBatch
from r4_ros.memory.codec import dump
from r4_ros.memory.division_records import KeptSighting
from r4_ros.memory.merge_records import AnchorChange, MergeRecord
from r4_ros.memory.sql import SET_META, Database, Row
from r4_ros.memory.sql_alignments import AlignmentTable
from r4_ros.memory.sql_columns import entry_batches, vector_batches
from r4_ros.memory.sql_crops import CropTable
from r4_ros.memory.sql_divisions import DivisionTable
from r4_ros.memory.sql_entries import EntryTable
from r4_ros.memory.sql_erase import ERASED, Erased, erase
from r4_ros.memory.sql_merges import MergeTable
from r4_ros.memory.sql_parts import LAST_IN_ENTRY
from r4_ros.memory.sql_prune import Pruned
from r4_ros.memory.sql_rows import correction_record
from r4_ros.memory.sql_shifts import ShiftTable
from r4_ros.memory.sql_told import LOST, ToldTable
from r4_ros.memory.sql_vectors import vector_models, vector_of, vectors_of
from r4_ros.memory.store import CorrectionChange, EntryChange
from r4_ros.memory.store_upkeep import Dropped
from r4_ros.memory.stored_words import DescriptionChange, StoredCrop

_KINDS = tuple("frame observation entry stay sighting event episode coverage anchor session region crop".split())
_DESCRIBED = "UPDATE observation SET description = ?, attributes = ? WHERE frame_id = ? AND idx = ?"
_CORRECTION = """INSERT INTO correction(correction_no, stamp_ns, kind, source, entry_id, request, entries, before,
    after, frame_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""


class SqlUpkeep:
    """The part of the store that says nothing of frames."""

    def __init__(self, file: Database) -> None:
        self._file = file
        self._entries = EntryTable(file)
        self._merges = MergeTable(file, self._entries)
        self._divisions = DivisionTable(file)
        self._crops = CropTable(file)
        self._shifts = ShiftTable(file)
        self._alignments = AlignmentTable(file)
        self._told = ToldTable(file)

    @property
    def file(self) -> Database:
        """The open database."""
        return self._file

    @property
    def told(self) -> ToldTable:
        """What of it was told to a map server."""
        return self._told

    @property
    def read_only(self) -> bool:
        """Whether writing is refused."""
        return self._file.read_only

    @property
    def path(self) -> Path | str:
        """Where it lies."""
        return self._file.path

    def reindex(self) -> None:
        """Make the file's indexes anew from its tables. Raises StoreError."""
        self._file.reindex()

    def vector_models(self) -> list[str]:
        """The models that the kept vectors were made by; found in the index of the vectors, whatever their number."""
        return vector_models(self._file)

    def vectors(self, texts: Sequence[str]) -> dict[str, Embedding]:
        """What texts mean, each by the model that was asked last; without those of which it isn't kept."""
        return vectors_of(self._file, texts)

    def vector(self, text: str) -> Embedding | None:
        """What a text means, by the model that was asked last; None: that isn't kept."""
        return vector_of(self._file, vector_models(self._file), text)

    def crop(self, slot: int) -> StoredCrop | None:
        """The newest picture of an entry, or of one that became a part of it."""
        return self._crops.newest(slot)

    def crop_use(self) -> dict[str, int]:
        """``bytes`` of all pictures, and how many had to be ``dropped``."""
        return {"bytes": self._crops.total(), "dropped": self._crops.dropped()}

    def observed(self, frame_id: int) -> dict[int, tuple[str, str]]:
        """Entry id and description of a frame's observations by index, without those of no entry."""
        rows = self._file.execute(
            "SELECT idx, entry_id, observation.description FROM observation JOIN entry USING(slot) WHERE frame_id = ?",
            (frame_id,),
        )
        return {row[0]: (row[1], row[2]) for row in rows}

    def write_descriptions(self, change: DescriptionChange) -> None:
        """Write late descriptions or nothing; durable on return."""
        try:
            with self._file.transaction():
                rows = [self._described_row(change.frame_id, o) for o in change.observations]
                self._entries.write(change.entries)
                self._entries.keep_vectors(change.observations)
                self._file.execute_many(_DESCRIBED, rows)
                self._told.late(change.frame_id)
                self._write_revision(change.revision)
        except BaseException:
            self._entries.forget_unwritten()
            raise

    def _described_row(self, frame_id: int, o: Observation) -> Row:
        """What a late description makes of an observation: all else that was seen of it stays."""
        [(known,)] = self._file.execute(
            "SELECT attributes FROM observation WHERE frame_id = ? AND idx = ?", (frame_id, o.index)
        )
        kept = [(name, value) for name, value in json.loads(known) if name not in LATEST]
        return o.description, dump([*kept, *(a for a in o.attributes if a[0] in LATEST)]), frame_id, o.index

    def write_correction(self, change: CorrectionChange) -> None:
        """Write a correction, what it changed and the record of it, or nothing; durable on return."""
        r, said = change.record, change.record.correction
        request = [said.label, said.other_id, said.at_ns, said.position, said.correction_id]
        told = () if said.remakes else change.entries
        before = [None if c.before is None else entry_json.to_json(c.before) for c in told]
        after = [entry_json.to_json(c.after) for c in told]
        row = (r.correction_id, r.stamp_ns, int(said.kind), said.source, said.entry_id, dump(request), dump(r.entries))
        try:
            with self._file.transaction():
                self._entries.write(change.entries)
                [(frame_id,)] = self._file.execute("SELECT max(frame_id) FROM frame")
                self._file.execute(_CORRECTION, (*row, dump(before), dump(after), frame_id or 0))
                if said.kind is CorrectionKind.UNDO:
                    undone = (r.correction_id, said.correction_id)
                    self._file.execute("UPDATE correction SET undone_by = ? WHERE correction_no = ?", undone)
                if change.parted:
                    self._merges.part(change.parted, r.correction_id)
                if change.joined:
                    self._merges.join(change.joined)
                if change.divided is not None:
                    self._divisions.write(r.correction_id, change.divided)
                if change.rejoined:
                    self._divisions.take_back(change.rejoined)
                self._write_revision(change.revision)
        except BaseException:
            self._entries.forget_unwritten()
            raise

    def corrections(self) -> list[CorrectionRecord]:
        """All corrections, oldest first."""
        return [correction_record(row) for row in self._file.execute(_RECORDS)]

    def corrected(self, correction_id: int) -> tuple[EntryChange, ...]:
        """What a correction made of which entries."""
        rows = self._file.execute("SELECT before, after FROM correction WHERE correction_no = ?", (correction_id,))
        return tuple(
            EntryChange(None if before is None else entry_json.from_json(before), entry_json.from_json(after))
            for before, after in zip(*map(json.loads, rows[0]), strict=True)
        )

    def said(self) -> list[tuple[int, CorrectionRecord]]:
        """What people corrected, but of what was erased, oldest first, each with the frame after which it was made.

        Numbers are of those. What the memory itself found out isn't told, since whoever reads the frames finds it too;
        where a person took that back, its entries say what.
        """
        rows = self._file.execute(_RECORDS)
        kept = [(row[-1], correction_record(row)) for row in rows if row[7] != ERASED]
        told = [(frame, r) for frame, r in kept if r.correction.source != MEMORY]
        numbers = {r.correction_id: n for n, (_, r) in enumerate(told, start=1)}
        found = {r.correction_id: r.correction for _, r in kept if r.correction.source == MEMORY}
        result = []
        for frame, r in told:
            c = replace(r.correction, correction_id=numbers.get(r.correction.correction_id, 0))
            if own := found.get(r.correction.correction_id):
                c = replace(c, entry_id=own.entry_id, other_id=own.other_id)
            result.append((frame, replace(r, correction=c)))
        return result

    def write_alignment(self, record: AlignmentRecord, undoes: int, revision: int) -> None:
        """Keep one more alignment, or that one was taken back; durable on return."""
        with self._file.transaction():
            self._alignments.add(record, undoes)
            self._write_revision(revision)

    def alignments(self) -> list[AlignmentRecord]:
        """All alignments, oldest first, also those that don't hold any more."""
        return [record for record, _, _ in self._alignments.all()]

    def erase(self, before_ns: int, only: Collection[str] = ()) -> Erased:
        """Erase for good what was forgotten before a time, or these entries of it; see ``sql_erase``."""
        erased = erase(self._file, before_ns, only)
        self._entries.forget_unwritten()
        return erased

    def write_anchor_correction(self, change: AnchorChange) -> None:
        """Write all of a change, with a record of it and of each merge, or nothing; durable on return."""
        try:
            with self._file.transaction():
                self._shifts.write(change)
                for merge in change.merges:
                    self._merges.write(merge, change.revision)
                self._write_revision(change.revision)
        except BaseException:
            self._entries.forget_unwritten()
            raise

    def absences(self) -> list[FoundAbsent]:
        """All records of what agents found gone of each other's, by slot, the oldest of each first."""
        rows = self._file.execute("SELECT * FROM found_absent ORDER BY slot, first_ns, observer")
        return [FoundAbsent(row[0], row[1], row[2], row[3], bool(row[4])) for row in rows]

    def beliefs(self) -> list[BeliefRecord]:
        """What agents said last of where they are, as of their newest frames and what was kept."""
        known = {(b.agent_id, b.session, b.map_id): b for b in self._shifts.kept()}
        for newest in self._shifts.newest():
            key = (newest.agent_id, newest.session, newest.map_id)
            kept = known.get(key)
            if kept is None:
                known[key] = newest
            elif kept.stamp_ns < newest.stamp_ns:
                known[key] = replace(
                    kept,
                    stamp_ns=newest.stamp_ns,
                    writer=newest.writer,
                    odom_in_map=newest.odom_in_map,
                    in_odom=newest.in_odom,
                )
        return [known[key] for key in sorted(known)]

    def keep_belief(self, belief: BeliefRecord) -> None:
        """Keep it until the next one for its agent, session and map; durable on return."""
        with self._file.transaction():
            self._shifts.keep(belief)

    def _write_revision(self, revision: int) -> None:
        self._file.execute(SET_META, ("revision", revision))

    def merges(self) -> list[MergeRecord]:
        """The records of all merges, oldest first."""
        return self._merges.records()

    def merged(self) -> list[tuple[int, str, int]]:
        """(slot, entry id, slot of the entry that it is a part of now) of all merged entries, by slot."""
        return self._merges.merged()

    def seen_together(self, agent_id: str, interval: Interval, slots: Sequence[int], others: Sequence[int]) -> bool:
        """Whether a frame in the interval has observations of entries of both groups of slots."""
        return self._merges.seen_together(agent_id, interval, slots, others)

    def sightings(
        self, agent_id: str, interval: Interval, slots: Sequence[int], limit: int, absences: bool = False
    ) -> list[KeptSighting]:
        """The last ``limit`` kept sightings in the interval that were given to these slots, in the order they came.

        ``absences``: also what found their places empty.
        """
        return self._divisions.sightings(agent_id, interval, slots, limit, absences)

    def entry_batches(self) -> Iterator[EntryBatch]:
        """All entries but merged ones as columns, by slot."""
        return entry_batches(self._file)

    def vector_batches(self) -> Iterator[VectorBatch]:
        """All vectors by number, each batch of one model."""
        return vector_batches(self._file)

    def reading(self) -> AbstractContextManager[None]:
        """What is read in it is of one moment."""
        return self._file.reading()

    def prune(
        self, before_ns: int = FOREVER, max_bytes: int | None = None, dry_run: bool = False, beside: bool = False
    ) -> Pruned:
        """Drop old history, never what the entries are; see ``sql_prune``."""
        return sql_prune.prune(self._file, before_ns, max_bytes, dry_run, beside)

    def drop_history(self, agent_id: str, session: int, before_ns: int, frames: int) -> Dropped:
        """Drop the observations of about so many frames of a session that are older than ``before_ns``."""
        return sql_prune.drop_history(self._file, agent_id, session, before_ns, frames)

    def oldest_history(self) -> dict[tuple[str, int], int]:
        """For each (agent, session) that has history the stamp where it begins, oldest first."""
        return sql_prune.oldest_history(self._file)

    def others(self) -> frozenset[str]:
        """Agents whose namespaces are a map server's, and only read here."""
        return self._told.others()

    def untold(self) -> tuple[str, int, int] | None:
        """Agent, session and stamp of the first frame that the map server wasn't told of; None: it was of all."""
        return self._told.first_untold()

    def untold_lost(self, observations: int) -> None:
        """So many more were dropped before the map server was told of them; durable on return."""
        self._told.keep(LOST, str(int(self._told.get(LOST) or 0) + observations))

    def dropped(self) -> Dropped:
        """All that was ever dropped."""
        return sql_prune.dropped(self._file)

    def used_bytes(self) -> int:
        """Size without free pages."""
        return self._file.used_bytes()

    def pruned_before(self) -> dict[tuple[str, int], int]:
        """For each (agent, session) the stamp before which frames were dropped."""
        return sql_prune.pruned_before(self._file)

    def counts(self) -> dict[str, int]:
        """Number of rows by kind."""
        kinds: Sequence[str] = (*_KINDS, "correction", "merge")
        counts = {kind: int(self._file.execute(f"SELECT count(*) FROM {kind}")[0][0]) for kind in kinds}
        return {kind: count + counts["entry"] * (kind in LAST_IN_ENTRY) for kind, count in counts.items()}

    def problems(self) -> list[str]:
        """What an integrity check finds; empty: sound."""
        return self._file.problems()

    def backup(self, target: Path) -> int:
        """A consistent copy; gives its size in bytes."""
        return self._file.backup(target)

    def size_bytes(self) -> int:
        """Size on disk with the write-ahead log."""
        return self._file.size_bytes()

    def close(self) -> None:
        """Release the file."""
        self._file.close()


_RECORDS = """SELECT correction_no, stamp_ns, kind, source, entry_id, request, entries, undone_by, frame_id
    FROM correction ORDER BY correction_no"""
