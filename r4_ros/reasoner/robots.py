"""Robots by the names that questions give them."""

from __future__ import annotations

from collections.abc import Sequence

OTHERS = frozenset({"otherrobot", "theotherrobot", "anotherrobot", "otherrobots", "theotherrobots"})


class UnknownAgent(Exception):
    """A robot is named that the memory has nothing of."""


class UnnamedAsker(Exception):
    """'The other robot' is asked of, and it isn't said by which one."""


def plain(name: str) -> str:
    """A robot's name as people may write it: 'Robot 2' is 'robot2'."""
    return "".join(c for c in name.casefold() if c.isalnum())


def named(asked: Sequence[str], agents: Sequence[str], asker: str) -> tuple[str, ...]:
    """Agents by their names in a question; 'the other robot' is every one but the asker.

    Raises UnknownAgent and UnnamedAsker.
    """
    if any(plain(name) in OTHERS for name in asked):
        if not asker:
            raise UnnamedAsker
        asked = [agent for agent in agents if agent != asker] or asked
    known = {plain(agent): agent for agent in agents}
    unknown = [name for name in asked if plain(name) not in known]
    if unknown:
        raise UnknownAgent(unknown[0])
    return tuple(known[plain(name)] for name in asked)
