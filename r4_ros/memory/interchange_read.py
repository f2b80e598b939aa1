"""JSON objects as records: the reading side of docs/interchange.md.

Only the fields that any logger has are needed. Raises InvalidArgument that names the field.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from r4_ros.core.alignments import Alignment, AlignmentRecord
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.geometry import compose, inverse, normalized
from r4_ros.core.model import (
    FOREVER,
    NO_COVARIANCE,
    OPTICAL_TO_BASE,
    Box,
    CorrectionKind,
    Embedding,
    EntryCorrection,
    Episode,
    EpisodeSource,
    Float32Array,
    Frame,
    Interval,
    Matrix3,
    Observation,
    Pose,
    Region,
    Vec3,
    View,
    Visibility,
)
from r4_ros.memory.anchor_records import PathRecord
from r4_ros.memory.cells import Block

Json = dict[str, Any]
T = TypeVar("T")
E = TypeVar("E", bound=Enum)
_REQUIRED = object()
_MOST_CELLS = 1 << 27


class Fields:
    """The fields of one object, each checked as it is taken."""

    def __init__(self, values: Any, what: str) -> None:
        if not isinstance(values, dict):
            raise InvalidArgument(f"{what} must be an object, not {values!r:.60}")
        self._values: Json = values
        self.what = what

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def take(self, name: str, read: Callable[[Any], T], default: Any = _REQUIRED) -> T:
        """A field as ``read`` understands it."""
        value = self._values.get(name)
        if value is None:
            if default is _REQUIRED:
                raise InvalidArgument(f"{self.what}: '{name}' is missing")
            return cast(T, default)
        try:
            return read(value)
        except (TypeError, ValueError, KeyError) as error:
            raise InvalidArgument(f"{self.what}: '{name}': {error}") from error


def frame_from_json(values: Json, sequence: int, held: Float32Array | None) -> Frame:
    """A frame record. ``sequence``: its own where it names none; ``held``: the depth its camera kept last."""
    f = Fields(values, "frame")
    base = f.take("base_in_sensor", _pose, OPTICAL_TO_BASE)
    if "sensor_in_map" in f or "base_in_map" not in f:
        sensor = f.take("sensor_in_map", _pose)
    else:
        sensor = compose(f.take("base_in_map", _pose), inverse(base))
    observations = f.take("observations", _list, [])
    return Frame(
        agent_id=f.take("agent", _text),
        camera=f.take("camera", _text, "camera"),
        writer=f.take("writer", _text, "import"),
        sequence=f.take("sequence", _integer, sequence),
        session=f.take("writer_session", _integer, 0),
        stamp_ns=f.take("stamp", _integer),
        map_id=f.take("map_id", _string, ""),
        map_frame=f.take("map_frame", _string, "map"),
        sensor_frame=f.take("sensor_frame", _string, ""),
        sensor_in_map=sensor,
        view=_view(Fields(f.take("view", lambda v: v, {}), "view"), held),
        sensor_in_odom=f.take("sensor_in_odom", _pose, None),
        base_in_sensor=base,
        observations=tuple(_observation(Fields(o, f"observation {i}"), i, sensor) for i, o in enumerate(observations)),
    )


def _view(f: Fields, held: Float32Array | None) -> View:
    depth = np.zeros((0, 0), np.float32)
    if "depth" in f:
        rows, cols = f.take("rows", _integer), f.take("cols", _integer)
        depth = f.take("depth", lambda text: _floats(text, rows * cols)).reshape(rows, cols)
    elif f.take("held", bool, False) and held is not None:
        depth = held
    return View(
        f.take("horizontal_fov", _number, 0.0),
        f.take("vertical_fov", _number, 0.0),
        f.take("min_depth", _number, 0.0),
        f.take("max_depth", _number, 0.0),
        depth,
    )


def _observation(f: Fields, index: int, sensor: Pose) -> Observation:
    return Observation(
        index=f.take("index", _integer, index),
        label=f.take("label", _string),
        box=_box_of(f, sensor),
        position_covariance=f.take("covariance", _covariance, NO_COVARIANCE),
        description=f.take("description", _string, ""),
        attributes=f.take("attributes", _pairs, ()),
        label_embedding=f.take("label_embedding", _embedding, None),
        description_embedding=f.take("description_embedding", _embedding, None),
        visibility=f.take("visibility", _member(Visibility), Visibility.VISIBLE),
        confidence=f.take("confidence", _number, 1.0),
        track_id=f.take("track_id", _string, ""),
        image=f.take("image", _string, ""),
        entry_id=f.take("entry_id", _string, ""),
        entry_revision=f.take("entry_revision", _integer, 0),
    )


def _box_of(f: Fields, sensor: Pose) -> Box:
    """In the sensor's frame, given there or in the map; without an orientation it is aligned with the map."""
    back = inverse(sensor)
    if "box" in f or "box_in_map" not in f:
        centre, turn, extent = f.take("box", _box)
        return Box(Pose(centre, turn or back.orientation), extent)
    centre, turn, extent = f.take("box_in_map", _box)
    return Box(compose(back, Pose(centre, turn or Pose().orientation)), extent)


def embedding_from_json(values: Json) -> tuple[str, Embedding]:
    """A text and what it means."""
    return Fields(values, "embedding").take("text", _string), _embedding(values)


def episode_from_json(values: Json) -> Episode:
    """An episode."""
    f = Fields(values, "episode")
    start = f.take("start", _integer)
    return Episode(
        episode_id=f.take("episode_id", _string, ""),
        agent_id=f.take("agent", _text),
        text=f.take("text", _text),
        interval=Interval(start, f.take("end", _integer, start + 1)),
        source=f.take("source", _member(EpisodeSource), EpisodeSource.CAPTION),
        map_id=f.take("map_id", _string, ""),
        place=f.take("place", _vec3, None),
        participants=f.take("participants", lambda names: tuple(str(name) for name in names), ()),
    )


def correction_from_json(values: Json) -> tuple[EntryCorrection, int]:
    """What a person said, and when (ns)."""
    f = Fields(values, "correction")
    said = EntryCorrection(
        kind=f.take("kind", _member(CorrectionKind)),
        entry_id=f.take("entry_id", _string, ""),
        label=f.take("label", _string, ""),
        other_id=f.take("other_id", _string, ""),
        at_ns=f.take("at", _integer, 0),
        position=f.take("position", _vec3, None),
        correction_id=f.take("correction_id", _integer, 0),
        source=f.take("source", _string, ""),
    )
    return said, f.take("stamp", _integer)


def alignment_from_json(values: Json) -> AlignmentRecord:
    """That an agent's map lies in another one, or that the last such word was taken back."""
    f = Fields(values, "alignment")
    owner, pose = (f.take("agent", _text), f.take("map_id", _text)), f.take("pose", _pose, None)
    alignment = None
    if pose is not None:
        alignment = Alignment(*owner, f.take("common_id", _text), pose, f.take("frame", _string, ""))
    return AlignmentRecord(0, f.take("stamp", _integer), *owner, alignment, f.take("source", _string, ""))


def path_from_json(values: Json) -> tuple[PathRecord, int | None]:
    """A correction of an agent's way, and the session that it is for (None: whichever each stamp lies in)."""
    f = Fields(values, "path")
    nodes = f.take("nodes", lambda nodes: [_node(node) for node in _list(nodes)])
    session = f.take("session", _integer, None)
    stamps, poses = tuple(stamp for stamp, _ in nodes), tuple(pose for _, pose in nodes)
    return PathRecord(f.take("agent", _text), session or 0, f.take("map_id", _string, ""), stamps, poses), session


def coverage_from_json(values: Json) -> tuple[str, str, Interval, Block]:
    """Agent, map, time and cells of a minute of the past."""
    f = Fields(values, "coverage")
    start = f.take("start", _integer)
    low, size = f.take("low", _three), f.take("size", _three)
    count = size[0] * size[1] * size[2]
    if min(size) < 0 or count > _MOST_CELLS:
        raise InvalidArgument(f"coverage: 'size' must be three numbers that make at most {_MOST_CELLS} cells")
    planes = [f.take(name, lambda text: _bits(text, count)).reshape(size) for name in ("looked", "reached")]
    span = Interval(start, f.take("end", _integer, start + 1))
    return f.take("agent", _text), f.take("map_id", _string, ""), span, Block(np.array(low, np.int64), np.stack(planes))


def _three(value: Any) -> list[int]:
    numbers = [_integer(v) for v in _list(value)]
    if len(numbers) != 3 or max(map(abs, numbers)) > 1 << 20:
        raise ValueError(f"must be three whole numbers, not {value!r:.60}")
    return numbers


def _bits(text: Any, count: int) -> npt.NDArray[np.bool_]:
    packed = np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
    if packed.size != (count + 7) // 8:
        raise ValueError(f"must be base64 of {count} bits")
    return np.unpackbits(packed, count=count).astype(bool)


def region_from_json(values: Json) -> Region:
    """A named region."""
    f = Fields(values, "region")
    return Region(
        name=f.take("name", _text),
        polygon=f.take("polygon", lambda corners: tuple((_number(x), _number(y)) for x, y in corners)),
        z_min=f.take("z_min", _number, -0.5),
        z_max=f.take("z_max", _number, 3.0),
        map_id=f.take("map_id", _string, ""),
    )


def _integer(value: Any) -> int:
    if type(value) is not int or not -FOREVER <= value <= FOREVER:
        raise ValueError(f"must be a whole number (of nanoseconds, for times), not {value!r:.60}")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"must be a finite number, not {value!r:.60}")
    return float(value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be a string, not {value!r:.60}")
    return value


def _member(kind: type[E]) -> Callable[[Any], E]:
    def read(value: Any) -> E:
        if value not in kind.__members__:
            raise ValueError(f"must be one of {', '.join(kind.__members__)}, not {value!r:.60}")
        return kind[value]

    return read


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be a text, not {value!r:.60}")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"must be a list, not {value!r:.60}")
    return value


def _numbers(value: Any, counts: Sequence[int]) -> tuple[float, ...]:
    numbers = tuple(_number(v) for v in _list(value))
    if len(numbers) not in counts:
        raise ValueError(f"must have {' or '.join(map(str, counts))} numbers, not {len(numbers)}")
    return numbers


def _vec3(value: Any) -> Vec3:
    return cast(Vec3, _numbers(value, (3,)))


def _pose(value: Any) -> Pose:
    v = _numbers(value, (7,))
    length = math.hypot(*v[3:])
    if abs(length - 1) > 0.01:
        raise ValueError(f"the quaternion (x y z w) must have length 1, not {length:g}")
    turn = (v[3], v[4], v[5], v[6])
    return Pose((v[0], v[1], v[2]), turn if abs(length - 1) < 1e-6 else normalized(turn))


def _node(value: Any) -> tuple[int, Pose]:
    stamp, *pose = _list(value)
    return _integer(stamp), _pose(pose)


def _box(value: Any) -> tuple[Vec3, tuple[float, float, float, float] | None, Vec3]:
    """Centre, orientation (None: not given) and full size."""
    v = _numbers(value, (6, 10))
    if len(v) == 6:
        return (v[0], v[1], v[2]), None, (v[3], v[4], v[5])
    pose = _pose(list(v[:7]))
    return pose.position, pose.orientation, (v[7], v[8], v[9])


def _covariance(value: Any) -> Matrix3:
    return cast(Matrix3, _numbers(value, (9,)))


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    pairs = value.items() if isinstance(value, dict) else _list(value)
    return tuple((str(name), str(held)) for name, held in pairs)


def _embedding(value: Any) -> Embedding:
    f = Fields(value, "embedding")
    return Embedding(f.take("model", _text), f.take("vector", _floats))


def _floats(text: Any, count: int | None = None) -> Float32Array:
    try:
        values = np.frombuffer(base64.b64decode(text, validate=True), "<f2").astype(np.float32)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"must be base64 of float16 ({error})") from error
    if not np.isfinite(values).all() or not values.size:
        raise ValueError("must be finite numbers, at least one")
    if count is not None and values.size != count:
        raise ValueError(f"has {values.size} values, not rows x cols = {count}")
    return values
