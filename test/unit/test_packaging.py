"""What must agree between package.xml, CMakeLists.txt, setup.py, the pins, the Makefile and the documentation."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

import r4_ros

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / ".ci" / "requirements"
PACKAGE = ElementTree.parse(ROOT / "package.xml").getroot()
CMAKE = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")


def requirement_lines(name: str) -> list[str]:
    lines = (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line.partition("#")[0].strip() for line in lines if line.partition("#")[0].strip()]


def project_name(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def make_targets() -> dict[str, str]:
    """Target -> its one-line help."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z][a-z-]*):[^\n]*?## ([^\n]+)$", text, re.MULTILINE))


def test_one_version_everywhere() -> None:
    cmake_version = re.search(r"project\(r4_ros VERSION (\S+)", CMAKE)
    assert cmake_version is not None
    assert PACKAGE.findtext("version") == cmake_version[1] == r4_ros.__version__


def test_package_xml_is_an_interface_package() -> None:
    assert PACKAGE.get("format") == "3"
    assert PACKAGE.findtext("export/build_type") == "ament_cmake"
    assert PACKAGE.findtext("member_of_group") == "rosidl_interface_packages"
    assert PACKAGE.findtext("license") == "Apache-2.0"


def test_every_package_that_cmake_finds_is_a_dependency() -> None:
    declared = {element.text for element in PACKAGE if element.tag.endswith("depend")}
    found = set(re.findall(r"find_package\((\w+) REQUIRED\)", CMAKE))
    block = re.search(r"DEPENDENCIES ([\w\s]+)\)", CMAKE)
    assert block is not None
    assert found | set(block[1].split()) <= declared


def test_cmake_lists_the_interfaces_on_disk() -> None:
    on_disk = {
        f"{folder}/{path.name}" for folder in ("msg", "srv", "action") for path in (ROOT / folder).glob(f"*.{folder}")
    }
    assert set(re.findall(r"(?:msg|srv|action)/\w+\.(?:msg|srv|action)", CMAKE)) == on_disk


def test_interfaces_name_only_declared_packages() -> None:
    declared = {element.text for element in PACKAGE if element.tag == "depend"}
    for folder in ("msg", "srv", "action"):
        for path in (ROOT / folder).glob(f"*.{folder}"):
            used = set(re.findall(r"^(\w+)/\w+", path.read_text(encoding="utf-8"), re.MULTILINE))
            assert used <= declared | {"r4_ros"}, path.name


def test_executables_have_modules() -> None:
    listed = re.search(r"foreach\(R4_EXECUTABLE ([\w ]+)\)", CMAKE)
    assert listed is not None
    for name in listed[1].split():
        source = ROOT / "r4_ros" / "nodes" / f"{name}.py"
        assert re.search(r"^def main\(", source.read_text(encoding="utf-8"), re.MULTILINE), source


def test_rooms_are_packages() -> None:
    rooms = [path for path in (ROOT / "r4_ros").iterdir() if path.is_dir() and any(path.glob("*.py"))]
    assert [room.name for room in rooms if not (room / "__init__.py").is_file()] == []


def test_licence() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text


def test_ros_is_pinned_exactly() -> None:
    for line in requirement_lines("ros-jazzy"):
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line), line


def test_every_requirement_has_a_constraint() -> None:
    constrained = {project_name(line) for line in requirement_lines("constraints")}
    for name in ("base", "test", "lint", "vision"):
        assert {project_name(line) for line in requirement_lines(name)} <= constrained


def test_heavy_libraries_are_extras() -> None:
    heavy = {"torch", "torchvision", "transformers", "open3d", "open3d-cpu", "matplotlib", "sam2"}
    everything = {project_name(line) for name in ("base", "test", "lint") for line in requirement_lines(name)}
    assert not heavy & everything


def test_make_targets_have_help_and_documentation() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = set(re.search(r"^\.PHONY: (.+)$", text, re.MULTILINE)[1].split())  # type: ignore[index]
    documented = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert set(make_targets()) == phony
    assert [name for name in sorted(phony) if f"`make {name}`" not in documented] == []


def test_make_help_lists_the_targets() -> None:
    shown = subprocess.run(["make", "-C", str(ROOT), "help"], capture_output=True, text=True, check=True).stdout
    assert all(f"make {name} " in shown for name in make_targets())


@pytest.mark.parametrize("script", [".ci/setup", ".ci/run", "docker/entrypoint.sh"])
def test_scripts_parse_and_are_executable(script: str) -> None:
    path = ROOT / script
    assert path.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", str(path)], check=True)


@pytest.mark.parametrize("name", ["Dockerfile", "Dockerfile.gpu"])
def test_dockerfiles_hold_only_instructions(name: str) -> None:
    text = (ROOT / "docker" / name).read_text(encoding="utf-8")
    joined = re.sub(r"\\\n", " ", text)
    known = {"ARG", "FROM", "SHELL", "WORKDIR", "COPY", "RUN", "ENV", "VOLUME", "USER", "ENTRYPOINT", "CMD"}
    lines = [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]
    assert {line.split()[0] for line in lines} <= known
    for line in lines:
        if line.startswith("COPY"):
            assert (ROOT / line.split()[1]).exists(), line


def test_compose_profiles() -> None:
    compose = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8"))
    profiles = {name: service["profiles"] for name, service in compose["services"].items()}
    assert profiles == {"robot": ["robot"], "memory": ["fleet"], "database": ["fleet"]}
    mounted = {volume.split(":")[0] for service in compose["services"].values() for volume in service["volumes"]}
    assert mounted == set(compose["volumes"])


def test_workflow_builds_on_both_distributions() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ros.yml").read_text(encoding="utf-8"))
    jobs = workflow["jobs"]
    assert jobs["ros"]["strategy"]["matrix"]["distro"] == ["jazzy", "kilted"]
    assert all(step.get("run") or step.get("uses") for job in jobs.values() for step in job["steps"])


def test_no_machine_paths_in_what_is_shipped() -> None:
    files = ["Makefile", "CMakeLists.txt", "setup.py", "pyproject.toml", "package.xml"]
    paths = [ROOT / name for name in files]
    for folder in (".ci", "docker", "docs", "config", "launch", ".github"):
        paths += [path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix not in (".png", ".jpg")]
    for path in paths:
        assert not re.search(r"/work/|/root/|/home/\w+", path.read_text(encoding="utf-8")), path


def test_launch_file_needs_nothing_from_the_virtual_environment() -> None:
    """`ros2 launch` runs under the system's Python, which knows ROS and none of our libraries."""
    launch = (ROOT / "launch" / "r4.launch.py").read_text(encoding="utf-8")
    imports = re.findall(r"^(?:from r4_ros\.\S+ import .+|import r4_ros\S*)$", launch, re.MULTILINE)
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    done = subprocess.run(
        [str(base), "-S", "-c", "\n".join(imports)], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
