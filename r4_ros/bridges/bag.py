"""rosbag2 recordings: mcap and sqlite3, compressed by file, by message or in mcap's own chunks."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from r4_ros.bridges.recording import CAMERA_INFO, CLOUD, COMPRESSED, IMAGE, ODOMETRY, POSES, Recorded, Topic, find_roles
from r4_ros.core.errors import InvalidArgument

STAMPED = (IMAGE, COMPRESSED, CLOUD, CAMERA_INFO, ODOMETRY, *POSES)  # types that begin with a header


class Bag:
    """A rosbag2 folder, or a single .mcap or .db3 file. Implements bridges.recording.Recording.

    chosen: topic names by role, where the guess by type and name wouldn't do. wanted: roles that it must have.
    Raises InvalidArgument, with the topics found, when it can't be read or a topic is missing.
    """

    def __init__(self, path: str | Path, chosen: Mapping[str, str] | None = None, wanted: Sequence[str] = ()) -> None:
        self.path = Path(path)
        if self.path.suffix == ".bag":
            raise InvalidArgument(f"{path} is a ROS 1 bag: convert it with rosbags-convert first")
        try:
            self._reader = AnyReader([self.path], default_typestore=get_typestore(Stores.ROS2_JAZZY))
            self._reader.open()
        except Exception as error:  # rosbags raises many kinds for damaged files
            raise InvalidArgument(f"{path} can't be read as a rosbag2 recording: {_first_line(error)}") from error
        self.topics = [
            Topic(name, str(info.msgtype), info.msgcount) for name, info in sorted(self._reader.topics.items())
        ]
        try:
            self._roles = find_roles(self.topics, chosen or {}, wanted, self.name)
        except InvalidArgument:
            self.close()
            raise

    def __enter__(self) -> Bag:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The file's or folder's name."""
        return self.path.name

    @property
    def roles(self) -> Mapping[str, Topic]:
        """The topic of each role."""
        return self._roles

    def messages(self, roles: Sequence[str] = ()) -> Iterator[Recorded]:
        """Messages in recorded order. Raises InvalidArgument where the file is damaged."""
        picked = {topic.name: (role, topic) for role, topic in self._roles.items() if not roles or role in roles}
        connections = [c for c in self._reader.connections if c.topic in picked]
        if not connections:
            return
        count = 0
        stream = self._reader.messages(connections=connections)
        while True:
            try:
                connection, stamp_ns, raw = next(stream)
            except StopIteration:
                return
            except Exception as error:
                message = f"{self.path} is damaged after {count} messages: {_first_line(error)}"
                raise InvalidArgument(message) from error
            count += 1
            role, topic = picked[connection.topic]
            header_ns = header_stamp(raw) if topic.type_name in STAMPED else None
            yield Recorded(int(stamp_ns), role, topic, raw, partial(self._decode, raw, topic), header_ns)

    def close(self) -> None:
        """Close the files."""
        if self._reader.stack:
            self._reader.close()

    def _decode(self, raw: bytes, topic: Topic) -> Any:
        try:
            return self._reader.deserialize(raw, topic.type_name)
        except Exception as error:
            raise InvalidArgument(f"{self.path}: a damaged message on {topic.name}: {_first_line(error)}") from error


def header_stamp(raw: bytes) -> int | None:
    """Nanoseconds of the header that a CDR message begins with; None for one too short to have it."""
    if len(raw) < 12:
        return None
    sec, nanosec = struct.unpack_from("<iI" if raw[1] & 1 else ">iI", raw, 4)
    return int(sec) * 1_000_000_000 + int(nanosec)


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
