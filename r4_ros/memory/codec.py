"""How records become blobs and texts of the database, and back."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from r4_ros.core.model import AttributeValue, Box, Float32Array, FloatArray, Matrix3, Pose, Share, Vec3
from r4_ros.core.pose_array import PoseArray

_VEC3, _POSE, _BOX, _MATRIX3 = struct.Struct("<3d"), struct.Struct("<7d"), struct.Struct("<10d"), struct.Struct("<9d")
_SMALL_POSE, _SMALL_BOX, _SMALL_MATRIX3 = struct.Struct("<7f"), struct.Struct("<10f"), struct.Struct("<9f")
_SYMMETRIC3, _TURN, _SHARE = struct.Struct("<6f"), struct.Struct("<3f"), struct.Struct("<i4f")


def pack_vec3(v: Vec3) -> bytes:
    """24 bytes."""
    return _VEC3.pack(*v)


def unpack_vec3(blob: bytes) -> Vec3:
    """What ``pack_vec3`` made."""
    return _VEC3.unpack(blob)


def pack_pose(pose: Pose, small: bool = False) -> bytes:
    """56 bytes, or 28 in float32 (for poses near their anchor)."""
    return (_SMALL_POSE if small else _POSE).pack(*pose.position, *pose.orientation)


def unpack_pose(blob: bytes) -> Pose:
    """What ``pack_pose`` made, of either size."""
    v = (_POSE if len(blob) == _POSE.size else _SMALL_POSE).unpack(blob)
    return Pose(v[:3], v[3:])


def single_pose(pose: Pose) -> Pose:
    """The pose with its numbers rounded to what float32 can say: as it is stored near its anchor."""
    return unpack_pose(pack_pose(pose, small=True))


def unpack_poses(blobs: Sequence[bytes]) -> PoseArray:
    """What ``pack_pose`` made of many poses."""
    sizes = {len(blob) for blob in blobs}
    if len(sizes) > 1:
        return PoseArray.of([unpack_pose(blob) for blob in blobs])
    values = np.frombuffer(b"".join(blobs), "<f4" if sizes == {_SMALL_POSE.size} else "<f8").reshape(-1, 7)
    return PoseArray(values[:, :3].astype(float), values[:, 3:].astype(float))


def pack_box(box: Box, small: bool = False) -> bytes:
    """80 bytes, or 40 in float32."""
    packer = _SMALL_BOX if small else _BOX
    return packer.pack(*box.pose.position, *box.pose.orientation, *box.extent)


def single(box: Box) -> Box:
    """The box with its numbers rounded to what float32 can say (a tenth of a millimetre at a kilometre)."""
    v = _SMALL_BOX.unpack(_SMALL_BOX.pack(*box.pose.position, *box.pose.orientation, *box.extent))
    return Box(Pose(v[:3], v[3:7]), v[7:])


def unpack_box(blob: bytes) -> Box:
    """What ``pack_box`` made, of either size."""
    v = (_BOX if len(blob) == _BOX.size else _SMALL_BOX).unpack(blob)
    return Box(Pose(v[:3], v[3:7]), v[7:])


def pack_turn(turn: Vec3 | None) -> bytes | None:
    """How a thing stands, in 12 bytes; None: along the map's axes."""
    return None if turn is None else _TURN.pack(*turn)


def unpack_turn(blob: bytes | None) -> Vec3 | None:
    """What ``pack_turn`` made."""
    return None if blob is None else cast(Vec3, _TURN.unpack(blob))


def pack_shares(shares: Sequence[Share]) -> bytes | None:
    """20 bytes each; None: no shares."""
    if len(shares) == 1:
        [s] = shares
        return _SHARE.pack(s.anchor_id, s.weight, *s.position)
    return b"".join(_SHARE.pack(s.anchor_id, s.weight, *s.position) for s in shares) or None


def unpack_shares(blob: bytes | None) -> tuple[Share, ...]:
    """What ``pack_shares`` made."""
    return () if blob is None else tuple(Share(v[0], v[1], v[2:]) for v in _SHARE.iter_unpack(blob))


def pack_exact_box(box: Box) -> bytes:
    """40 bytes where float32 says the same, else 80."""
    values = (*box.pose.position, *box.pose.orientation, *box.extent)
    small = _SMALL_BOX.pack(*values)
    return small if _SMALL_BOX.unpack(small) == values else _BOX.pack(*values)


def pack_matrix3(matrix: Matrix3) -> bytes:
    """36 bytes, in float32."""
    return _SMALL_MATRIX3.pack(*matrix)


def pack_exact_matrix3(matrix: Matrix3) -> bytes:
    """24 bytes for a symmetric one of which float32 says the same, else 72."""
    a, b, c, d, e, f, g, h, i = matrix
    if (b, c, f) == (d, g, h):
        small = _SYMMETRIC3.pack(a, b, c, e, f, i)
        if _SYMMETRIC3.unpack(small) == (a, b, c, e, f, i):
            return small
    return _MATRIX3.pack(*matrix)


def unpack_boxes(blobs: Sequence[bytes]) -> FloatArray:
    """n packed boxes of either size, [n, 10]: x y z, quaternion x y z w, full size."""
    joined = b"".join(blobs)
    if len(joined) == _BOX.size * len(blobs):
        return np.frombuffer(joined, "<f8").reshape(-1, 10)
    if len(joined) == _SMALL_BOX.size * len(blobs):
        return np.frombuffer(joined, "<f4").reshape(-1, 10).astype(float)
    return np.array([(_BOX if len(blob) == _BOX.size else _SMALL_BOX).unpack(blob) for blob in blobs])


def unpack_matrix3(blob: bytes) -> Matrix3:
    """What ``pack_matrix3`` or ``pack_exact_matrix3`` made."""
    if len(blob) == _SYMMETRIC3.size:
        a, b, c, e, f, i = _SYMMETRIC3.unpack(blob)
        return a, b, c, b, e, f, c, f, i
    return cast(Matrix3, (_MATRIX3 if len(blob) == _MATRIX3.size else _SMALL_MATRIX3).unpack(blob))


def pack_known_pose(pose: Pose | None) -> bytes | None:
    """A pose that may not be known."""
    return None if pose is None else pack_pose(pose)


def unpack_known_pose(blob: bytes | None) -> Pose | None:
    """What ``pack_known_pose`` made."""
    return None if blob is None else unpack_pose(blob)


def pack_vector(vector: Float32Array) -> bytes:
    """An embedding as float16."""
    return vector.astype("<f2").tobytes()


def unpack_vector(blob: bytes) -> Float32Array:
    """What ``pack_vector`` made, as float32."""
    return np.frombuffer(blob, "<f2").astype(np.float32)


def as_stored(vector: Float32Array) -> Float32Array:
    """The vector as it will be after a restart, so that nothing depends on whether there was one."""
    return vector.astype("<f2").astype(np.float32)


def text_key(model: str, text: str) -> bytes:
    """What the vector of a text is found by: 10 bytes, the same for no two texts of any memory there will be."""
    return hashlib.sha256(f"{model}\n{text}".encode()).digest()[:10]


def pack_depth(depth: Float32Array) -> bytes:
    """A coarse depth image as float16."""
    return depth.astype("<f2").tobytes()


def unpack_depth(blob: bytes, rows: int) -> Float32Array:
    """What ``pack_depth`` made, float32 [rows, cols]."""
    return np.frombuffer(blob, "<f2").astype(np.float32).reshape(rows, -1)


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def dump(value: Any) -> str:
    """Compact JSON, every script kept as it is."""
    return "[]" if value == () else _COMPACT.encode(value)


def dump_votes(votes: Sequence[tuple[str, float]], label: str) -> str:
    """Votes for labels as pairs; where all are for the entry's own label, their number alone.

    By hand, in half of ``dump``'s time: each sighting changes them.
    """
    if len(votes) == 1 and votes[0][0] == label:
        return float.__repr__(votes[0][1])
    return f"[{','.join(f'[{_COMPACT.encode(name)},{float.__repr__(weight)}]' for name, weight in votes)}]"


def load_votes(text: str, label: str) -> tuple[tuple[str, float], ...]:
    """What ``dump_votes`` wrote."""
    votes = json.loads(text)
    return tuple((name, weight) for name, weight in votes) if isinstance(votes, list) else ((label, votes),)


def load_list(text: str) -> list[Any]:
    """A list that ``dump`` wrote."""
    return list(json.loads(text)) if text != "[]" else []


def dump_attributes(attributes: Sequence[AttributeValue]) -> str:
    """The history of an entry's attributes as JSON."""
    return dump([[a.name, a.value, a.first_seen, a.last_seen, a.count] for a in attributes])


def load_attributes(text: str) -> tuple[AttributeValue, ...]:
    """What ``dump_attributes`` wrote."""
    return tuple(AttributeValue(*values) for values in load_list(text))
