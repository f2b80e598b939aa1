"""Ways to go on where nothing is found, and controls for them: who advises, and what is told of the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from r4_ros.core.lessons import Advice, Situation
from r4_ros.core.ports import Advisor
from r4_ros.experience.learner import Learner
from r4_ros.experience.select import MOST, focus_of

FLIPPED = 0.2


@dataclass(frozen=True)
class Mode:
    """experience: of ``ReasonerConfig``. life_cycle: None where nothing is learnt. feedback: true, shuffled, noisy."""

    experience: str
    life_cycle: bool | None = None
    feedback: str = "true"
    random: bool = False
    shift: bool = False
    tuned: bool = False


MODES = {
    "none": Mode("off"),
    "reflection": Mode("reflection"),
    "experience": Mode("lessons", life_cycle=False),
    "lifecycle": Mode("lessons", life_cycle=True),
    "static": Mode("off", tuned=True),
    "random": Mode("lessons", life_cycle=True, random=True),
    "shuffled": Mode("lessons", life_cycle=True, feedback="shuffled"),
    "noisy": Mode("lessons", life_cycle=True, feedback="noisy"),
    "shift": Mode("lessons", life_cycle=True, shift=True),
    "shift_reflection": Mode("reflection", shift=True),
}


class RandomAdvisor:
    """Gives lessons of a learner by lot, whatever the situation."""

    def __init__(self, learner: Learner, rng: np.random.Generator) -> None:
        self._learner, self._rng = learner, rng

    def advise(self, situation: Situation) -> Advice:
        """At most two lessons, drawn."""
        lessons = sorted(self._learner.lessons.values(), key=lambda k: k.lesson_id)
        drawn = [lessons[int(k)] for k in self._rng.permutation(len(lessons))[:MOST]]
        return Advice(focus_of(drawn), tuple(lesson.lesson_id for lesson in drawn))


def advisor_of(mode: Mode, learner: Learner | None, seed: int) -> Advisor | None:
    """Who advises in a mode."""
    if learner is None:
        return None
    return RandomAdvisor(learner, np.random.default_rng([seed, 51])) if mode.random else learner


def told(mode: Mode, outcomes: Sequence[bool], rng: np.random.Generator) -> list[bool]:
    """What is said of a batch's outcomes."""
    if mode.feedback == "shuffled":
        return [outcomes[int(k)] for k in rng.permutation(len(outcomes))]
    if mode.feedback == "noisy":
        return [right != (float(rng.random()) < FLIPPED) for right in outcomes]
    return list(outcomes)
