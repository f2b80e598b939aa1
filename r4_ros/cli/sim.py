"""``r4 sim``: the simulated apartment, into a memory or onto ROS topics."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from r4_ros.cli.frames import progress, summary

if TYPE_CHECKING:
    from r4_ros.bridges.apartment.simulation import Simulation


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sim")(sim)


def sim(
    db: Annotated[
        Path | None,
        typer.Option(help="feed a memory directly, faster than real time, instead of publishing", metavar="FILE"),
    ] = None,
    seed: Annotated[int, typer.Option(help="decides everything: same seed, same pictures", min=0)] = 0,
    duration: Annotated[float, typer.Option(help="simulated seconds", min=0.2, max=86400)] = 120.0,
    rate: Annotated[float, typer.Option(help="frames a second of each robot", min=0.1, max=60)] = 5.0,
    size: Annotated[str, typer.Option(help="image size, WIDTHxHEIGHT")] = "320x240",
    robots: Annotated[int, typer.Option(help="how many robots drive", min=1, max=4)] = 2,
    namespace: Annotated[
        str | None,
        typer.Option(help="with one robot: its name and namespace; '': plain topics (/tf, /color/image_raw)"),
    ] = None,
    noise: Annotated[bool, typer.Option("--noise", help="depth with a depth camera's noise and holes")] = False,
    cloud: Annotated[bool, typer.Option("--cloud", help="publishing: depth also as a point cloud")] = False,
    drift: Annotated[float, typer.Option(help="odometry error as a share of the way", min=0, max=0.5)] = 0.0,
    speed: Annotated[float, typer.Option(help="publishing: times as fast as real time; 0: at once", min=0)] = 1.0,
    lockstep: Annotated[bool, typer.Option("--lockstep", help="publishing: wait for each frame's ack")] = False,
    embedder: Annotated[str, typer.Option(help="with --db: minilm, multilingual, st:NAME or none")] = "minilm",
    legend: Annotated[
        Path | None, typer.Option(help="write the names of the label image's ids (JSON)", metavar="FILE")
    ] = None,
    regions: Annotated[Path | None, typer.Option(help="write the rooms (YAML)", metavar="FILE")] = None,
    truth: Annotated[
        Path | None, typer.Option(help="write what was where, and what each frame saw (JSON)", metavar="FILE")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="write pictures of the rooms (PNG) and stop", metavar="FILE")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Drive robots through a simulated apartment in which things are moved, taken away and brought back."""
    from r4_ros.bridges.apartment.simulation import Simulation
    from r4_ros.core.errors import InvalidArgument

    if namespace is not None and robots != 1:
        raise InvalidArgument("--namespace is for one robot (--robots 1); several are named robot1, robot2, ...")
    names = [f"robot{k + 1}" for k in range(robots)] if not namespace else [namespace.strip("/").replace("/", "_")]
    simulation = Simulation(seed, duration, rate, image_size(size), names, noise, drift)
    if legend is not None:
        legend.write_text(json.dumps({str(k): name for k, name in simulation.legend.items()}, indent=1) + "\n")
    if regions is not None:
        regions.write_text(regions_yaml(simulation))
    if picture is not None:
        from r4_ros.bridges.apartment.sheet import save_sheet

        save_sheet(simulation, picture)
        result: dict[str, Any] = {"picture": str(picture)}
    elif db is not None:
        result = _into_memory(simulation, db, embedder)
    else:
        result = _publish(simulation, namespace, speed, lockstep, cloud)
    if truth is not None:
        truth.write_text(json.dumps(simulation.truth_log()) + "\n")
    result |= {"seed": seed, "robots": names, "objects": len(simulation.stage.things)}
    print(json.dumps(result) if as_json else _summary(result))


def image_size(text: str) -> tuple[int, int]:
    """Width and height of a text like 320x240. Raises InvalidArgument."""
    from r4_ros.core.errors import InvalidArgument

    match = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text)
    if not match:
        raise InvalidArgument(f"size '{text}': WIDTHxHEIGHT is needed, such as 320x240")
    return int(match[1]), int(match[2])


def regions_yaml(simulation: Simulation) -> str:
    """The rooms as a regions file."""
    import yaml

    rooms = [
        {
            "name": r.name,
            "polygon": [list(p) for p in r.polygon],
            "z_min": r.z_min,
            "z_max": r.z_max,
            "map_id": r.map_id,
        }
        for r in simulation.regions
    ]
    return yaml.safe_dump({"regions": rooms}, sort_keys=False)


def _into_memory(simulation: Simulation, db: Path, embedder: str) -> dict[str, Any]:
    from r4_ros.adapters.embedders import make_embedder
    from r4_ros.bridges.apartment.feed import feed
    from r4_ros.core.config import MemoryConfig
    from r4_ros.memory.library import open_library

    embed = make_embedder(embedder)
    with open_library(db, MemoryConfig(embedder=embedder), embed) as library:
        with progress(simulation.frame_count) as advance:
            fed = feed(simulation, library, embed, lambda done: advance(done.frames))
        entries = len(library.entries())
    return {
        "frames": fed.frames,
        "observations": fed.observations,
        "absent": fed.absent,
        "entries": entries,
        "refused": dict(fed.refused),
        "wall_s": round(fed.wall_s, 3),
        "db": str(db),
    }


def _publish(
    simulation: Simulation, namespace: str | None, speed: float, lockstep: bool, cloud: bool
) -> dict[str, Any]:
    from r4_ros.bridges.playback import Played, play
    from r4_ros.bridges.sim_messages import messages
    from r4_ros.core.model import NS_PER_S

    spaces = {} if namespace is None else {simulation.robots[0].agent_id: namespace}
    topics = [space.strip("/") for space in (spaces or {r.agent_id: r.agent_id for r in simulation.robots}).values()]
    acks = [
        f"/{space}/{topic}".replace("//", "/") for space in topics for topic in ("memory/acks", "perception/refused")
    ]
    start_ns = simulation.start_ns
    with progress(simulation.frame_count) as advance:

        def show(done: Played) -> None:
            elapsed = (done.stamp_ns - start_ns) / NS_PER_S
            advance(done.frames if lockstep else int(elapsed * simulation.rate_hz * len(simulation.robots)))

        items = messages(simulation, spaces, cloud)
        played = play(items, rate=speed, lockstep=lockstep, ack_topics=acks, progress=show)
        advance(simulation.frame_count)
    return {
        "frames": simulation.frame_count,
        "messages": played.messages,
        "acked": played.acked,
        "refused": played.refusals,
        "unanswered": played.unanswered,
        "wall_s": round(played.wall_s, 3),
    }


def _summary(result: dict[str, Any]) -> str:
    if "picture" in result:
        return f"The apartment of seed {result['seed']}: {result['picture']}"
    return summary(result, "Where is the backpack?")
