"""``r4 demo``: the whole suite at work. Nodes as processes, two robots in the simulated apartment, then questions."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from r4_ros.cli.frames import counted, progress

if TYPE_CHECKING:
    from rich.console import Console

    from r4_ros.bridges.apartment.simulation import Simulation
    from r4_ros.core.model import Answer

ROBOTS = ("robot1", "robot2")
READY_S = 60.0
QUESTIONS = (
    "Where is the teddy bear?",
    "How many chairs are in the kitchen?",
    "What is on the desk?",
    "What colour is the sofa?",
    "When was the tv last seen?",
    "Were the keys moved?",
    "Where was the vase before it was moved?",
    "Where is the backpack?",
    "Is the backpack still in the hallway?",
    "What was to my left 40 seconds ago?",
    "How far is the fridge from the stove?",
    "What did robot2 see in the bathroom?",
    "What is in the storage room?",
    "What is my neighbour's name?",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    out: Annotated[Path, typer.Option(help="folder for the database, the picture and the nodes' log")] = Path("demo"),
    duration: Annotated[float, typer.Option(help="simulated seconds", min=10, max=3600)] = 120.0,
    rate: Annotated[float, typer.Option(help="frames a second of each robot", min=0.5, max=30)] = 4.0,
    seed: Annotated[int, typer.Option(help="decides everything", min=0)] = 0,
) -> None:
    """Two robots drive through an apartment, the nodes remember, and then you see them answer."""
    from rich.console import Console

    from r4_ros.bridges.apartment.simulation import Simulation

    console = Console()
    out.mkdir(parents=True, exist_ok=True)
    files = Files(out)
    files.clear()
    console.print("[bold]r4_ros demo[/]: two robots, one apartment, one memory\n")
    simulation = Simulation(seed, duration, rate, robots=ROBOTS)
    files.write(simulation)
    _choose_domain()
    with files.log.open("w") as log, _nodes(files, log):
        console.print(f"  nodes: {len(ROBOTS)} x perception, memory, reasoner, experience (output in {files.log})")
        _drive(simulation, console)
        _ask_all(simulation, console)
    picture = _picture(files)
    console.print(f"\nThe memory from above: [bold]{picture}[/]")
    console.print(f"The database:          [bold]{files.db}[/]")
    console.print(
        '\nAsk more:  [bold].venv/bin/r4 ask "Where is the red mug?" --db ' + f"{files.db}[/]", soft_wrap=True
    )


class Files:
    """What the demo leaves behind."""

    def __init__(self, out: Path) -> None:
        self.db = out / "apartment.db"
        self.experience = out / "apartment_experience.db"
        self.picture = out / "apartment.png"
        self.legend = out / "legend.json"
        self.regions = out / "rooms.yaml"
        self.log = out / "nodes.log"

    def clear(self) -> None:
        """Remove an earlier demo's memory, so that each starts with an empty one."""
        for db in (self.db, self.experience):
            for suffix in ("", "-wal", "-shm"):
                Path(f"{db}{suffix}").unlink(missing_ok=True)

    def write(self, simulation: Simulation) -> None:
        """The label names and the rooms, which the nodes read."""
        from r4_ros.cli.sim import regions_yaml

        self.legend.write_text(json.dumps({str(k): name for k, name in simulation.legend.items()}, indent=1) + "\n")
        self.regions.write_text(regions_yaml(simulation))


def _choose_domain() -> None:
    """A ROS domain that nobody else on this machine seems to use, so that the demo meets no real robot."""
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    for domain in range(60, 100):
        with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
            try:
                probe.bind(("127.0.0.1", 7400 + 250 * domain + 10))  # the first participant's metatraffic port
            except OSError:
                continue
        os.environ["ROS_DOMAIN_ID"] = str(domain)
        return


def node_commands(files: Files) -> Mapping[str, list[str]]:
    """One perception node in each robot's namespace; one memory, reasoner and experience for both."""
    from r4_ros.cli.up import node_commands as commands
    from r4_ros.nodes.start import StartOptions

    shared = StartOptions(
        only=("memory", "reasoner", "experience"),
        agent=ROBOTS[0],
        agents=ROBOTS,
        db=files.db,
        regions=files.regions,
        sim_time=True,
    )
    made = dict(commands(shared))
    for robot in ROBOTS:
        options = StartOptions(
            only=("perception",), namespace=robot, memory_namespace="/", sim_time=True, segmenter="label_image"
        )
        legend = ["-p", f"label_legend:={files.legend.resolve()}", "-p", "map_id:=apartment"]
        made[f"perception of {robot}"] = [*commands(options)["perception"], *legend]
    return made


@contextlib.contextmanager
def _nodes(files: Files, log: contextlib.AbstractContextManager[object]) -> Iterator[None]:
    """The nodes' processes, for as long as the block runs."""
    from r4_ros.cli.supervisor import Supervisor
    from r4_ros.nodes.transport import prepare

    prepare()
    supervisor = Supervisor(node_commands(files), log)  # type: ignore[arg-type]
    thread = threading.Thread(target=supervisor.run, name="r4-nodes")
    thread.start()
    try:
        yield
    finally:
        supervisor.stop()
        thread.join()


def _drive(simulation: Simulation, console: Console) -> None:
    """Publish what the robots' cameras see; the next frame goes out when the memory has acknowledged the last."""
    from r4_ros.bridges.playback import Played, play
    from r4_ros.bridges.sim_messages import messages

    acks = ["/memory/acks", *(f"/{robot}/perception/refused" for robot in ROBOTS)]
    with progress(simulation.frame_count, console) as advance:

        def show(done: Played) -> None:
            advance(done.frames)

        played = play(messages(simulation), lockstep=True, ack_topics=acks, match_s=READY_S, progress=show)
    console.print(
        f"  {simulation.duration_s:.0f} s of driving in {played.wall_s:.0f} s: {played.acked} frames remembered, "
        f"refused: {counted(played.refusals)}, unanswered: {played.unanswered}\n"
    )


def _ask_all(simulation: Simulation, console: Console) -> None:
    from r4_ros.core.model import Question
    from r4_ros.nodes.asking import Asker

    now_ns = simulation.start_ns + round(simulation.duration_s * 1e9)
    with Asker() as asker:
        asker.find(time.monotonic() + READY_S)
        for text in QUESTIONS:
            started = time.monotonic()
            answer = asker.ask(Question(text, now_ns=now_ns, ego_agent=ROBOTS[0]))
            _show(console, answer, now_ns, time.monotonic() - started)


def _show(console: Console, answer: Answer, now_ns: int, wall_s: float) -> None:
    from rich.text import Text

    from r4_ros.core.model import EntryState

    console.print(Text(f"? {answer.question}", style="bold cyan"))
    line = Text(f"  {answer.text}")
    line.append(f"  [{answer.verdict.value}, {wall_s * 1000:.0f} ms]", style="dim")
    console.print(line, soft_wrap=True)
    for evidence in answer.evidence[:3]:
        x, y, z = evidence.box.pose.position
        gone = ", now gone" if evidence.state is EntryState.GONE else ""
        age_s = (now_ns - evidence.last_seen) / 1e9
        console.print(
            Text(
                f"    {evidence.entry_id[:8]} {evidence.label} at ({x:.2f}, {y:.2f}, {z:.2f}) m, "
                f"by {evidence.agent_id}, "
                f"seen {age_s:.0f} s ago, {evidence.visibility.name.lower()}{gone}",
                style="dim",
            ),
            soft_wrap=True,
        )
    if len(answer.evidence) > 3:
        console.print(Text(f"    and {len(answer.evidence) - 3} more", style="dim"))


def _picture(files: Files) -> Path:
    """Drawn by ``r4 view``, as anybody would."""
    command = [sys.executable, "-m", "r4_ros.cli.main", "view", "--db", str(files.db), "--out", str(files.picture)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return files.picture
