"""Named regions of a map from a YAML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import Region


def load_regions(path: str | Path) -> list[Region]:
    """Regions of a file ``regions: [{name, polygon: [[x, y], ...], z_min, z_max, map_id}]``; metres, map frame.

    Only name and polygon must be given. Raises InvalidArgument, naming the region that is wrong.
    """
    try:
        data: Any = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        items = data["regions"]
        return [_region(item) for item in items]
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidArgument(f"regions file {path}: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidArgument(
            f"regions file {path}: must be 'regions:' with a list of name, polygon [[x, y], ...] ({error})"
        ) from error


def _region(item: dict[str, Any]) -> Region:
    unknown = set(item) - {"name", "polygon", "z_min", "z_max", "map_id"}
    if unknown:
        raise ValueError(f"region {item.get('name')!r}: unknown field {sorted(unknown)[0]!r}")
    return Region(
        name=str(item["name"]),
        polygon=tuple((float(x), float(y)) for x, y in item["polygon"]),
        **{name: float(item[name]) for name in ("z_min", "z_max") if name in item},
        map_id=str(item.get("map_id", "")),
    )
