"""A memory as JSON Lines and back. The format stands in docs/interchange.md."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from r4_ros.core.alignments import AlignmentRecord
from r4_ros.core.errors import InvalidArgument, R4Error, StoreError
from r4_ros.core.geometry import compose
from r4_ros.core.model import (
    CorrectionRecord,
    Embedding,
    Float32Array,
    Frame,
    Interval,
    Observation,
    Pose,
    Region,
    Visibility,
)
from r4_ros.core.ports import Embedder
from r4_ros.memory import interchange, interchange_read
from r4_ros.memory.alignable import MAP_SERVER
from r4_ros.memory.anchor_records import PathRecord
from r4_ros.memory.cells import placed
from r4_ros.memory.codec import dump
from r4_ros.memory.interchange import FORMAT, VERSION, Json
from r4_ros.memory.library import Library
from r4_ros.memory.store import KeptFrame, MemoryStore, StoredEpisode

_ZERO_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
MOST_PROBLEMS = 1000
"""Of so many lines it is kept what is wrong with them; of all, how many were refused."""


def export_lines(store: MemoryStore) -> Iterator[str]:
    """The whole memory, line by line, all of one moment also while a node writes. Raises StoreError.

    What a map server says of others isn't told: it came as states, without the history that they were made of. Nor is
    what it says of maps.
    """
    with store.reading():
        others = store.others()
        head = {"type": "memory", "format": FORMAT, "version": VERSION, "live": store.is_live()}
        yield dump({**head, "pruned": bool(store.pruned_before())})
        anchors = list(store.anchors())
        for record in anchors:
            if record.anchor.agent_id in others:
                continue
            yield dump(interchange.anchor_to_json(record.camera, record.anchor))
        told, unsaid = set[str](), set[int]()
        for kept in store.history():
            if isinstance(kept, AlignmentRecord) and (kept.source == MAP_SERVER or kept.number in unsaid):
                unsaid.add(kept.undone_by)
                continue
            if not isinstance(kept, KeptFrame):
                yield dump(_corrected(kept))
                continue
            if kept.frame.agent_id in others:
                continue
            for text, embedding in interchange.texts_of(kept.frame):
                if text not in told:
                    told.add(text)
                    yield dump(interchange.embedding_to_json(text, embedding))
            yield dump(interchange.frame_to_json(kept.frame, kept.held))
        poses = {record.anchor.anchor_id: record.anchor.pose_in_map for record in anchors}
        for text, embedding in store.episode_vectors():
            if text not in told:
                told.add(text)
                yield dump(interchange.embedding_to_json(text, embedding))
        for stored in store.episodes_by_number():
            if stored.episode.agent_id in others:
                continue
            yield dump(interchange.episode_to_json(_placed(stored, poses)))
        for minute in store.cells():
            if minute.agent_id in others:
                continue
            span, block = Interval(minute.start_ns, minute.until_ns), placed(minute, poses[minute.anchor_id])
            yield dump(interchange.coverage_to_json(minute.agent_id, minute.map_id, span, block))
        for region in store.regions():
            yield dump(interchange.region_to_json(region))


def _corrected(record: PathRecord | CorrectionRecord | AlignmentRecord) -> Json:
    if isinstance(record, PathRecord):
        return interchange.path_to_json(record)
    if isinstance(record, AlignmentRecord):
        return interchange.alignment_to_json(record)
    return interchange.correction_to_json(record)


def _placed(stored: StoredEpisode, poses: dict[int, Pose]) -> Any:
    if stored.anchor_id is None or stored.place is None:
        return stored.episode
    return replace(stored.episode, place=compose(poses[stored.anchor_id], Pose(stored.place)).position)


@dataclass
class Imported:
    """What became of a stream. ``derived``: anchors, which memory makes itself.

    ``pruned``: the exported memory had dropped history, so that what was made of it is missing.
    """

    frames: int = 0
    known: int = 0
    observations: int = 0
    episodes: int = 0
    regions: int = 0
    coverage: int = 0
    corrections: int = 0
    paths: int = 0
    alignments: int = 0
    derived: int = 0
    refused: int = 0
    pruned: bool = False
    problems: list[str] = field(default_factory=list)


class Importer:
    """Works the lines of a stream into a memory, as its node would.

    ``embedder``: makes what gives labels and descriptions without a vector theirs (None: they stay without); used for
    a stream that r4 exported only if ``exported_too``, since that tells all vectors that there were.
    """

    def __init__(
        self,
        library: Library,
        embedder: Callable[[], Embedder | None] = lambda: None,
        exported_too: bool = False,
    ) -> None:
        self._library, self._make_embedder, self._exported_too = library, embedder, exported_too
        self._embedder: Embedder | None = None
        self._ours = False
        self._said: list[int] = []
        """What the numbers of the stream's corrections are in this memory."""
        self._vectors: dict[str, Embedding | None] = {}
        self._held: dict[tuple[str, str], Float32Array] = {}
        self._sequences: dict[tuple[str, str, str], int] = {}
        self._writers: dict[tuple[str, str], str] = {}
        self._regions: dict[tuple[str, str], Region] = {(r.name, r.map_id): r for r in library.regions()}
        self.done = Imported()
        self._work: dict[str, Callable[[Json], None]] = {
            "memory": self._memory,
            "embedding": self._embedding,
            "frame": self._frame,
            "episode": self._episode,
            "region": self._region,
            "coverage": self._coverage,
            "correction": self._correction,
            "path": self._path,
            "alignment": self._alignment,
            "anchor": self._anchor,
        }

    def read(self, lines: Iterable[str], strict: bool = False) -> Imported:
        """Read all lines; a bad one is counted with its number, and the rest goes on.

        Raises InvalidArgument for the first bad line if ``strict``, and StoreError where nothing can be stored.
        """
        for number, line in enumerate(lines, start=1):
            self.take(number, line, strict)
        return self.finish()

    def take(self, number: int, line: str, strict: bool = False) -> None:
        """Read one line, as ``read`` does; ``finish`` after the last."""
        if not line.strip():
            return
        try:
            self._line(line)
        except StoreError:
            raise
        except R4Error as error:
            problem = f"line {number}: {error}"
            if strict:
                raise InvalidArgument(f"{problem}; what stood before it is stored") from error
            self.done.refused += 1
            if len(self.done.problems) < MOST_PROBLEMS:
                self.done.problems.append(problem)

    def finish(self) -> Imported:
        """What became of all lines that were taken."""
        self._library.set_regions(self._regions.values())
        return self.done

    def _line(self, line: str) -> None:
        try:
            values = json.loads(line)
            if "\\ud" in line or "\\uD" in line:
                json.dumps(values, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:  # also half a surrogate pair, which is no text
            raise InvalidArgument(f"no JSON ({error})") from error
        if "\\u0000" in line and _ZERO_BYTE.search(line):
            raise InvalidArgument("a zero byte is no text")
        kind = values.get("type") if isinstance(values, dict) else None
        work = self._work.get(kind) if isinstance(kind, str) else None
        if work is None:
            raise InvalidArgument(f"'type' must be one of {', '.join(self._work)}, not {kind!r:.60}")
        self._allow(values)
        work(values)
        while self._library.make_anew() is not None:  # a node does so between frames
            pass

    def _allow(self, values: Json) -> None:
        """Raise what speaks against a record; here nothing does."""

    def _memory(self, values: Json) -> None:
        version = values.get("version")
        if values.get("format") != FORMAT or version != VERSION:
            raise InvalidArgument(
                f"this is format {values.get('format')!r}, version {version!r}, not {FORMAT} {VERSION}"
            )
        self._ours = not self._exported_too
        self.done.pruned = values.get("pruned") is True
        if values.get("live") is True:
            self._library.set_live(True)

    def _embedding(self, values: Json) -> None:
        text, embedding = interchange_read.embedding_from_json(values)
        self._vectors[text] = embedding

    def _frame(self, values: Json) -> None:
        held = self._held.get((str(values.get("agent")), str(values.get("camera", "camera"))))
        frame = interchange_read.frame_from_json(values, 0, held)
        writer = (frame.agent_id, frame.camera, frame.writer)
        if "sequence" not in values:
            frame = replace(frame, sequence=self._sequences.get(writer, 0) + 1)
        meant = replace(frame, observations=tuple(self._meant(o) for o in frame.observations))
        self._take_turns(frame)
        receipt = self._library.ingest(meant)
        self._sequences[writer] = frame.sequence
        self._writers[frame.agent_id, frame.camera] = frame.writer
        if frame.view.depth.size:
            self._held[frame.agent_id, frame.camera] = frame.view.depth
        self.done.frames += 1
        self.done.known += receipt.stored == 0 and bool(frame.observations)
        self.done.observations += receipt.stored

    def _take_turns(self, frame: Frame) -> None:
        """Whoever wrote before it in the stream has ended; nobody else has, who may be a robot that drives now."""
        before = self._writers.get((frame.agent_id, frame.camera), frame.writer)
        if before != frame.writer:
            self._library.writer_ended(frame.agent_id, frame.camera, before)

    def _meant(self, o: Observation) -> Observation:
        """With the vectors of its texts, where they are known."""
        if o.visibility == Visibility.ABSENT:
            return o
        described = o.description_embedding or (self._vector(o.description) if o.description else None)
        return replace(o, label_embedding=o.label_embedding or self._vector(o.label), description_embedding=described)

    def _vector(self, text: str) -> Embedding | None:
        if text not in self._vectors:
            self._vectors[text] = None if self._ours else self._embedded(text)
        return self._vectors[text]

    def _embedded(self, text: str) -> Embedding | None:
        if self._embedder is None:
            self._embedder = self._make_embedder()
        if self._embedder is None:
            return None
        return Embedding(self._embedder.name, self._embedder.embed([text])[0])

    def _episode(self, values: Json) -> None:
        episode = interchange_read.episode_from_json(values)
        self._library.add_episode(episode, self._vector(episode.text))
        self.done.episodes += 1

    def _coverage(self, values: Json) -> None:
        self._library.add_coverage(*interchange_read.coverage_from_json(values))
        self.done.coverage += 1

    def _region(self, values: Json) -> None:
        region = interchange_read.region_from_json(values)
        if len(region.polygon) < 3 or region.z_max <= region.z_min:
            raise InvalidArgument(f"region '{region.name}' needs 3 corners and z_min below z_max")
        self._regions[region.name, region.map_id] = region
        self.done.regions += 1

    def _correction(self, values: Json) -> None:
        said, stamp_ns = interchange_read.correction_from_json(values)
        if 0 < said.correction_id <= len(self._said):
            said = replace(said, correction_id=self._said[said.correction_id - 1])
        self._said.append(self._library.correct(said, stamp_ns).correction_id)
        self.done.corrections += 1

    def _path(self, values: Json) -> None:
        path, session = interchange_read.path_from_json(values)
        self._library.correct_anchors(path.agent_id, path.stamps_ns, path.poses, path.map_id, session)
        self.done.paths += 1

    def _alignment(self, values: Json) -> None:
        record = interchange_read.alignment_from_json(values)
        if record.alignment is None:
            self._library.take_back_alignment(record.agent_id, record.map_id, record.stamp_ns, record.source)
        else:
            self._library.align(record.alignment, record.stamp_ns, record.source)
        self.done.alignments += 1

    def _anchor(self, values: Json) -> None:
        self.done.derived += 1
