"""The life of lessons: near ones merge, what doesn't help is dropped, and there is room for so many only.

Pure functions over a bank (lessons by id); what changed is told, so that a store can write it in one transaction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from r4_ros.core.config import ExperienceConfig
from r4_ros.core.lessons import Focus, Lesson, Polarity
from r4_ros.core.model import Feedback
from r4_ros.experience.evidence import departs
from r4_ros.experience.runs import RunReport
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


def trust(lesson: Lesson) -> float:
    """How likely it helps, 0..1: the share of runs that it helped, with one that did and one that didn't besides."""
    return (lesson.helped + PRIOR) / (lesson.helped + lesson.hurt + 2 * PRIOR)


def utility(lesson: Lesson, task_count: int, config: ExperienceConfig) -> float:
    """What a lesson is worth, 0..1: its trust, halved for every ``half_life_tasks`` since it was last used."""
    age = max(0, task_count - lesson.last_used) / config.half_life_tasks
    return float(trust(lesson) * math.pow(0.5, age))


def credit(
    bank: Bank, run: RunReport, feedback: Feedback, task_count: int, config: ExperienceConfig, change: Change, but: str
) -> None:
    """Count a run for the lessons that it bears out or contradicts, whether they were given to it or not.

    A run in a lesson's situation that ended with what the lesson prefers helped or hurt as it ended; one that ended
    with what a lesson warns of, the other way. What was given and not followed counts as a use only. ``but``: the
    lesson that the run taught, if it is new: a lesson is there because of how that run ended, so that says nothing.
    """
    for lesson in list(bank.values()):
        about = 0 if lesson.lesson_id == but else _bears_on(lesson, run)
        if not about and lesson.lesson_id not in run.lessons:
            continue
        good, bad = CREDIT[feedback][::about] if about else (0.0, 0.0)
        used = replace(
            lesson,
            uses=lesson.uses + 1,
            helped=lesson.helped + good,
            hurt=lesson.hurt + bad,
            last_used=task_count,
        )
        change.write(bank, used, "used", feedback.name.lower() if about else "not followed")


def _bears_on(lesson: Lesson, run: RunReport) -> int:
    """1: the run ended with what is preferred; -1: with what is warned of; 0: neither, or another situation."""
    if run.situation is None or lesson.when_to_use.core != run.situation.core:
        return 0
    if lesson.polarity is Polarity.SUCCESS:
        return int(bool(run.ended_with) and set(run.ended_with) == set(lesson.correction.prefer))
    return -int(bool(run.ended_with) and set(run.ended_with) == set(lesson.correction.avoid))


def add(bank: Bank, lesson: Lesson, config: ExperienceConfig, change: Change) -> str:
    """A new lesson, merged into the nearest of its kind where there is one near enough.

    One that says the contrary of a known one begins with the runs that were counted for and against that. Returns its
    id if it is new and nothing of the kind was counted before, else nothing.
    """
    near = _nearest(bank, lesson, config.merge_cosine)
    if near is not None:
        change.write(bank, merged(near, lesson), "merged", f"with another at {_cosine(near, lesson):.2f}")
        return ""
    contrary = next((k for k in bank.values() if _is_contrary(k, lesson)), None)
    if contrary is not None:
        lesson = replace(lesson, helped=lesson.helped + contrary.hurt, hurt=lesson.hurt + contrary.helped)
    change.write(bank, lesson, "learnt", str(lesson.correction))
    return lesson.lesson_id if contrary is None else ""


def keep(bank: Bank, lesson: Lesson, change: Change) -> None:
    """A new lesson beside all others; the very same one is counted."""
    known = bank.get(lesson.lesson_id)
    change.write(bank, lesson if known is None else merged(known, lesson), "learnt", str(lesson.correction))


def merged(kept: Lesson, other: Lesson) -> Lesson:
    """Two near lessons as one: counters are summed, and of the situation and of what to avoid stays what both say."""
    when = replace(kept.when_to_use, facets=tuple(f for f in kept.when_to_use.facets if f in other.when_to_use.facets))
    avoid = tuple(r for r in kept.correction.avoid if r in other.correction.avoid)
    return replace(
        kept,
        when_to_use=when,
        correction=Focus(kept.correction.prefer, avoid, kept.correction.note or other.correction.note),
        support=kept.support + other.support,
        uses=kept.uses + other.uses,
        helped=kept.helped + other.helped,
        hurt=kept.hurt + other.hurt,
        last_used=max(kept.last_used, other.last_used),
        agents=tuple(sorted({*kept.agents, *other.agents})),
    )


def tidy(bank: Bank, task_count: int, config: ExperienceConfig, change: Change) -> None:
    """Drop what has been used enough and doesn't help, what says nothing, then the least useful beyond the capacity.

    A lesson younger than ``grace_tasks`` goes only where nothing older is left to go.
    """
    for lesson in sorted(bank.values(), key=lambda kept: kept.lesson_id):
        if lesson.uses >= config.min_uses and lesson.helped < lesson.hurt:
            change.drop(bank, lesson.lesson_id, f"helped {lesson.helped:g}, hurt {lesson.hurt:g}")
    for lesson in sorted(bank.values(), key=lambda kept: kept.lesson_id):
        if not _in_grace(lesson, task_count, config) and not any(_departs(lesson, other) for other in bank.values()):
            change.drop(bank, lesson.lesson_id, "says what is done anyway")
    for polarity, room in ((Polarity.SUCCESS, config.success_lessons), (Polarity.FAILURE, config.failure_lessons)):
        kind = [lesson for lesson in bank.values() if lesson.polarity is polarity]
        kind.sort(key=lambda k: (_in_grace(k, task_count, config), utility(k, task_count, config), k.lesson_id))
        for lesson in kind[: max(0, len(kind) - room)]:
            change.drop(bank, lesson.lesson_id, "no room")


def _departs(lesson: Lesson, other: Lesson) -> bool:
    """Whether a lesson and another one of what failed, or helped, together say what a run wouldn't do by itself."""
    pair = (lesson, other) if lesson.polarity is Polarity.SUCCESS else (other, lesson)
    kinds = [k.polarity for k in pair]
    return kinds == [Polarity.SUCCESS, Polarity.FAILURE] and departs(*pair)


def _in_grace(lesson: Lesson, task_count: int, config: ExperienceConfig) -> bool:
    return task_count - lesson.created < config.grace_tasks


def _nearest(bank: Bank, lesson: Lesson, least: float) -> Lesson | None:
    """The nearest lesson of the same polarity, anomaly and advice; ties go to the lower id."""
    alike = [k for k in bank.values() if _cosine(k, lesson) >= least]
    return min(alike, key=lambda k: (-_cosine(k, lesson), k.lesson_id), default=None)


def _cosine(a: Lesson, b: Lesson) -> float:
    """Of what two lessons correct, as bags of closed choices; -1 where they can't be one, as in other situations.

    How the questions were worded, and what else they asked for, doesn't count.
    """
    same = _advises_alike(a, b) and a.when_to_use.core == b.when_to_use.core
    return facet_cosine(_says(a), _says(b)) if same else -1.0


def _advises_alike(a: Lesson, b: Lesson) -> bool:
    """Whether two lessons advise the same in the same anomaly, wherever that was."""
    same = a.polarity is b.polarity and a.when_to_use.anomaly is b.when_to_use.anomaly
    same = same and set(a.correction.prefer) == set(b.correction.prefer)
    return same and (a.polarity is Polarity.SUCCESS or set(a.correction.avoid) == set(b.correction.avoid))


def _is_contrary(a: Lesson, b: Lesson) -> bool:
    """Whether one prefers what the other warns of, in the same core situation."""
    success, failure = (a, b) if a.polarity is Polarity.SUCCESS else (b, a)
    opposed = a.polarity is not b.polarity and a.when_to_use.core == b.when_to_use.core
    return opposed and set(success.correction.prefer) == set(failure.correction.avoid)


def _says(lesson: Lesson) -> list[str]:
    advice = [r.value for r in (lesson.correction.prefer or lesson.correction.avoid)]
    return [lesson.evidence_need.value, *lesson.when_to_use.core[1], *advice]
