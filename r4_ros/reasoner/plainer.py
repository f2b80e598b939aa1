"""Turns of phrase, said more plainly before they are parsed: 'is it in the kitchen that the mug is kept?'.

People wrap a question ('would you mind confirming that ..'), split it ('is it .. that ..') or put its parts in another
order ('the mug is in which room?'). ``turns.txt`` rewrites each turn into the plain question of the same meaning, which
the rules read. A turn keeps every word that carries meaning; what matches no turn stays as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources


@lru_cache(maxsize=1)
def turns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Patterns and their plain forms, in the order in which they are tried."""
    text = resources.files("r4_ros.reasoner").joinpath("turns.txt").read_text(encoding="utf-8")
    parts: dict[str, str] = {}
    found = []
    for line in text.splitlines():
        said, arrow, plain = line.partition(" => ")
        name, equals, pattern = line.partition(" = ")
        if line.startswith("#") or not line.strip():
            continue
        if arrow:
            for part, meant in parts.items():
                said = said.replace("{" + part + "}", meant)
            found.append((re.compile(said, re.IGNORECASE), plain))
        elif equals:
            parts[name] = pattern
    return tuple(found)


def plainer(text: str) -> str:
    """The plain question of the same meaning; the text itself where no turn is known."""
    said = plain = text[:1].lower() + text[1:]
    for pattern, meant in turns():
        plain, changed = pattern.subn(meant, plain)
        plain = re.sub(r"\s+", " ", plain).strip() if changed else plain
    return text if plain == said else re.sub(r" (?=[?.,])", "", plain)
