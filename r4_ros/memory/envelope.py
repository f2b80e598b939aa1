"""A batch on its way from a robot to the map server: a short head to be read by itself, and compressed records."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import asdict, dataclass

from r4_ros.core.errors import InvalidArgument

HEAD_BYTES = 4096
"""The most that a head takes, with its length."""
RECORD_BYTES = 64 << 20
"""Larger than this no batch unpacks."""
RECORDS = 1000
"""A batch has no more than these, without vectors."""
_LEVEL = 3
_LENGTH = struct.Struct("<I")
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Told:
    """How far a memory was told: numbers of its last frame, move of anchors, correction, late frame, episode, map.

    ``mark``: which frame that number was, so that another history under the same numbers is noticed.
    """

    frame: int = 0
    shift: int = 0
    correction: int = 0
    late: int = 0
    episode: int = 0
    mark: str = ""
    alignment: int = 0

    def to_text(self) -> str:
        """As it is kept."""
        return json.dumps(asdict(self))

    @staticmethod
    def of_text(text: str) -> Told:
        """What ``to_text`` made a text of; of an empty one nothing. Raises ValueError, TypeError."""
        return Told(**json.loads(text)) if text else Told()


@dataclass(frozen=True, slots=True)
class Head:
    """From which state of the robot's memory a batch leads to which, and how its clock runs.

    ``again``: told anew from the beginning, whatever was told before. ``offset_ns``: what to add to the robot's clock
    for the server's, measured with a round trip of ``round_ns``. ``live``: its stamps run on that clock.
    """

    after: Told
    told: Told
    again: bool = False
    live: bool = False
    offset_ns: int = 0
    round_ns: int = 0


def pack(head: Head, lines: tuple[str, ...]) -> bytes:
    """The content of a row of the inbox."""
    text = json.dumps({"version": _VERSION, **asdict(head)}).encode()
    return _LENGTH.pack(len(text)) + text + zlib.compress("\n".join(lines).encode(), _LEVEL)


def head_of(content: bytes) -> tuple[Head, int]:
    """The head, and where the records begin; of the first ``HEAD_BYTES`` at least. Raises InvalidArgument."""
    try:
        (length,) = _LENGTH.unpack_from(content)
        values = json.loads(content[_LENGTH.size : _LENGTH.size + length])
        if length > HEAD_BYTES - _LENGTH.size or values.pop("version") != _VERSION:
            raise ValueError("another version's")
        after, told = Told(**values.pop("after")), Told(**values.pop("told"))
        return Head(after, told, **values), _LENGTH.size + length
    except (struct.error, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidArgument(f"no batch of this program's: {error}") from error


def unpack(content: bytes) -> tuple[Head, list[str]]:
    """What ``pack`` made. Raises InvalidArgument for what it can't have made, and for what unpacks to too much."""
    head, begin = head_of(content)
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(content[begin:], RECORD_BYTES)
        if unpacking.unconsumed_tail or not unpacking.eof:
            raise InvalidArgument(f"a batch of more than {RECORD_BYTES >> 20} MB, or cut off")
        return head, text.decode().split("\n") if text else []
    except (zlib.error, UnicodeDecodeError) as error:
        raise InvalidArgument(f"a batch that can't be unpacked: {error}") from error
