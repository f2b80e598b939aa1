"""Every error of the suite. A caller catches what it means; a node turns it into the reply's Outcome.

R4Error
├── InvalidArgument       a value is out of its documented range
├── NotReady              not active yet, no data yet
├── DeadlineExceeded      the deadline passed
├── NotPermitted          disabled, or outside the caller's namespace
├── Unavailable           an optional library, model or device is missing
├── FrameRefused          a frame that can't be trusted (has a countable reason)
├── StoreError            disk full, read-only, locked, damaged
│   ├── StoreEmpty        there is no memory in this database yet
│   ├── StoreFull         no room on the disk
│   ├── StoreInUse        another process writes to this store
│   ├── StoreOutdated     the store holds more than this process knows of
│   └── SchemaError       the file is newer than this program, or not ours
├── WriterRefused         another live writer serves this agent
├── UnknownEntry          no such entry, agent, map or region
├── UnsupportedQuestion   the query language can't express it
├── ModelError            the language model failed or answered outside the schema
└── ExperienceError       the experience store refused the record
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import ClassVar


class OutcomeCode(IntEnum):
    """The codes of ``msg/Outcome``; the ranges there never overlap between nodes."""

    OK = 0
    INTERNAL = 1
    INVALID_ARGUMENT = 2
    NOT_READY = 3
    TIMEOUT = 4
    NOT_PERMITTED = 5
    FRAME_REFUSED = 100
    UNAVAILABLE = 101
    STORE_FAILED = 200
    WRITER_REFUSED = 201
    UNKNOWN_ENTRY = 202
    UNSUPPORTED = 300
    MODEL_FAILED = 302
    EXPERIENCE_FAILED = 400


class R4Error(Exception):
    """Base of all errors; the message is one clear sentence that says what to do."""

    code: ClassVar[OutcomeCode] = OutcomeCode.INTERNAL


class InvalidArgument(R4Error, ValueError):
    """A value is out of its documented range."""

    code = OutcomeCode.INVALID_ARGUMENT


class NotReady(R4Error):
    """Not active yet, or no data yet."""

    code = OutcomeCode.NOT_READY


class DeadlineExceeded(R4Error, TimeoutError):
    """The deadline passed."""

    code = OutcomeCode.TIMEOUT


class NotPermitted(R4Error):
    """Disabled, or outside the caller's namespace."""

    code = OutcomeCode.NOT_PERMITTED


class Unavailable(R4Error):
    """An optional library, model or device is missing."""

    code = OutcomeCode.UNAVAILABLE


class RefusalReason(str, Enum):
    """Why a frame was refused; diagnostics count by these names."""

    NO_POSE = "no_pose"
    NO_INTRINSICS = "no_intrinsics"
    NO_DEPTH = "no_depth"
    NO_LABELS = "no_labels"
    STAMP_MISMATCH = "stamp_mismatch"
    SIZE_MISMATCH = "size_mismatch"
    UNKNOWN_ENCODING = "unknown_encoding"
    TRUNCATED_DATA = "truncated_data"
    EMPTY_DEPTH = "empty_depth"
    OUT_OF_ORDER = "out_of_order"
    TOO_FAST = "too_fast"
    NOT_KEYFRAME = "not_keyframe"
    QUEUE_FULL = "queue_full"
    MODEL_FAILED = "model_failed"


class FrameRefused(R4Error):
    """A frame that can't be trusted: nothing of it is stored."""

    code = OutcomeCode.FRAME_REFUSED

    def __init__(self, reason: RefusalReason, message: str, stamp_ns: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.stamp_ns = stamp_ns  # of the frame's colour image, where it is known


class StoreError(R4Error):
    """The store can't be used: disk full, read-only, locked or damaged."""

    code = OutcomeCode.STORE_FAILED


class StoreFull(StoreError):
    """There is no room on the disk."""


class StoreInUse(StoreError):
    """Another process writes to this store."""


class StoreOutdated(StoreError):
    """The store holds more than this process knows of: open it anew."""


class StoreEmpty(StoreError):
    """There is no memory in this database yet."""


class SchemaError(StoreError):
    """The file is newer than this program, or not ours."""


class WriterRefused(R4Error):
    """Another live writer serves this agent."""

    code = OutcomeCode.WRITER_REFUSED


class UnknownEntry(R4Error, LookupError):
    """No such entry, agent, map or region."""

    code = OutcomeCode.UNKNOWN_ENTRY


class UnsupportedQuestion(R4Error):
    """The query language can't express it."""

    code = OutcomeCode.UNSUPPORTED


class ModelError(R4Error):
    """The language model failed or answered outside the schema."""

    code = OutcomeCode.MODEL_FAILED


class ExperienceError(R4Error):
    """The experience store refused the record."""

    code = OutcomeCode.EXPERIENCE_FAILED
