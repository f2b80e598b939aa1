"""pip's way into r4_ros; colcon uses CMakeLists.txt and never reads this file.

Where ROS 2 itself was installed from wheels (sys.prefix is then a ROS prefix) the interfaces are generated with CMake
and installed beside the package. Elsewhere only the Python package is installed and the interfaces come from colcon.
"""

import os
import shutil
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path
from xml.etree import ElementTree

from setuptools import Distribution, find_packages, setup  # before distutils, which it provides from Python 3.12 on

from distutils.command.install_data import install_data  # isort: skip

ROOT = Path(__file__).resolve().parent
ROS_IS_IN_PREFIX = (Path(sys.prefix) / "share" / "rosidl_generator_py").is_dir()


def requirements(name: str) -> list[str]:
    """The lines of .ci/requirements/NAME.txt, where each range has its reason."""
    lines = (ROOT / ".ci" / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line.partition("#")[0].strip() for line in lines if line.partition("#")[0].strip()]


def version() -> str:
    """The version, from package.xml."""
    return ElementTree.parse(ROOT / "package.xml").findtext("version", "")


def generate_interfaces() -> list[Path]:
    """Run CMake on msg/, srv/ and action/ into build/; return the folders laid out like a prefix."""
    staged = [cmake_install(ROOT, ROOT / "build" / "interfaces", "-DR4_INTERFACES_ONLY=ON")]
    if not any((dist.metadata["Name"] or "").replace("_", "-").endswith("tf2-msgs") for dist in distributions()):
        # The type of /tf isn't among the wheels: one message with one field.
        staged.append(cmake_install(ROOT / ".ci" / "tf2_msgs", ROOT / "build" / "tf2_msgs"))
    return staged


def cmake_install(source: Path, build: Path, *options: str) -> Path:
    """Configure, build and install a CMake project of interfaces; return the folder that it was installed to."""
    prefix = sys.prefix
    env = dict(os.environ, AMENT_PREFIX_PATH=prefix, CMAKE_PREFIX_PATH=prefix, ROS_VERSION="2", ROS_PYTHON_VERSION="3")
    env["PATH"] = os.pathsep.join([str(Path(prefix) / "bin"), env.get("PATH", "")])
    cmake = shutil.which("cmake", path=env["PATH"])
    if cmake is None:
        sys.exit("r4_ros: CMake is needed to generate the interfaces: pip install cmake")
    staged = build.with_name(f"{build.name}-installed")
    shutil.rmtree(staged, ignore_errors=True)
    settings = [f"-DPython3_EXECUTABLE={sys.executable}", "-DBUILD_TESTING=OFF", f"-DCMAKE_INSTALL_PREFIX={staged}"]
    settings.append("-DCMAKE_INSTALL_MESSAGE=NEVER")
    made_for, key = build / "made-for", f"{source}\n{prefix}\n{sys.version}\n"
    if not made_for.is_file() or made_for.read_text(encoding="utf-8") != key:
        shutil.rmtree(build, ignore_errors=True)  # CMake refuses a build folder of another place
        build.mkdir(parents=True)
        made_for.write_text(key, encoding="utf-8")
    for command in (
        [cmake, "-S", str(source), "-B", str(build), "--log-level=WARNING", *settings, *options],
        [cmake, "--build", str(build), "--parallel", str(os.cpu_count() or 1), "--", "--quiet"],
        [cmake, "--install", str(build)],
    ):
        if subprocess.run(command, env=env, stdout=sys.stderr).returncode:
            sys.exit("r4_ros: the interfaces could not be generated; CMake says why above")
    return staged


def wanted(path: Path) -> bool:
    """Whether a generated file (relative to the prefix) is used at run time and not ours already."""
    if path.parts[0] == "include" or path.suffix in {".c", ".cmake", ".pyc"}:
        return False
    return not any(part.endswith(".egg-info") for part in path.parts) and path.parts[-2:] != ("r4_ros", "__init__.py")


class InstallInterfaces(install_data):
    """Generate the interfaces when pip installs the data files."""

    def run(self) -> None:
        """Fill data_files from what CMake made, then install them under sys.prefix."""
        folders: dict[str, list[str]] = {}
        for staged in generate_interfaces():
            for file in sorted(path for path in staged.rglob("*") if path.is_file()):
                relative = file.relative_to(staged)
                if wanted(relative):
                    folders.setdefault(str(relative.parent), []).append(os.path.relpath(file, ROOT))
        if "editable_wheel" not in self.distribution.command_obj:  # an editable install reads them from the checkout
            for name in ("launch", "config"):
                files = [str(path.relative_to(ROOT)) for path in sorted((ROOT / name).iterdir()) if path.is_file()]
                folders[f"share/r4_ros/{name}"] = files
        self.data_files = list(folders.items())
        super().run()


class RosDistribution(Distribution):
    """A distribution whose data files are known only once they are generated."""

    def has_data_files(self) -> bool:
        """True where the interfaces are ours to install."""
        return ROS_IS_IN_PREFIX

    has_data = has_data_files  # editable installs ask under this name


setup(
    name="r4_ros",
    version=version(),
    description="A 4D memory for robots: ROS 2 nodes that remember what was where, when, and answer with evidence",
    license="Apache-2.0",
    python_requires=">=3.10",
    packages=find_packages(include=["r4_ros", "r4_ros.*"]),
    package_dir={"": "."},  # makes an editable install a plain .pth, which finds r4_ros.msg and r4_ros.srv too
    package_data={"r4_ros": ["py.typed", "**/*.json", "**/*.yaml", "**/*.sql", "**/*.md", "**/*.txt"]},
    install_requires=requirements("base"),
    extras_require={name: requirements(name) for name in ("test", "lint", "fleet", "vision")},
    entry_points={"console_scripts": ["r4 = r4_ros.cli.main:main"]},
    cmdclass={"install_data": InstallInterfaces},
    distclass=RosDistribution,
    zip_safe=False,
)
