"""The life of lessons: near ones merge, what doesn't help is dropped, and there is room for so many only.

Pure functions over a bank (lessons by id); what changed is told, so that a store can write it in one transaction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from r4_ros.core.config import ExperienceConfig
from r4_ros.core.lessons import Focus, Lesson, Polarity
from r4_ros.core.model import Feedback
from r4_ros.experience.select import facet_cosine

Bank = dict[str, Lesson]
CREDIT = {Feedback.RIGHT: (1.0, 0.0), Feedback.PARTLY: (0.5, 0.5), Feedback.WRONG: (0.0, 1.0)}
PRIOR = 1.0  # helped and hurt before anything is known


@dataclass
class Change:
    """What an update did: lessons written, ids dropped, and a line for each, readable by a person."""

    written: Bank = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    audit: list[tuple[str, str, str]] = field(default_factory=list)  # lesson id, what, why

    def write(self, bank: Bank, lesson: Lesson, what: str, why: str) -> None:
        """Put a lesson into the bank."""
        bank[lesson.lesson_id] = self.written[lesson.lesson_id] = lesson
        self.audit.append((lesson.lesson_id, what, why))

    def drop(self, bank: Bank, lesson_id: str, why: str) -> None:
        """Take a lesson out of the bank."""
        del bank[lesson_id]
        self.written.pop(lesson_id, None)
        self.dropped.append(lesson_id)
        self.audit.append((lesson_id, "dropped", why))


def utility(lesson: Lesson, task_count: int, config: ExperienceConfig) -> float:
    """What a lesson is worth, 0..1: the share of uses that helped (one good and one bad before the first), halved
    for every ``half_life_tasks`` since it was last used."""
    share = (lesson.helped + PRIOR) / (lesson.helped + lesson.hurt + 2 * PRIOR)
    return float(share * math.pow(0.5, max(0, task_count - lesson.last_used) / config.half_life_tasks))


def credit(bank: Bank, lesson_ids: tuple[str, ...], feedback: Feedback, task_count: int, change: Change) -> None:
    """Count a use of lessons and how the task ended; ids that are no longer there are passed over."""
    helped, hurt = CREDIT[feedback]
    for lesson_id in lesson_ids:
        lesson = bank.get(lesson_id)
        if lesson is not None:
            used = replace(
                lesson,
                uses=lesson.uses + 1,
                helped=lesson.helped + helped,
                hurt=lesson.hurt + hurt,
                last_used=task_count,
            )
            change.write(bank, used, "used", feedback.name.lower())


def add(bank: Bank, lesson: Lesson, config: ExperienceConfig, change: Change) -> None:
    """A new lesson, merged into the nearest of its kind where there is one near enough."""
    near = _nearest(bank, lesson, config.merge_cosine)
    if near is None:
        change.write(bank, lesson, "learnt", str(lesson.correction))
    else:
        change.write(bank, merged(near, lesson), "merged", f"with another at {_cosine(near, lesson):.2f}")


def merged(kept: Lesson, other: Lesson) -> Lesson:
    """Two near lessons as one: counters are summed, what both say stays; they differ in what to avoid at most."""
    avoid = tuple(r for r in kept.correction.avoid if r in other.correction.avoid)
    return replace(
        kept,
        correction=Focus(kept.correction.prefer, avoid),
        support=kept.support + other.support,
        uses=kept.uses + other.uses,
        helped=kept.helped + other.helped,
        hurt=kept.hurt + other.hurt,
        last_used=max(kept.last_used, other.last_used),
        agents=tuple(sorted({*kept.agents, *other.agents})),
    )


def tidy(bank: Bank, task_count: int, config: ExperienceConfig, change: Change) -> None:
    """Drop what has been used enough and doesn't help, then the least useful beyond the capacity.

    A lesson younger than ``grace_tasks`` goes only where nothing older is left to go.
    """
    for lesson in sorted(bank.values(), key=lambda kept: kept.lesson_id):
        if lesson.uses >= config.min_uses and lesson.helped < lesson.hurt:
            change.drop(bank, lesson.lesson_id, f"helped {lesson.helped:g}, hurt {lesson.hurt:g}")
    for polarity, room in ((Polarity.SUCCESS, config.success_lessons), (Polarity.FAILURE, config.failure_lessons)):
        kind = [lesson for lesson in bank.values() if lesson.polarity is polarity]
        kind.sort(key=lambda k: (_in_grace(k, task_count, config), utility(k, task_count, config), k.lesson_id))
        for lesson in kind[: max(0, len(kind) - room)]:
            change.drop(bank, lesson.lesson_id, "no room")


def _in_grace(lesson: Lesson, task_count: int, config: ExperienceConfig) -> bool:
    return task_count - lesson.created < config.grace_tasks


def _nearest(bank: Bank, lesson: Lesson, least: float) -> Lesson | None:
    """The nearest lesson of the same polarity, anomaly and advice; ties go to the lower id."""
    alike = [k for k in bank.values() if _cosine(k, lesson) >= least]
    return min(alike, key=lambda k: (-_cosine(k, lesson), k.lesson_id), default=None)


def _cosine(a: Lesson, b: Lesson) -> float:
    """Of what two lessons say, as bags of closed choices; -1 where they can't be one."""
    same = a.polarity is b.polarity and a.when_to_use.anomaly is b.when_to_use.anomaly
    if not same or a.failure_mode is not b.failure_mode or a.correction.prefer != b.correction.prefer:
        return -1.0
    if a.polarity is Polarity.FAILURE and not set(a.correction.avoid) & set(b.correction.avoid):
        return -1.0
    return facet_cosine(_says(a), _says(b))


def _says(lesson: Lesson) -> list[str]:
    advice = [f"avoid:{r.value}" for r in lesson.correction.avoid]
    return [f"form:{lesson.when_to_use.form}", lesson.evidence_need.value, *lesson.when_to_use.facets, *advice]
