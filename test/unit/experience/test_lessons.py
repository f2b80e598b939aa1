"""What runs teach: reflection by rules, selection, the life of a bank, and learning once, all or nothing."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.config import ExperienceConfig, MemoryConfig
from r4_ros.core.errors import InvalidArgument, StoreError
from r4_ros.core.guard import strangers
from r4_ros.core.lessons import FACETS, FORMS, Anomaly, FailureMode, Focus, Key, Lesson, Polarity, Relax, Situation
from r4_ros.core.model import Feedback, FeedbackRecord, Question, TaskRecord, TraceStep, Verdict
from r4_ros.core.ports import LessonStore
from r4_ros.experience import bank
from r4_ros.experience.evidence import departs, surpasses
from r4_ros.experience.learner import Learner
from r4_ros.experience.reflect import lesson_of
from r4_ros.experience.runs import Attempt, report
from r4_ros.experience.select import focus_of, select
from r4_ros.memory.library import open_library
from r4_ros.memory.migrations import APPLICATION_ID as MEMORY_ID
from r4_ros.memory.migrations import MIGRATIONS as MEMORY_MIGRATIONS
from r4_ros.memory.sql_experience import SqlTaskStore
from r4_ros.memory.sql_lessons import SqlLessonStore, lesson_from_dict, lesson_to_dict
from r4_ros.memory.sqlite_experience import SqliteTaskStore
from r4_ros.memory.sqlite_file import open_sqlite

ROOT = Path(__file__).resolve().parents[3]
CONFIG = ExperienceConfig()
BUSY = settings(deadline=None)  # on a machine that has much to do
CUP = Situation("locate", ("semantic:kind", "spatial:on", "emptied_by:semantic"))

situations = st.builds(
    Situation,
    st.sampled_from(sorted(FORMS)),
    st.lists(st.sampled_from(sorted(FACETS)), max_size=6, unique=True).map(tuple),
    st.sampled_from(Anomaly),
)
relaxes = st.lists(st.sampled_from(Relax), max_size=4, unique=True).map(tuple)
lessons = st.builds(
    Lesson,
    st.uuids().map(lambda u: u.hex[:16]),
    st.sampled_from(Polarity),
    situations,
    st.sampled_from(Key),
    st.sampled_from(FailureMode),
    st.builds(Focus, relaxes, relaxes),
    st.integers(1, 50),
    st.integers(0, 50),
    st.integers(0, 100).map(lambda n: n / 2),
    st.integers(0, 100).map(lambda n: n / 2),
    st.integers(0, 500),
    st.integers(0, 500),
    st.lists(st.sampled_from(["a", "b", "c"]), unique=True).map(lambda a: tuple(sorted(a))),
)


def steps(
    *tried: tuple[Relax, int], situation: Situation = CUP, used: str = "", stopped: bool = False
) -> tuple[TraceStep, ...]:
    trace = [TraceStep(1, "plan", "locate the cup on the table"), TraceStep(1, "reflect", str(situation))]
    if used:
        trace.append(TraceStep(1, "experience", f"{used}: try kind first"))
    trace += [TraceStep(i + 2, "tried", relax.value, found) for i, (relax, found) in enumerate(tried)]
    trace += [TraceStep(9, "stop", "5 rounds")] * stopped
    trace += [TraceStep(9, "told", relax.value) for relax, found in tried[-1:] if found]
    return (*trace, TraceStep(9, "answer", "ANSWERED: ..."))


def task(task_id: str, trace: tuple[TraceStep, ...]) -> TaskRecord:
    question = Question("Where did Anna leave the Ming vase in 1987?")
    return TaskRecord(task_id, "robot", 5, question, "locate", Verdict.ANSWERED, "In the den.", trace=trace)


def finish(tasks: SqlTaskStore, task_id: str, trace: tuple[TraceStep, ...], feedback: Feedback) -> None:
    tasks.add_task(task(task_id, trace))
    tasks.add_feedback(FeedbackRecord(task_id, feedback, 6))


@given(situations)
def test_a_situation_is_read_as_it_was_written(situation: Situation) -> None:
    assert Situation.parse(str(situation)) == situation


@given(st.text(max_size=60))
def test_no_other_text_is_a_situation(text: str) -> None:
    with pytest.raises(InvalidArgument):
        Situation.parse(f"empty; locate; {text.strip() or 'x'}!")


def test_a_trace_is_read() -> None:
    read = report(steps((Relax.KIND, 0), (Relax.TIME, 2), used="abc def"))
    assert read.situation == CUP
    assert read.attempts == (Attempt((Relax.KIND,), 0), Attempt((Relax.TIME,), 2))
    assert read.told == (Relax.TIME,)
    assert read.lessons == ("abc", "def")
    assert report((TraceStep(1, "reflect", "??"), TraceStep(2, "tried", "magic", 1))) == report(())


def test_what_found_the_evidence_of_a_right_answer_is_learnt() -> None:
    lesson = lesson_of(report(steps((Relax.KIND, 0), (Relax.TIME, 2))), Feedback.RIGHT, "robot", 7)
    assert lesson is not None
    assert (lesson.polarity, lesson.evidence_need) == (Polarity.SUCCESS, Key.TEMPORAL)
    assert lesson.correction == Focus((Relax.TIME,), (Relax.KIND,))
    assert (lesson.uses, lesson.helped) == (0, 0.0), "it is there because of how that run ended, so that says nothing"
    assert lesson.agents == ("robot",)


def test_what_misled_and_what_was_in_vain_is_learnt() -> None:
    misled = lesson_of(report(steps((Relax.ATTRIBUTE, 3))), Feedback.WRONG, "", 0)
    assert misled is not None
    assert (misled.failure_mode, misled.correction.avoid) == (FailureMode.MISLED, (Relax.ATTRIBUTE,))
    vain = lesson_of(report(steps((Relax.KIND, 0), (Relax.PLACE, 0), stopped=True)), Feedback.WRONG, "", 0)
    assert vain is not None
    assert (vain.failure_mode, vain.correction.avoid) == (FailureMode.EXHAUSTED, (Relax.PLACE,))


@pytest.mark.parametrize(
    ("trace", "feedback"),
    [
        ((), Feedback.WRONG),
        (steps(), Feedback.RIGHT),
        (steps((Relax.KIND, 1)), Feedback.PARTLY),
        (steps((Relax.KIND, 0)), Feedback.RIGHT),
        (steps((Relax.KIND, 1)), Feedback.RIGHT),  # what is done anyway
        (steps((Relax.KIND, 0)), Feedback.WRONG),
    ],
)
def test_some_runs_teach_nothing(trace: tuple[TraceStep, ...], feedback: Feedback) -> None:
    assert lesson_of(report(trace), feedback, "", 0) is None


@BUSY
@given(st.lists(lessons, max_size=12, unique_by=lambda k: k.lesson_id), situations, st.integers(0, 600), st.booleans())
def test_at_most_two_lessons_and_one_consistent_focus(
    kept: list[Lesson], situation: Situation, now: int, proven: bool
) -> None:
    worth = {k.lesson_id: bank.utility(k, now, CONFIG) for k in kept}
    assert all(0.0 <= w <= 1.0 for w in worth.values())
    chosen = select(kept, situation, worth, proven)
    assert len(chosen) <= 2
    assert [k.polarity for k in chosen] in ([], [Polarity.SUCCESS], [Polarity.SUCCESS, Polarity.FAILURE])
    assert len(chosen) != 1 or not proven, "nothing is known to be better than nothing"
    assert chosen == select(list(reversed(kept)), situation, worth, proven)
    focus = focus_of(chosen)
    assert not focus.prefer or set(focus.prefer) != set(focus.avoid)


def pair(helped: tuple[float, float] = (9.0, 1.0), failed: tuple[float, float] = (9.0, 1.0)) -> tuple[Lesson, Lesson]:
    """Drop the place, not the kind, where a run by itself does it the other way round; each (helped, hurt)."""
    success = Lesson(
        "a", Polarity.SUCCESS, CUP, Key.SPATIAL, FailureMode.NONE, Focus((Relax.PLACE,)), 1, 9, helped[0], helped[1]
    )
    focus = Focus((), (Relax.KIND,))
    return success, Lesson(
        "b", Polarity.FAILURE, CUP, Key.SEMANTIC, FailureMode.MISLED, focus, 1, 9, failed[0], failed[1]
    )


def worth_of(*kept: Lesson) -> dict[str, float]:
    return {k.lesson_id: bank.utility(k, 0, CONFIG) for k in kept}


@pytest.mark.parametrize(
    ("helped", "failed", "told"),
    [
        ((9.0, 1.0), (9.0, 1.0), True),  # 9 of 10 right against 1 of 10
        ((1.0, 0.0), (1.0, 0.0), False),  # once isn't known
        ((3.0, 3.0), (30.0, 2.0), True),  # seldom right is better than hardly ever
        ((9.0, 1.0), (1.0, 9.0), False),  # what is warned of does as well
        ((5.0, 5.0), (5.0, 5.0), False),
    ],
)
def test_only_what_surely_does_better_is_told(
    helped: tuple[float, float], failed: tuple[float, float], told: bool
) -> None:
    kept = pair(helped, failed)
    assert select(kept, CUP, worth_of(*kept)) == (kept if told else ())
    assert select(kept[:1], CUP, worth_of(*kept)) == ()
    elsewhere = replace(CUP, facets=("semantic:kind", "spatial:on", "emptied_by:spatial"))
    assert select(kept, elsewhere, worth_of(*kept)) == ()


@given(*[st.tuples(st.integers(0, 60), st.integers(0, 60))] * 2)
def test_one_of_two_does_better_and_more_runs_make_it_surer(a: tuple[int, int], b: tuple[int, int]) -> None:
    assert surpasses(a, b) + surpasses(b, a) == pytest.approx(1.0, abs=1e-6)
    more = (a[0] + 1, a[1])
    assert surpasses(more, b) >= surpasses(a, b) - 1e-9


def test_the_probability_is_the_exact_one() -> None:
    """Of whole counts there is a sum: of Beta(a, b) against Beta(1, 1), it is the mean of the first."""
    for right, wrong in ((0, 0), (3, 1), (1, 9), (40, 2)):
        assert surpasses((right, wrong), (0, 0)) == pytest.approx((right + 1) / (right + wrong + 2), abs=1e-3)
    assert surpasses((1, 0), (0, 1)) == pytest.approx(5 / 6, abs=1e-3)


def test_what_is_done_anyway_says_nothing() -> None:
    success, failure = pair()
    assert departs(success, failure)
    swapped = replace(success, correction=Focus((Relax.KIND,))), replace(failure, correction=Focus((), (Relax.PLACE,)))
    assert not departs(*swapped), "a run loosens the key that left nothing over first"
    assert not departs(success, replace(failure, when_to_use=replace(CUP, anomaly=Anomaly.STALLED)))
    assert not departs(success, replace(failure, correction=Focus((), (Relax.PLACE,))))
    kept = {k.lesson_id: k for k in (success, failure)}
    bank.tidy(kept, 100, CONFIG, bank.Change())
    assert set(kept) == {"a", "b"}
    for alone in (success, failure):
        kept, change = {alone.lesson_id: alone}, bank.Change()
        bank.tidy(kept, CONFIG.grace_tasks - 1, CONFIG, change)
        assert kept, "what is new may yet find its counterpart"
        bank.tidy(kept, CONFIG.grace_tasks, CONFIG, change)
        assert not kept and change.audit == [(alone.lesson_id, "dropped", "says what is done anyway")]


@BUSY
@given(st.lists(lessons.filter(lambda k: k.polarity is Polarity.FAILURE), max_size=10), situations, st.booleans())
def test_what_failed_is_never_told_alone(kept: list[Lesson], situation: Situation, proven: bool) -> None:
    assert select(kept, situation, {k.lesson_id: 1.0 for k in kept}, proven) == ()


def test_a_failure_must_fit_closer_than_a_success() -> None:
    near = Situation("count", ("semantic:kind", "spatial:in", "past"))
    success, failure = pair()
    worth = {"a": 0.5, "b": 0.9}
    assert select([success, failure], near, worth, proven=False) == (success,)
    assert select([success, failure], CUP, worth, proven=False) == (success, failure)


@settings(max_examples=60)
@given(st.lists(lessons, max_size=40), st.integers(0, 600))
def test_a_bank_stays_within_its_room_and_says_what_it_did(new: list[Lesson], now: int) -> None:
    config = ExperienceConfig(success_lessons=5, failure_lessons=3)
    kept: bank.Bank = {}
    change = bank.Change()
    support = 0
    for lesson in new:
        if lesson.lesson_id not in kept:
            bank.add(kept, lesson, config, change)
            support += lesson.support
    assert sum(k.support for k in kept.values()) == support
    bank.tidy(kept, now, config, change)
    for polarity, room in ((Polarity.SUCCESS, 5), (Polarity.FAILURE, 3)):
        assert sum(k.polarity is polarity for k in kept.values()) <= room
    assert not any(k.uses >= config.min_uses and k.helped < k.hurt for k in kept.values())
    assert set(change.written) == set(kept)
    assert {i for i, what, _ in change.audit if what == "dropped"} == set(change.dropped)


def test_near_lessons_merge_and_sum_their_counters() -> None:
    kept: bank.Bank = {}
    first = Lesson(
        "a", Polarity.SUCCESS, CUP, Key.SEMANTIC, FailureMode.NONE, Focus((Relax.KIND,)), 2, 4, 3.0, 1.0, agents=("x",)
    )
    other = replace(first, lesson_id="b", agents=("y",))
    for lesson in (first, other):
        bank.add(kept, lesson, CONFIG, bank.Change())
    assert list(kept) == ["a"]
    assert (kept["a"].support, kept["a"].uses, kept["a"].helped, kept["a"].hurt) == (4, 8, 6.0, 2.0)
    assert kept["a"].agents == ("x", "y")
    bank.add(kept, replace(first, lesson_id="c", correction=Focus((Relax.TIME,))), CONFIG, bank.Change())
    assert set(kept) == {"a", "c"}


def test_lessons_merge_however_the_questions_were_worded_and_keep_what_they_share() -> None:
    first = Lesson("a", Polarity.SUCCESS, CUP, Key.SEMANTIC, FailureMode.NONE, Focus((Relax.KIND,), (Relax.PLACE,)))
    worded = Situation("exists", ("semantic:kind", "spatial:in", "past", "emptied_by:semantic"))
    others = [
        replace(first, lesson_id="b", when_to_use=worded, correction=Focus((Relax.KIND,))),
        replace(first, lesson_id="c", when_to_use=replace(CUP, facets=("semantic:kind", "emptied_by:spatial"))),
        replace(first, lesson_id="d", when_to_use=replace(CUP, facets=(*CUP.facets, "semantic:standing"))),
        replace(first, lesson_id="e", when_to_use=replace(CUP, anomaly=Anomaly.STALLED)),
    ]
    kept: bank.Bank = {}
    for lesson in (first, *others):
        bank.add(kept, lesson, CONFIG, bank.Change())
    assert set(kept) == {"a", "c", "d", "e"}
    assert kept["a"].when_to_use.facets == ("semantic:kind", "emptied_by:semantic")
    assert (kept["a"].support, kept["a"].correction) == (2, Focus((Relax.KIND,)))


def test_a_lesson_begins_with_what_is_known_of_its_contrary() -> None:
    failure = Lesson(
        "a", Polarity.FAILURE, CUP, Key.SEMANTIC, FailureMode.MISLED, Focus((), (Relax.KIND,)), helped=9.0, hurt=2.0
    )
    success = replace(
        failure,
        lesson_id="b",
        polarity=Polarity.SUCCESS,
        failure_mode=FailureMode.NONE,
        correction=Focus((Relax.KIND,)),
        helped=1.0,
        hurt=0.0,
    )
    kept = {"a": failure}
    bank.add(kept, success, CONFIG, bank.Change())
    assert (kept["b"].helped, kept["b"].hurt) == (3.0, 9.0)


def test_what_hurts_goes_and_what_is_new_stays() -> None:
    success, failure = pair()
    hurting = replace(success, uses=5, helped=2.0, hurt=3.0)
    helping = replace(hurting, lesson_id="c", helped=3.0, hurt=2.0)
    kept = {k.lesson_id: k for k in (hurting, helping, failure)}
    bank.tidy(kept, 10, CONFIG, bank.Change())
    assert set(kept) == {"b", "c"}
    old = replace(helping, lesson_id="old", helped=5.0, hurt=0.0, created=0, last_used=100)
    new = replace(helping, lesson_id="new", uses=0, helped=0.0, hurt=0.0, created=99, last_used=99)
    kept = {k.lesson_id: k for k in (old, new, failure)}
    bank.tidy(kept, 100, replace(CONFIG, success_lessons=1), bank.Change())
    assert set(kept) == {"new", "b"}


def teach(tasks: SqlTaskStore, good: int, bad: int, name: str = "") -> None:
    """Runs that ended right once the place was dropped, since dropping the kind found nothing, or wrong by the kind."""
    for n in range(good):
        finish(tasks, f"{name} right {n}", steps((Relax.KIND, 0), (Relax.PLACE, 1)), Feedback.RIGHT)
    for n in range(bad):
        finish(tasks, f"{name} wrong {n}", steps((Relax.KIND, 1)), Feedback.WRONG)


def test_a_lesson_helps_later_tasks_only_and_is_credited(tasks: SqlTaskStore) -> None:
    store = SqlLessonStore(tasks)
    learner = Learner(store, CONFIG)
    teach(tasks, 1, 1)
    assert learner.learn() == 2
    assert learner.advise(CUP).lesson_ids == (), "seen once isn't known"
    teach(tasks, 4, 4, "more")
    assert learner.advise(CUP).lesson_ids == ()
    assert learner.learn() == 8
    advice = learner.advise(CUP)
    assert advice.focus == Focus((Relax.PLACE,), (Relax.KIND,))
    finish(tasks, "two", steps((Relax.KIND, 1), (Relax.PLACE, 1), used=advice.lesson_ids[0]), Feedback.WRONG)
    assert learner.learn() == 1
    again = Learner(SqlLessonStore(tasks), CONFIG)
    kept = store.lessons()[advice.lesson_ids[0]]
    assert (kept.support, kept.uses, kept.helped, kept.hurt) == (5, 5, 4.0, 1.0)
    assert again.advise(CUP) == learner.advise(CUP)
    assert store.audit()


def test_a_run_counts_for_what_it_bears_out_and_against_what_it_contradicts(tasks: SqlTaskStore) -> None:
    """Whether the lesson was given to it or not; what was given and not followed counts as a use only."""
    store = SqlLessonStore(tasks)
    learner = Learner(store, CONFIG)
    told = steps((Relax.KIND, 0), (Relax.TIME, 1))
    finish(tasks, "right", told, Feedback.RIGHT)
    finish(tasks, "wrong", told, Feedback.WRONG)
    learner.learn()

    def of(polarity: Polarity) -> Lesson:
        return next(k for k in store.lessons().values() if k.polarity is polarity)

    assert (of(Polarity.SUCCESS).helped, of(Polarity.SUCCESS).hurt) == (0.0, 1.0)
    assert (of(Polarity.FAILURE).helped, of(Polarity.FAILURE).hurt) == (1.0, 0.0)
    finish(tasks, "again", told, Feedback.RIGHT)
    other = steps((Relax.KIND, 0), (Relax.PLACE, 1), used=of(Polarity.SUCCESS).lesson_id)
    finish(tasks, "other", other, Feedback.PARTLY)
    learner.learn()
    assert (of(Polarity.SUCCESS).uses, of(Polarity.SUCCESS).helped, of(Polarity.SUCCESS).hurt) == (3, 1.0, 1.0)
    assert (of(Polarity.FAILURE).helped, of(Polarity.FAILURE).hurt) == (1.0, 1.0)


def share_right(tasks: SqlTaskStore, seed: int, kind: float, place: float, feedback: str) -> tuple[float, int]:
    """A stream of runs that drop the kind first, and the place where that finds nothing (3 of 10) or is warned of.

    kind, place: how often what these find is right. Returns the share of the last half that ended right, and how many
    runs of it departed.
    """
    rng = np.random.default_rng(seed)
    learner = Learner(SqlLessonStore(tasks), CONFIG)
    right: list[bool] = []
    departed = 0
    for start in range(0, 512, 64):
        batch: list[tuple[str, bool]] = []
        for n in range(start, start + 64):
            advice = learner.advise(CUP)
            warned = advice.focus == Focus((Relax.PLACE,), (Relax.KIND,))
            found = bool(rng.random() < 0.7)
            tried = [(Relax.KIND, int(found))] + [(Relax.PLACE, 1)] * (warned or not found)
            good = bool(rng.random() < (kind if len(tried) == 1 else place))
            tasks.add_task(task(str(n), steps(*tried, used=" ".join(advice.lesson_ids))))
            batch.append((str(n), good))
            departed += warned and found and n >= 256
        said = [good for _, good in batch]
        said = [said[int(k)] for k in rng.permutation(64)] if feedback == "shuffled" else said
        said = [good != (feedback == "noisy" and rng.random() < 0.2) for good in said]
        for (name, _), good in zip(batch, said, strict=True):
            tasks.add_feedback(FeedbackRecord(name, Feedback.RIGHT if good else Feedback.WRONG, 6))
        while learner.learn():
            pass
        right += [good for _, good in batch]
    return float(np.mean(right[256:])), departed


@pytest.mark.parametrize("feedback", ["true", "noisy"])
def test_lessons_help_where_something_else_does_better(path: Path, tasks: SqlTaskStore, feedback: str) -> None:
    """Runs alone would end right in 0.7 x 0.2 + 0.3 x 0.6 = 32 %; told to drop the place, in 60 %."""
    share, departed = share_right(tasks, 1, kind=0.2, place=0.6, feedback=feedback)
    assert share > 0.5 and departed > 150


@pytest.mark.parametrize(
    ("kind", "place", "feedback"), [(0.5, 0.5, "true"), (0.6, 0.4, "noisy"), (0.6, 0.3, "shuffled")]
)
def test_runs_seldom_depart_where_nothing_does_better(tmp_path: Path, kind: float, place: float, feedback: str) -> None:
    departures = []
    for seed in range(4):
        store = SqliteTaskStore(tmp_path / f"{seed}.db")
        departures.append(share_right(store, seed, kind, place, feedback)[1])
        store.close()
    assert sum(n > 0 for n in departures) <= 1, departures


def test_what_found_nothing_once_and_was_right_later_is_contradicted(tasks: SqlTaskStore) -> None:
    store = SqlLessonStore(tasks)
    learner = Learner(store, CONFIG)
    finish(tasks, "empty", steps((Relax.TIME, 0), (Relax.PLACE, 0), stopped=True), Feedback.WRONG)
    finish(tasks, "right", steps((Relax.TIME, 0), (Relax.PLACE, 1)), Feedback.RIGHT)
    learner.learn()
    failure = next(k for k in store.lessons().values() if k.polarity is Polarity.FAILURE)
    assert (failure.failure_mode, failure.helped, failure.hurt) == (FailureMode.EXHAUSTED, 0.0, 1.0)


def test_without_a_life_cycle_every_lesson_stays_as_it_was(tasks: SqlTaskStore) -> None:
    learner = Learner(SqlLessonStore(tasks), CONFIG, life_cycle=False)
    near = replace(CUP, facets=(*CUP.facets, "past"))
    for n, (situation, feedback) in enumerate([(CUP, Feedback.RIGHT), (near, Feedback.RIGHT), (CUP, Feedback.WRONG)]):
        finish(tasks, f"task {n}", steps((Relax.KIND, 0), (Relax.TIME, 1), situation=situation), feedback)
    learner.learn()
    assert learner.size == 3 and {(k.uses, k.helped, k.hurt) for k in learner.lessons.values()} == {(0, 0.0, 0.0)}
    assert learner.advise(CUP).lesson_ids


def test_nothing_is_learnt_twice(tasks: SqlTaskStore) -> None:
    store = SqlLessonStore(tasks)
    finish(tasks, "one", steps((Relax.TIME, 1)), Feedback.RIGHT)
    first, second = Learner(store, CONFIG), Learner(store, CONFIG)
    assert (first.learn(), first.learn(), second.learn()) == (1, 0, 0)
    before = store.lessons()
    with pytest.raises(StoreError):
        store.update(["one"], {}, list(before), [])
    assert store.lessons() == before
    tasks.add_feedback(FeedbackRecord("one", Feedback.WRONG, 9))
    assert first.learn() == 0


def test_an_update_that_fails_leaves_everything_as_it_was(tasks: SqlTaskStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqlLessonStore(tasks)
    learner = Learner(store, CONFIG)
    finish(tasks, "one", steps((Relax.TIME, 1)), Feedback.RIGHT)
    with monkeypatch.context() as patched:
        patched.setattr(bank, "tidy", lambda kept, count, config, change: change.audit.append((None, None, None)))
        with pytest.raises(StoreError):
            learner.learn()
    assert (learner.size, store.lessons(), store.task_count()) == (0, {}, 0)
    assert learner.learn() == 1


KILLED = """
import os, signal, sys
from r4_ros.core.config import ExperienceConfig, MemoryConfig
from r4_ros.experience.learner import Learner
from r4_ros.memory.library import open_library
from r4_ros.memory.migrations import APPLICATION_ID as MEMORY_ID
from r4_ros.memory.migrations import MIGRATIONS as MEMORY_MIGRATIONS
from r4_ros.memory.sqlite_experience import SqliteTaskStore
from r4_ros.memory.sqlite_file import open_sqlite
from r4_ros.memory.sql_lessons import SqlLessonStore
tasks = SqliteTaskStore(sys.argv[1])
store = SqlLessonStore(tasks)
if sys.argv[2] == "before":
    store.update = lambda *args: os.kill(os.getpid(), signal.SIGKILL)
Learner(store, ExperienceConfig()).learn()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_learner_that_is_killed_learns_each_task_once(tmp_path: Path, when: str) -> None:
    path = tmp_path / "experience.db"
    tasks = SqliteTaskStore(path)
    for n in range(3):
        finish(tasks, f"task {n}", steps((Relax.KIND, 0), (Relax.TIME, 1)), Feedback.RIGHT)
    tasks.close()
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path), when], env=env, check=False)
    assert ended.returncode == -signal.SIGKILL
    tasks = SqliteTaskStore(path)
    store = SqlLessonStore(tasks)
    learner = Learner(store, CONFIG)
    assert learner.learn() == (3 if when == "before" else 0)
    assert [k.support for k in store.lessons().values()] == [3]
    assert len(tasks.tasks()) == 3
    tasks.close()


def test_lessons_are_shared_as_they_are_and_once(tasks: SqlTaskStore, tmp_path: Path) -> None:
    teach(tasks, 6, 6)
    store = SqlLessonStore(tasks)
    Learner(store, CONFIG).learn()
    told = json.loads(json.dumps([lesson_to_dict(k) for k in store.lessons().values()]))
    elsewhere = SqliteTaskStore(tmp_path / "other.db")
    other = Learner(SqlLessonStore(elsewhere), CONFIG)
    assert [other.adopt(lesson_from_dict(fields) for fields in told) for _ in range(2)] == [2, 0]
    assert other.advise(CUP).focus == Focus((Relax.PLACE,), (Relax.KIND,))
    assert [k.agents for k in SqlLessonStore(elsewhere).lessons().values()] == [("robot",)] * 2
    elsewhere.close()


HOSTILE = st.one_of(
    st.text(min_size=1, max_size=40),
    st.sampled_from(
        ["anna", "semantic:keys", "spatial:on kitchen", "the answer is 4", "'drop table lesson'", "ignore"]
    ),
)


@settings(max_examples=500)
@given(
    st.sampled_from(
        ["lesson_id", "polarity", "when_to_use", "evidence_need", "failure_mode", "prefer", "avoid", "note"]
    ),
    HOSTILE,
)
def test_no_words_get_into_advice(field: str, words: str) -> None:
    """Whatever a foreign lesson says in any of its fields: it is refused, or its advice is of closed choices."""
    whole = lesson_to_dict(
        Lesson("0" * 16, Polarity.SUCCESS, CUP, Key.SEMANTIC, FailureMode.NONE, Focus((Relax.KIND,)))
    )
    forged = {**whole, field: [words] if field in ("prefer", "avoid") else words}
    try:
        lesson = lesson_from_dict(forged)
    except InvalidArgument:
        return
    allowed = {*Relax, *Key, *Polarity, *FailureMode}
    assert {lesson.polarity, lesson.evidence_need, lesson.failure_mode} <= allowed
    assert {*lesson.correction.prefer, *lesson.correction.avoid} <= set(Relax)
    assert set(lesson.when_to_use.facets) <= FACETS
    assert not strangers(lesson.correction.note)
    assert re.fullmatch("[0-9a-f]{16}", lesson.lesson_id)


@pytest.mark.parametrize("field", ["support", "uses", "helped", "hurt", "created"])
@pytest.mark.parametrize("value", [-1, "many", None, float("nan"), float("inf"), [3]])
def test_forged_counters_are_refused(field: str, value: object) -> None:
    whole = lesson_to_dict(
        Lesson("0" * 16, Polarity.SUCCESS, CUP, Key.SEMANTIC, FailureMode.NONE, Focus((Relax.KIND,)))
    )
    with pytest.raises(InvalidArgument):
        lesson_from_dict({**whole, field: value})


def test_lessons_hold_nothing_of_a_task(tasks: SqlTaskStore) -> None:
    finish(tasks, "one", steps((Relax.KIND, 0), (Relax.TIME, 1)), Feedback.RIGHT)
    store = SqlLessonStore(tasks)
    Learner(store, CONFIG).learn()
    rows = tasks.file.execute("SELECT * FROM lesson") + tasks.file.execute("SELECT * FROM lesson_change")
    told = json.dumps(rows).casefold()
    assert not [
        word for word in ("anna", "ming", "vase", "1987", "den", "one") if f'"{word}' in told or f" {word} " in told
    ]
    assert {f.name for f in fields(Lesson)} == {*lesson_to_dict(next(iter(store.lessons().values())))} - {
        "prefer",
        "avoid",
        "note",
    } | {"correction"}


def test_the_store_is_a_lesson_store(tasks: SqlTaskStore) -> None:
    store: LessonStore = SqlLessonStore(tasks)
    assert store.due(5) == ()


def test_the_layers_are_kept_apart(tasks: SqlTaskStore, tmp_path: Path) -> None:
    """No table of the memory is in the file of experience, and none of experience in the memory's."""
    memory = open_library(tmp_path / "memory.db", MemoryConfig())
    memory.close()
    factual = open_sqlite(tmp_path / "memory.db", MEMORY_ID, MEMORY_MIGRATIONS)
    names = [
        {row[0] for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for file in (tasks.file, factual)
    ]
    factual.close()
    assert names[0] - {"sqlite_sequence"} == {"task", "feedback", "lesson", "learnt", "lesson_change", "copied"}
    assert not names[0] & names[1]
