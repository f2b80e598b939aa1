"""Which of the times that a question mentions are the time that it asks about."""

from __future__ import annotations

from r4_ros.reasoner import asking
from r4_ros.reasoner.asking import Ask
from r4_ros.reasoner.keys import Form, TemporalKey, TemporalOp
from r4_ros.reasoner.parse import Reading
from r4_ros.reasoner.target import PERSONAL, PRONOUNS
from r4_ros.reasoner.temporal import Mention


def before_and_now(reading: Reading, ask: Ask, mentions: list[Mention], end: int) -> list[Mention]:
    """'is it tidier than it was this morning': the same thing at two times, which is a change."""
    lowers = reading.lowers
    than = lowers.index("than", ask.start, end) if "than" in lowers[ask.start : end] else -1
    itself = than >= 0 and set(lowers[than + 1 : than + 2]) & (PRONOUNS | PERSONAL)
    if ask.form is not Form.COMPARE or not itself or set(lowers[than + 2 : than + 3]).isdisjoint(asking.BE):
        return mentions
    key = TemporalKey(op=TemporalOp.CHANGE, arg=" ".join(m.key.arg for m in mentions if m.start > than))
    return [Mention(key, than, than + 1)]
