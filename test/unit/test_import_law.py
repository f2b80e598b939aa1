"""The import law of the rooms (docs/architecture.md), read from the source: nothing is imported to check it."""

from __future__ import annotations

import ast
import fnmatch
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "r4_ros"
MAX_LINES = 400

MIDDLE = {"perception", "memory", "reasoner", "experience"}
INNER = {"core", "adapters"} | MIDDLE
MAY_IMPORT = {
    "core": set(),
    **{room: {"core"} for room in MIDDLE},
    "adapters": {"core"},
    "nodes": INNER,
    "bridges": INNER | {"nodes"},
    "evaluation": INNER | {"bridges"},
    "cli": INNER | {"nodes", "bridges", "evaluation"},
}
ROS = ("rclpy", "*_msgs", "*_interfaces", "tf2_ros", "tf2_py", "rosgraph*", "r4_ros.msg", "r4_ros.srv", "r4_ros.action")
ROS_ROOMS = {"nodes", "bridges"}
ONE_MODULE = {
    "sqlite3": "r4_ros.memory.sqlite_file",
    "psycopg": "r4_ros.memory.postgres_database",
    "faiss": None,
    "tf2_py": "r4_ros.nodes.tf",
    "tf2_ros": "r4_ros.nodes.tf",
}
NOT_AT_START = (
    "torch",
    "transformers",
    "open3d",
    "spacy",
    "onnxruntime",
    "tokenizers",
    "cv2",
    "trimesh",
    "faiss",
    "scipy",
    "embreex",
    "PIL",
    "rosbags",
    "rclpy",
)


def source_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if parts[0] == "r4_ros" and len(parts) > 1 else ""


def imports(module: str, source: str, is_package: bool = False) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of everything imported, also inside functions and by ``import_module("...")``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = module.split(".")
            kept = len(parts) - node.level + (1 if is_package else 0)
            origin = ".".join([*parts[:kept], node.module or ""]).rstrip(".") if node.level else node.module or ""
            yield from ((node.lineno, f"{origin}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in (
            "import_module",
            "__import__",
        ):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield node.lineno, first.value


def is_ros(name: str) -> bool:
    top, two = name.split(".")[0], ".".join(name.split(".")[:2])
    return any(fnmatch.fnmatch(top, pattern) or two == pattern for pattern in ROS)


def breach(module: str, name: str) -> str:
    """Why this module may not import that name; empty: it may."""
    room, top, target = room_of(module), name.split(".")[0], room_of(name)
    owner = ONE_MODULE.get(top)
    if owner and module != owner:
        return f"{top} stands only in {owner}"
    if is_ros(name):
        return "" if room in ROS_ROOMS else "ROS stands only in nodes/ and bridges/"
    if target in MAY_IMPORT and target != room and target not in MAY_IMPORT.get(room, set()):
        allowed = ", ".join(sorted(MAY_IMPORT.get(room, set()))) or "nothing else"
        return f"{room or 'the package root'} may import {allowed} of the package, not {target}"
    if room == "core" and top not in {"r4_ros", "numpy"} and top not in sys.stdlib_module_names:
        return "core needs only the standard library and numpy"
    if room == target == "nodes" and module.endswith("_node"):
        others = {part for part in name.split(".")[2:] if part.endswith("_node")}
        if others - {module.split(".")[-1]}:
            return "no node imports a node"
    return ""


def breaches(module: str, source: str, is_package: bool = False) -> list[str]:
    found = []
    for line, name in imports(module, source, is_package):
        why = breach(module, name)
        if why:
            found.append(f"{module}:{line} imports {name}: {why}")
    return found


@pytest.mark.parametrize("path", source_files(), ids=module_name)
def test_a_module_imports_only_what_its_room_may(path: Path) -> None:
    assert breaches(module_name(path), path.read_text(), path.name == "__init__.py") == []


@pytest.mark.parametrize("path", source_files(), ids=module_name)
def test_a_module_has_one_job_and_so_a_bounded_length(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= MAX_LINES, f"{path.relative_to(ROOT)} has {lines} lines: split it by subject ({MAX_LINES} at most)"


@pytest.mark.parametrize("library", ONE_MODULE)
def test_such_a_library_stands_in_one_module(library: str) -> None:
    users = [
        module_name(path)
        for path in source_files()
        if any(name.split(".")[0] == library for _, name in imports(module_name(path), path.read_text()))
    ]
    assert len(users) <= 1, f"{library} is imported by {', '.join(users)}"


@pytest.mark.parametrize("path", source_files(), ids=module_name)
def test_every_room_is_known_to_the_law(path: Path) -> None:
    module = module_name(path)
    assert module == "r4_ros" or room_of(module) in MAY_IMPORT, f"{module}: name this room in the import law"


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("r4_ros.core.geometry", "import scipy"),
        ("r4_ros.core.ports", "from r4_ros.memory import library"),
        ("r4_ros.memory.library", "from r4_ros.perception.pipeline import Pipeline"),
        ("r4_ros.memory.library", "from ..perception import pipeline"),
        ("r4_ros.memory.library", "def f():\n    import rclpy"),
        ("r4_ros.memory.library", "from r4_ros.msg import Outcome"),
        ("r4_ros.memory.library", "import sqlite3"),
        ("r4_ros.experience.recorder", "import importlib\nimportlib.import_module('r4_ros.memory.library')"),
        ("r4_ros.adapters.minilm", "from r4_ros.perception import pipeline"),
        ("r4_ros.reasoner.answer", "from geometry_msgs.msg import Pose"),
        ("r4_ros.nodes.memory_node", "from r4_ros.nodes.perception_node import PerceptionNode"),
        ("r4_ros.nodes.memory_node", "from r4_ros.nodes import perception_node"),
        ("r4_ros.nodes.base", "from r4_ros.cli import main"),
        ("r4_ros.nodes.perception_node", "from tf2_ros import Buffer"),
        ("r4_ros.cli.up", "import rclpy"),
    ],
)
def test_a_breach_is_found(module: str, source: str) -> None:
    assert len(breaches(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("r4_ros.core.geometry", "import math\nimport numpy as np\nfrom r4_ros.core.model import Pose"),
        ("r4_ros.memory.sqlite_file", "import sqlite3"),
        ("r4_ros.memory.library", "from .index import Index"),
        (
            "r4_ros.nodes.memory_node",
            "import rclpy\nfrom r4_ros.msg import Outcome\nfrom r4_ros.nodes.base import Base",
        ),
        ("r4_ros.cli.ask", "from r4_ros.reasoner.answer import Reasoner\nfrom r4_ros.bridges import bag"),
    ],
)
def test_what_is_allowed_is_no_breach(module: str, source: str) -> None:
    assert breaches(module, source) == []


def test_the_command_starts_without_heavy_libraries() -> None:
    program = (
        "import sys, r4_ros.cli.main as m; m.load_commands(); print(*sorted({n.split('.')[0] for n in sys.modules}))"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "typer" in loaded
    assert loaded & set(NOT_AT_START) == set(), "import these inside the command's function, not at the top"
