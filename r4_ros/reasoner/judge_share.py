"""Claims of some or all of several things: 'is every chair brown', 'are at least two of the mugs on the table'."""

from __future__ import annotations

from collections.abc import Sequence

from r4_ros.core.model import Evidence
from r4_ros.reasoner import wording
from r4_ros.reasoner.draft import Draft, ambiguous, answered, not_seen, noun
from r4_ros.reasoner.keys import Step
from r4_ros.reasoner.run import Found

SHOWN = 4


def is_asked(step: Step) -> bool:
    """Whether it is said of how many."""
    return bool(step.share) or (step.number > 0 and bool(step.bound))


def holds(step: Step, count: int, known: int) -> bool:
    """Whether ``count`` of ``known`` things are as many as the step says."""
    shares = {"all": count == known, "none": count == 0, "most": 2 * count > known, "half": 2 * count == known}
    return shares[step.share] if step.share else within(step, count)


def within(step: Step, count: int) -> bool:
    """Whether a count is what the step's number asks for."""
    if step.bound == "most":
        return count <= step.number
    return count == step.number if step.bound == "exact" else count >= step.number


def shared(
    found: Found, holding: Sequence[Evidence], others: Sequence[Evidence], said: str, negate: bool = False
) -> Draft:
    """Of how many of the known things it is so. ``said``: the claim in words, as ' on the table', ' red'.

    'Two of them' isn't denied by what is known, as there may be more; of 'both' two must be known.
    """
    step, every = found.plan.target, [*holding, *others]
    name = wording.plural(noun(found.plan), len(every))
    text = f"{len(holding)} of {name} that I know {wording.be('', count=len(holding))}{said}"
    if holding:
        text += f": {wording.spots(holding, SHOWN)}"
    if others:
        text += f"; not {wording.spots(others, SHOWN)}"
    if step.share and step.number and len(every) != step.number:
        return ambiguous(f"That depends on which {step.number} are meant: {text}.", every)
    yes = holds(step, len(holding), len(every))
    if not yes and step.bound == "least" and not step.share:
        return not_seen(f"Not as far as I know: {text}.", negate, every)
    return answered(f"{'Yes' if yes != negate else 'No'}: {text}.", yes != negate, every)
