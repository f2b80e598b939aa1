"""A plan from a language model: asked for with the Retrieval Manual, parsed strictly, checked, asked for again.

The model gets the manual and the question, never anything from memory. What it writes is data: it is parsed against the
schema, its words must be the question's, and it is never executed or shown as an answer.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from r4_ros.core.errors import DeadlineExceeded, InvalidArgument, ModelError
from r4_ros.core.lessons import Focus
from r4_ros.core.ports import LanguageModel
from r4_ros.reasoner import manual, parse
from r4_ros.reasoner.completing import completed
from r4_ros.reasoner.grounding import foreign_words
from r4_ros.reasoner.keys import Plan

PROMPTS = Path(__file__).with_name("prompts")
MAX_REPLY = 20_000  # characters
QUOTED = 2_000  # of a wrong reply, in the request to write it anew
TOLD = 300  # of what is wrong with it
UNSUPPORTED = "the language model reads it as something that isn't in this memory"
THOUGHTS = re.compile(r"^\s*<think>.*?</think>", re.DOTALL)
FENCE = re.compile(r"^```(?:json)?\s*\n(.*?)\n?```$", re.DOTALL)


class ModelPlanner:
    """Asks a language model for plans. ``repairs``: so often a reply that is none goes back with what is wrong."""

    def __init__(self, model: LanguageModel, repairs: int = 1) -> None:
        self._model, self._repairs = model, repairs

    def plan(self, text: str, end: float) -> tuple[Plan, tuple[str, ...]]:
        """The plan of a question, and notes for the trace. end: of the time for it, monotonic seconds.

        Raises UnsupportedQuestion where there is nothing to read, ModelError and DeadlineExceeded.
        """
        question = parse.clean(text)
        asked = json.dumps(question, ensure_ascii=False)
        user, notes, wrong = _prompt("question-1.txt", question=asked), [], ""
        for _ in range(1 + self._repairs):
            left = end - time.monotonic()
            if left <= 0:
                told = f"; its reply before: {wrong}" if wrong else ""
                raise DeadlineExceeded(f"the language model took too long{told}")
            reply = self._model.complete(manual.manual(), user, manual.schema(), left)
            try:
                plan = checked(question, parsed(reply))
            except InvalidArgument as error:
                wrong = printable(str(error), TOLD)
                notes.append(f"a reply was refused: {wrong}")
                quoted = json.dumps(reply[:QUOTED], ensure_ascii=False)
                user = _prompt("repair-1.txt", question=asked, reply=quoted, error=wrong)
                continue
            if plan.unsupported:
                notes.append(f"the model's reason, quoted: {json.dumps(printable(plan.unsupported, TOLD))}")
                plan = plan.model_copy(update={"unsupported": UNSUPPORTED})
            return plan, tuple(notes)
        raise ModelError(f"none of {1 + self._repairs} replies was a plan of the question; the last: {wrong}")

    def order(self, situation: str, names: Sequence[str], focus: Focus, end: float) -> tuple[str, ...]:
        """In which order to drop conditions, by their names; empty where the model doesn't say.

        The model sees the situation by types, the names and the advice. Raises ModelError, DeadlineExceeded.
        """
        told = f"{focus}. {focus.note}"
        user = _prompt("advice-1.txt", situation=situation, names=", ".join(names), advice=told)
        schema: dict[str, object] = {
            "type": "object",
            "properties": {"order": {"type": "array", "items": {"type": "string", "enum": list(names)}}},
            "required": ["order"],
        }
        reply = self._model.complete("", user, schema, end - time.monotonic())
        try:
            order = parsed(reply).get("order")
        except InvalidArgument:
            return ()
        chosen = order if isinstance(order, list) else []
        return tuple(dict.fromkeys(name for name in chosen if isinstance(name, str) and name in names))


def parsed(reply: str) -> dict[str, Any]:
    """The one JSON object of a reply; a model's thoughts before it and a code fence around it are taken off.

    Raises InvalidArgument for anything else.
    """
    if len(reply) > MAX_REPLY:
        raise InvalidArgument(f"the reply is longer than {MAX_REPLY} characters")
    text = THOUGHTS.sub("", reply, count=1).strip()
    fenced = FENCE.match(text)
    try:
        found = json.loads(fenced[1] if fenced else text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"that is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidArgument("that is no JSON object")
    return found


def checked(question: str, written: dict[str, Any]) -> Plan:
    """The plan as written, whole. Labels are ours to find; words that the question doesn't have aren't taken.

    Raises InvalidArgument, with what is wrong where.
    """
    steps = written.get("steps")
    for step in steps if isinstance(steps, list) else []:
        if isinstance(step, dict) and isinstance(step.get("semantic"), dict):
            step["semantic"].pop("labels", None)
    plan = completed(question, written)
    strange = foreign_words(plan)
    if strange:
        raise InvalidArgument("; ".join(strange[:5]))
    return plan


def printable(text: str, most: int) -> str:
    """One line of at most so many printable characters."""
    return "".join(c if c.isprintable() else " " for c in text[:most])


@lru_cache(maxsize=4)
def _template(name: str) -> str:
    return (PROMPTS / name).read_text(encoding="utf-8")


def _prompt(name: str, **filled: str) -> str:
    """A prompt with its fields filled; what is filled in is not read for fields."""
    return re.sub(r"\{(\w+)\}", lambda m: filled[m[1]], _template(name))


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
