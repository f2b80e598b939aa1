"""The part of the library that SLAMs correct."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from r4_ros.core.config import MemoryConfig
from r4_ros.core.errors import InvalidArgument, StoreError
from r4_ros.core.model import MEMORY, Anchor, Correction, CorrectionKind, EntryCorrection, Pose, Receipt
from r4_ros.memory.anchor_correction import AnchorCorrector
from r4_ros.memory.anchoring import AnchorBook
from r4_ros.memory.concerned import Concerned
from r4_ros.memory.correctable import Correctable
from r4_ros.memory.loading import no_collection
from r4_ros.memory.merge_records import MergeRecord
from r4_ros.memory.merger import AnchorMover, Moving, contradicted
from r4_ros.memory.recheck import Rechecker
from r4_ros.memory.remake import Remaker
from r4_ros.memory.steadiness import Steadiness
from r4_ros.memory.store import CorrectionChange

Plan = Callable[[int, int, int], CorrectionChange | None]


class AnchorCorrectable(Correctable):
    """What a library needs to move its anchors; it sets these fields itself."""

    _anchor_corrector: AnchorCorrector
    _mover: AnchorMover
    _concerned: Concerned
    _remaker: Remaker
    _rechecker: Rechecker
    _astray: deque[tuple[str, list[int]]]
    """Agents, and slots of entries of theirs that wait to be made anew."""
    _steadiness: Steadiness
    _anchors: AnchorBook
    _config: MemoryConfig

    def correct_anchors(
        self,
        agent_id: str,
        stamps_ns: Sequence[int],
        poses: Sequence[Pose],
        map_id: str = "",
        session: int | None = None,
    ) -> Correction:
        """A loop closure: the SLAM's nodes, with the robot's (base's) poses in the map as they are believed now.

        Each node counts for the session, and the map, in which the agent was at its stamp (``map_id``, ``session``: for
        that one only); nodes between which memory has no frames are left out. What hangs on the anchors moves along;
        entries that thereby prove to be one are merged. Queries go on meanwhile. On return it survives kill -9. Of what
        was seen while the robot was astray a first portion is made anew; ``make_anew`` does the others.

        Raises InvalidArgument where no node lies on the agent's way, for equal stamps and impossible numbers,
        UnknownEntry for an unknown agent, StoreError where it can't be stored; then nothing has changed.
        """
        with self._writing, no_collection():
            self._refuse_if_read_only()
            anchors = self._anchor_corrector.prepare(agent_id, stamps_ns, poses, map_id, session)
            settles = agent_id in self._steadiness.unsettled()
            correction = self._move(agent_id, anchors, "correction", also_none=settles)
            with self._lock:
                self._steadiness.corrected(agent_id, moved=bool(anchors))
                self._keep_beliefs()
            return correction

    def _part_again(self, correction: Correction) -> Correction:
        """After anchors were moved: take apart what was merged at one place that is two places now."""
        merges = self._store.merges()
        for merge in contradicted(merges, self._anchors, self._config):
            agent, slot = merge.merged.entry.agent_id, self._index.slots[merge.kept_id]
            settled = self._said.parted(merge.kept_id, merge.merged_id) or slot in self._said.spoken_of()
            if agent != correction.agent_id or settled:
                continue
            said = EntryCorrection(CorrectionKind.SPLIT, merge.kept_id, other_id=merge.merged_id, source=MEMORY)
            with self._lock, suppress(InvalidArgument, StoreError):  # merged or divided since; or a later one does it
                stamp, revision = self.newest_stamp(agent), self._revision + 1
                done = self._carry_out(self._corrector.prepare(said, stamp, revision, merges))
                merges = [replace(m, undone_by=done.correction_id) if m is merge else m for m in merges]
                changed = {e.entry_id: e for e in (*correction.changed, *done.changed)}
                correction = replace(correction, revision=done.revision, changed=tuple(changed.values()))
        return correction

    def _move(self, agent_id: str, anchors: list[Anchor], reason: str, also_none: bool = False) -> Correction:
        """Anchors of an agent stand elsewhere. Queries see all as before until they see all as it is now.

        ``also_none``: that none does is also worth a record.
        """
        if not anchors and not also_none:
            return Correction(agent_id, self._revision, 0)
        moving = self._mover.prepare(agent_id, anchors)
        with self._lock:
            change = self._mover.plan(moving, self.newest_stamp(agent_id), self._revision + 1, reason)
        merges = change.merges
        if not merges:  # what queries may read in the store stays the same
            self._mover.store(change)
        with self._lock:
            if merges:
                self._mover.store(change)
            self._mover.take(moving, change)
            self._said.hide()
            self._revision += 1
            removed = tuple(merge.merged.entry.entry_id for merge in merges)
            kept = {merge.kept.after.entry.entry_id: merge.kept.after.entry for merge in merges}
            changed = tuple(self._placed([entry for entry_id, entry in kept.items() if entry_id not in removed]))
            correction = Correction(agent_id, self._revision, len(anchors), changed, removed)
        if anchors and reason == "correction":
            correction = self._part_again(correction)
        return self._made_anew(correction, moving)

    def make_anew(self) -> Correction | None:
        """Make anew the next portion of what was seen while a robot was astray; None where nothing waits for that.

        Frames wait meanwhile, for seconds at most; queries go on.
        """
        with self._writing, no_collection():
            if not self._astray:
                return None
            agent, slots = self._astray.popleft()
            with self._lock:  # frames came since: what is like them and near may be more
                now, maps = self._concerned.slots(np.array(slots, np.int64), ()), self._index.entries["map"]
                slots = sorted(slot for slot in now if maps[slot] == maps[slots[0]])
            return self._portion_made_anew(Correction(agent, self._revision, 0), slots)

    def _made_anew(self, correction: Correction, moving: Moving) -> Correction:
        """After anchors were moved: make anew what was seen while the robot was astray, a first portion of it."""
        agent = correction.agent_id
        with self._lock:
            slots = self._concerned.slots(moving.astray, moving.pairs)
            first, *others = self._concerned.batches(slots) or [[]]
        self._astray += ((agent, slots) for slots in others)
        correction = self._portion_made_anew(correction, first) if first else correction
        with suppress(StoreError):
            return self._taken_over(correction, partial(self._rechecker.plan, agent)) if moving.anchors else correction
        return correction

    def _portion_made_anew(self, correction: Correction, slots: list[int]) -> Correction:
        with suppress(StoreError, OSError):  # no room to work in, or to store it: all stays as it is
            with self._lock:
                group = self._remaker.read(correction.agent_id, slots)
            worked = self._remaker.work(group)
            if worked is not None:
                return self._taken_over(correction, partial(self._remaker.change, worked))
        return correction

    def _taken_over(
        self, correction: Correction, plan: Callable[[int, int, int], CorrectionChange | None]
    ) -> Correction:
        """A correction and what else was found because of it. ``plan``: of a stamp, a revision and a number."""
        with self._lock:
            stamp = self.newest_stamp(correction.agent_id)
            change = plan(stamp, self._revision + 1, self._corrector.next_number)
            if change is None or change.divided is None:
                return correction
            gone = [self._index.ids[slot] for slot, into in change.divided.parts if into is not None]
            done = self._carry_out(change)
        changed = {e.entry_id: e for e in (*correction.changed, *done.changed) if e.entry_id not in gone}
        removed = tuple(i for i in dict.fromkeys((*correction.removed, *gone)) if i not in changed)
        return replace(correction, revision=done.revision, changed=tuple(changed.values()), removed=removed)

    def _keep_beliefs(self) -> None:
        """Store what a restart must know of agents whose SLAM stepped or was corrected; else the next frame does."""
        with suppress(StoreError):
            for belief in self._steadiness.changed():
                self._store.keep_belief(belief)
            self._steadiness.kept()

    def unsettled(self) -> list[str]:
        """Agents whose SLAM made a step and hasn't settled yet, sorted."""
        with self._lock:
            return self._steadiness.unsettled()

    def merges(self) -> list[MergeRecord]:
        """All merges, oldest first, each with the entry as it was before."""
        with self._lock:
            return self._store.merges()

    def assigned(self) -> list[tuple[str, int, int, str, str]]:
        """(agent, stamp, index, label, id of its entry by now) of all sightings that are kept, as they came."""
        with self._lock:
            merged = {slot: kept for slot, _, kept in self._store.merged()}
            ids = self._index.ids
            return [(*row[:4], ids[merged.get(row[4], row[4])]) for row in self._store.assigned()]

    def _with(self, settled: Correction, receipt: Receipt) -> Receipt:
        """The receipt of a frame before which anchors were moved."""
        if not settled.anchors:
            return receipt
        removed = (*settled.removed, *receipt.removed)
        changed = {e.entry_id: e for e in (*settled.changed, *receipt.changed) if e.entry_id not in removed}
        return replace(receipt, changed=tuple(changed.values()), removed=removed, anchors=settled.anchors)

    def newest_stamp(self, agent_id: str = "") -> int:
        """Newest stamp of an agent's newest session; 0 where there is none."""
        raise NotImplementedError
