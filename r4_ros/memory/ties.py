"""What participants of an episode say of entries: who somebody is, and what somebody owns.

A participant is an entry id, a name, or a statement: 'Anna is ID', 'Anna is not ID', 'Anna owns ID', 'Anna does not
own ID'. Only an utterance or an operator can state something, and a later statement takes an earlier one back. Nothing
is read out of texts, and nothing of how a person looks is kept beyond what is kept of every entry.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Episode, EpisodeSource

_STATEMENT = re.compile(r"\s*(\S.*?)\s+(is not|is|owns|does not own)\s+(\S+)\s*")
_SAYERS = (EpisodeSource.UTTERANCE, EpisodeSource.OPERATOR)


@dataclass(frozen=True, slots=True)
class Tie:
    """A name is an entry's (``owns``: its owner's); ``holds`` False: it was said not to be so."""

    name: str
    entry_id: str
    owns: bool
    holds: bool
    stamp_ns: int = 0
    episode_id: str = ""


def stated(participant: str) -> Tie | None:
    """What a participant states; None for a plain id or name."""
    match = _STATEMENT.fullmatch(participant)
    if match is None:
        return None
    return Tie(match[1], match[3], owns="own" in match[2], holds="not" not in match[2])


def check_ties(episode: Episode, known: Container[str]) -> None:
    """Raise InvalidArgument for a statement by a caption or about an entry that isn't known."""
    for participant in episode.participants:
        tie = stated(participant)
        if tie is None:
            continue
        if episode.source not in _SAYERS:
            raise InvalidArgument(f"'{participant}': only an utterance or an operator says who somebody is or owns")
        if tie.entry_id not in known:
            raise InvalidArgument(f"'{participant}': no entry has the id '{tie.entry_id}'")


@dataclass(frozen=True, slots=True)
class Told:
    """What was said of entries, as attributes 'name' and 'owner': by slot, and which slots have which (folded)."""

    of: dict[int, tuple[tuple[str, str], ...]]
    holders: dict[tuple[str, str], set[int]]


NOTHING_TOLD = Told({}, {})


class Ties:
    """All statements, and which of them hold."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str, bool], list[Tie]] = {}

    def take(self, episode: Episode) -> None:
        """Take over what an episode states."""
        for participant in episode.participants:
            tie = stated(participant)
            if tie is not None and episode.source in _SAYERS:
                made = Tie(tie.name, tie.entry_id, tie.owns, tie.holds, episode.interval.start, episode.episode_id)
                self._said.setdefault((tie.name.casefold(), tie.entry_id, tie.owns), []).append(made)

    def holding(self, now_ns: int) -> list[Tie]:
        """The statements that hold at a time, by entry and name: the last one said of each pair decides."""
        return [said[-1] for said in self.said(now_ns)]

    def said(self, now_ns: int) -> list[list[Tie]]:
        """For each statement that holds at a time, by entry and name, what was said of it until then, oldest first."""
        until = [
            sorted((t for t in said if t.stamp_ns <= now_ns), key=lambda t: t.stamp_ns) for said in self._said.values()
        ]
        held = [said for said in until if said and said[-1].holds]
        return sorted(held, key=lambda said: (said[-1].entry_id, said[-1].owns, said[-1].name))

    def told(self, slots: Mapping[str, int], now_ns: int) -> Told:
        """What holds at a time, of the entries that ids name."""
        told = Told({}, {})
        for tie in self.holding(now_ns) if self._said else ():
            slot, name = slots.get(tie.entry_id, -1), "owner" if tie.owns else "name"
            told.of[slot] = (*told.of.get(slot, ()), (name, tie.name))
            told.holders.setdefault((name, tie.name.casefold()), set()).add(slot)
        return told
