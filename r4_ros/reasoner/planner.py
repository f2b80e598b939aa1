"""Who turns a question into a plan: the rules, or a language model, behind one port."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from r4_ros.core.config import ReasonerConfig
from r4_ros.core.errors import DeadlineExceeded, InvalidArgument, ModelError, UnsupportedQuestion
from r4_ros.core.lessons import Focus
from r4_ros.core.ports import LanguageModel
from r4_ros.reasoner import decompose
from r4_ros.reasoner.keys import Plan
from r4_ros.reasoner.lm_plan import ModelPlanner

RULES = "rules"


@dataclass(frozen=True)
class Planned:
    """A plan, who made it, and what is worth telling of how."""

    plan: Plan
    by: str
    notes: tuple[str, ...] = ()

    @property
    def by_rules(self) -> bool:
        """Whether no model wrote it."""
        return self.by == RULES


class Planner(Protocol):
    """Turns questions into plans."""

    def plan(self, text: str, deadline_s: float) -> Planned:
        """The plan of a question. Raises UnsupportedQuestion, and by configuration ModelError, DeadlineExceeded."""


class RulesPlanner:
    """The embedded default: deterministic, no model but the parser."""

    def plan(self, text: str, deadline_s: float) -> Planned:
        """The plan by the rules, whatever the deadline. Raises UnsupportedQuestion."""
        return Planned(decompose.plan(text), RULES)


class LmPlanner:
    """A language model writes the plan; where it doesn't, ``fallback`` decides: rules, unsupported or error."""

    def __init__(self, model: LanguageModel, timeout_s: float = 6.0, repairs: int = 1, fallback: str = RULES) -> None:
        self._planner = ModelPlanner(model, repairs)
        self._by, self._timeout_s, self._fallback = f"lm {model.name}", timeout_s, fallback

    def plan(self, text: str, deadline_s: float) -> Planned:
        """The model's plan, checked. Raises UnsupportedQuestion; with 'error' also ModelError, DeadlineExceeded."""
        end = time.monotonic() + min(self._timeout_s, deadline_s)
        try:
            plan, notes = self._planner.plan(text, end)
            return Planned(plan, self._by, notes)
        except (ModelError, DeadlineExceeded) as error:
            if self._fallback == "error":
                raise
            if self._fallback == "unsupported":
                raise UnsupportedQuestion(f"the language model gave no plan ({error})") from error
            note = f"{self._by} gave no plan, so the rules made it: {error}"
            return Planned(decompose.plan(text), RULES, (note,))

    def order(self, situation: str, names: Sequence[str], focus: Focus, deadline_s: float) -> tuple[str, ...]:
        """In which order to drop conditions after advice in words; empty: no opinion."""
        try:
            return self._planner.order(situation, names, focus, time.monotonic() + min(self._timeout_s, deadline_s))
        except (ModelError, DeadlineExceeded):
            return ()


def make_planner(config: ReasonerConfig, model: LanguageModel | None = None) -> Planner:
    """The configured planner; ``model`` for 'lm'. Raises InvalidArgument where that is missing."""
    if config.planner == RULES:
        return RulesPlanner()
    if model is None:
        raise InvalidArgument("the planner 'lm' needs a language model")
    return LmPlanner(model, config.lm_timeout_s, config.lm_repairs, config.lm_fallback)
