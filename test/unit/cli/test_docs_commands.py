"""Every `r4 ...` line of the README and the docs is a command that exists, with options that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from r4_ros.cli import main

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
COMMAND = re.compile(r"^(?: {4}|\$ )?(?:\.venv/bin/)?r4 (\w.*)$")
INLINE = re.compile(r"`(?:\.venv/bin/)?r4 (\w[^`]*\s--[^`]*)`")


def commands(text: str) -> list[str]:
    """The command lines of a page, without comments; a line with placeholders in capitals is prose."""
    joined = text.replace("\\\n", " ")
    found = [m[1] for line in joined.splitlines() if (m := COMMAND.match(line))]
    found += [m.replace("\n", " ") for m in INLINE.findall(joined)]
    return [line for line in found if "…" not in line and "..." not in line and "|" not in line]


def lines() -> list[tuple[str, str]]:
    return [(page.name, line) for page in PAGES for line in commands(page.read_text(encoding="utf-8"))]


def check(line: str) -> str:
    """What is wrong with a command; --help is looked at after the other options were parsed, and before any runs."""
    result = CliRunner().invoke(main.app, [*shlex.split(line, comments=True), "--help"])
    return result.output if result.exit_code else ""


@pytest.fixture(scope="module", autouse=True)
def _commands() -> None:
    if not main.app.registered_commands:
        main.load_commands()


def test_there_are_commands_in_the_readme() -> None:
    assert len([page for page, _ in lines() if page == "README.md"]) >= 5


@pytest.mark.parametrize(("page", "line"), lines())
def test_a_documented_command_can_be_parsed(page: str, line: str) -> None:
    assert not check(line)


def test_a_wrong_option_is_noticed() -> None:
    assert "No such option" in check("ask 'Where?' --database x.db")
    assert "No such command" in check("remember --db x.db")
