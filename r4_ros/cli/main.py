"""The ``r4`` command. Each command stands in its own module and imports heavy libraries only when it runs."""

from __future__ import annotations

import importlib
import importlib.util
import sys

import typer

from r4_ros.core.errors import R4Error

COMMANDS = ("demo", "up", "sim", "replay", "ask", "view", "doctor", "db", "evaluate", "bench", "policy")

app = typer.Typer(
    help="The memory that robots lack: what was seen, where, when and by whom.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def load_commands() -> None:
    """Let every command that is there register itself."""
    for name in COMMANDS:
        if importlib.util.find_spec(f"r4_ros.cli.{name}"):
            importlib.import_module(f"r4_ros.cli.{name}").register(app)


def main() -> int:
    """Run the command line; errors are one clear line on stderr and a non-zero exit."""
    load_commands()
    try:
        app()
    except R4Error as error:
        print(f"r4: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
