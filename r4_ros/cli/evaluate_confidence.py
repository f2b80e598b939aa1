"""``r4 eval confidence``: the table of confidence, fitted to marked answers and tried on others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer


def confidence(
    answers: Annotated[list[Path], typer.Argument(help="answers of `r4 eval sim --out`, to fit the table to")],
    test: Annotated[
        list[Path] | None, typer.Option(help="answers of other scenarios, to try it on", metavar="FILE")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Fit how sure answers are to how often such answers were right, and say what that is worth."""
    from r4_ros.core.errors import InvalidArgument
    from r4_ros.evaluation.confidence import fit, left_out, read_claims, worth
    from r4_ros.reasoner.confidence import TABLE

    claims, others = read_claims(answers), read_claims(test or ())
    if len({c.right for c in claims}) < 2:
        raise InvalidArgument("right and wrong answers are needed to fit a table to; degrade the runs (--degrade)")
    common = {c.scenario for c in claims} & {c.scenario for c in others}
    if common:
        raise InvalidArgument(f"scenarios to fit and to try must differ: {', '.join(sorted(common))} are in both")
    table = fit(claims)
    found: dict[str, Any] = {"table": table, "fitted": worth(claims, table), "left_out": left_out(claims)}
    found["shipped"] = worth(claims, TABLE)
    if others:
        found |= {"test": worth(others, table), "test_shipped": worth(others, TABLE)}
    if as_json:
        print(json.dumps(found))
    else:
        _print(found)


def _print(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print("TABLE = {\n" + "".join(f'    "{n}": {v},\n' for n, v in found["table"].items()) + "}", markup=False)
    table = Table("answers", "claims", "right", "Brier", "constant", "skill", "wrong among the surest", box=None)
    for name in ("fitted", "left_out", "shipped", "test", "test_shipped"):
        f = found.get(name)
        if f and f["claims"]:
            risk = ", ".join(f"{float(c):.0%}: {v:.1%}" for c, v in f["risk_at_coverage"].items())
            values = (f["claims"], f["right"], f["brier"], f["brier_constant"], f["skill"])
            table.add_row(name, *map(str, values), risk)
    console.print(table)
