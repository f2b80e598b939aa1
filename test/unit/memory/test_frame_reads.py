"""What a frame reads from the file is found by an index, however much has been kept."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from r4_ros.core.model import Embedding

LARGE = r"\bSCAN (?:vector|observation|frame|f|event|stay|sighting|presence|entry|e)\b"


def test_no_statement_of_a_frame_reads_a_whole_table(memory: Any, robot: Any, thing: Any) -> None:
    file, asked = memory.store.file, set[tuple[str, int]]()
    execute = file.execute

    def noted(sql: str, parameters: Any = ()) -> Any:
        asked.add((sql, len(parameters)))
        return execute(sql, parameters)

    file.execute = noted
    meaning = Embedding("m", np.eye(4, dtype=np.float32)[0])
    cup = thing("cup", (3, 0, 0.8)).seen(description="a cup", description_embedding=meaning, label_embedding=meaning)
    for second in range(10, 14):
        memory.ingest(robot.frame(second, cup.at(3, 0.4 * (second - 10), 0.8)))
    memory.ingest(robot.absent(15, memory.entries()[0].entry_id))
    reads = [(sql, count) for sql, count in asked if sql.lstrip().upper().startswith("SELECT")]
    assert any("visibility <>" in sql for sql, _ in reads), "the last sighting of what may have walked was asked for"
    for sql, count in reads:
        plan = " ".join(str(row[-1]) for row in execute(f"EXPLAIN QUERY PLAN {sql}", (1,) * count))
        assert not re.search(LARGE, plan), (sql, plan)
