"""Solids as triangles with normals and texture coordinates, built from boxes, turned profiles, tubes and sheets.

Local frames: z up, +x is a thing's front, the origin lies in the middle of its footprint on its support.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from r4_ros.bridges.apartment.materials import Material
from r4_ros.core.model import Float32Array, FloatArray, Vec3

SHARP = math.cos(math.radians(45))
"""Edges of a turned profile that bend more than this stay sharp."""


@dataclass(frozen=True, eq=False)
class Part:
    """Triangles of one material: points and corner normals [t, 3, 3], texture coordinates [t, 3, 2] in tiles."""

    points: Float32Array
    normals: Float32Array
    uvs: Float32Array
    material: Material


Shape = list[Part]


def box(size: Vec3, at: Vec3, material: Material) -> Part:
    """A box; ``at`` is the middle of its lower face."""
    sx, sy, sz = size
    faces = []
    for axis in range(3):
        for sign in (-1, 1):
            a, b = [(1, 2), (0, 2), (0, 1)][axis]
            centre = np.array([0.0, 0.0, sz / 2])
            half = np.array([sx, sy, sz]) / 2
            quad = np.repeat(centre[None], 4, axis=0)
            quad[:, axis] += sign * half[axis]
            quad[:, a] += np.array([-1, 1, 1, -1]) * half[a]
            quad[:, b] += np.array([-1, -1, 1, 1]) * half[b]
            if material.period > 0 and size[b] > size[a]:  # grain runs along the longer side
                quad, a, b = quad[[0, 3, 2, 1]], b, a
            faces.append(sheet_quad(quad + np.asarray(at), material, (size[a], size[b])))
    return join(faces, material)


def sheet_quad(quad: FloatArray, material: Material, size: tuple[float, float] | None = None) -> Part:
    """A flat sheet from four corners in order; the texture's u runs along the first edge, v along the second."""
    edge_u, edge_v = quad[1] - quad[0], quad[3] - quad[0]
    width, height = size or (float(np.linalg.norm(edge_u)), float(np.linalg.norm(edge_v)))
    normal = np.cross(edge_u, edge_v)
    normal /= max(float(np.linalg.norm(normal)), 1e-12)
    uv = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], float)
    if material.period > 0:
        uv *= np.array([width, height]) / material.period
    order = [[0, 1, 2], [0, 2, 3]]
    return _part(quad[order], np.broadcast_to(normal, (2, 3, 3)), uv[order], material)


def grid(points: FloatArray, material: Material, normals: FloatArray | None = None) -> Part:
    """A smooth sheet through a grid of points [rows, columns, 3]."""
    if normals is None:
        along = np.gradient(points, axis=1)
        across = np.gradient(points, axis=0)
        normals = np.cross(along, across)
    length = np.linalg.norm(normals, axis=-1, keepdims=True)
    normals = np.divide(normals, length, out=np.zeros_like(normals), where=length > 1e-12)
    steps_u = np.linalg.norm(np.diff(points, axis=1), axis=-1).max(axis=0)
    steps_v = np.linalg.norm(np.diff(points, axis=0), axis=-1).max(axis=1)
    u, v = np.concatenate([[0], np.cumsum(steps_u)]), np.concatenate([[0], np.cumsum(steps_v)])
    scale = (u[-1] or 1.0, v[-1] or 1.0) if material.period == 0 else (material.period, material.period)
    uv = np.stack(np.meshgrid(u / scale[0], v / scale[1]), axis=-1)
    return _part(_split(points), _split(normals), _split(uv), material)


def lathe(profile: Sequence[tuple[float, float]], at: Vec3, material: Material, segments: int = 20) -> Part:
    """A profile of (radius, height), from bottom to top, turned around the vertical axis through ``at``."""
    outline = np.asarray(profile, float)
    angle = np.linspace(0, 2 * math.pi, segments + 1)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    step = np.diff(outline, axis=0)
    flat = np.stack([step[:, 1], -step[:, 0]], axis=1)
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-12)
    rings = []
    for i in range(len(step)):
        ends = np.stack([_soft(flat, i, i - 1), _soft(flat, i, i + 1)])
        points = np.concatenate(
            [outline[i : i + 2, None, :1] * circle[None], np.repeat(outline[i : i + 2, None, 1:], segments + 1, 1)], 2
        )
        normals = np.concatenate([ends[:, None, :1] * circle[None], np.repeat(ends[:, None, 1:], segments + 1, 1)], 2)
        rings.append(grid(points + np.asarray(at), material, normals))
    return join(rings, material)


def cylinder(radius: float, height: float, at: Vec3, material: Material, segments: int = 16) -> Part:
    """A closed upright cylinder; ``at`` is the middle of its lower end."""
    return lathe([(0, 0), (radius, 0), (radius, height), (0, height)], at, material, segments)


def ball(radii: Vec3, at: Vec3, material: Material, segments: int = 14, square: float = 1.0) -> Part:
    """An ellipsoid around the point ``at``; ``square`` below 1 turns it into a box with soft edges (superquadric)."""
    lat = np.linspace(-math.pi / 2, math.pi / 2, segments + 1)[:, None]
    lon = np.linspace(-math.pi, math.pi, 2 * segments + 1)[None, :]

    def power(values: FloatArray, exponent: float) -> FloatArray:
        return np.sign(values) * np.abs(values) ** exponent

    def surface(exponent: float) -> FloatArray:
        x = power(np.cos(lat), exponent) * power(np.cos(lon), exponent)
        y = power(np.cos(lat), exponent) * power(np.sin(lon), exponent)
        z = power(np.sin(lat), exponent) * np.ones_like(lon)
        return np.stack([x, y, z], axis=-1)

    size = np.asarray(radii)
    return grid(surface(square) * size + np.asarray(at), material, surface(2 - square) / size)


def soft_box(size: Vec3, at: Vec3, material: Material, square: float = 0.35) -> Part:
    """A cushion-like box; ``at`` is the middle of its lower side."""
    half = (size[0] / 2, size[1] / 2, size[2] / 2)
    return ball(half, (at[0], at[1], at[2] + half[2]), material, 12, square)


def tube(path: npt.ArrayLike, radius: float, material: Material, segments: int = 8) -> Part:
    """A round bar along a path of points [n, 3]."""
    line = np.asarray(path, float)
    tangent = np.gradient(line, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    helper = np.eye(3)[int(np.argmin(np.abs(tangent).max(axis=0)))]
    side = np.cross(tangent, helper)
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    up = np.cross(side, tangent)
    angle = np.linspace(0, 2 * math.pi, segments + 1)
    around = side[:, None] * np.cos(angle)[None, :, None] + up[:, None] * np.sin(angle)[None, :, None]
    return grid(line[:, None] + radius * around, material, around)


def arc(radius: float, start: float, end: float, at: Vec3, count: int = 9, plane: str = "xz") -> FloatArray:
    """Points [count, 3] on an arc from ``start`` to ``end`` (rad) in the plane named by its two axes."""
    angle = np.linspace(start, end, count)
    points = np.zeros((count, 3))
    points[:, "xyz".index(plane[0])] = radius * np.cos(angle)
    points[:, "xyz".index(plane[1])] = radius * np.sin(angle)
    points += np.asarray(at)
    return points


def place(
    shape: Iterable[Part], at: Vec3 = (0, 0, 0), yaw: float = 0.0, pitch: float = 0.0, roll: float = 0.0
) -> Shape:
    """The shape turned (roll about x, pitch about y, yaw about z, rad) and moved to ``at``."""
    cx, sx, cy, sy, cz, sz = (f(a) for a in (roll, pitch, yaw) for f in (math.cos, math.sin))
    rx = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    ry = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    rz = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    turn = (rz @ ry @ rx).astype(np.float32)
    shift = np.asarray(at, np.float32)
    return [Part(p.points @ turn.T + shift, p.normals @ turn.T, p.uvs, p.material) for p in shape]


def join(parts: Sequence[Part], material: Material) -> Part:
    """Several parts of one material as one."""
    return Part(
        np.concatenate([p.points for p in parts]),
        np.concatenate([p.normals for p in parts]),
        np.concatenate([p.uvs for p in parts]),
        material,
    )


def bounds(shape: Shape) -> tuple[FloatArray, FloatArray]:
    """Lower and upper corner of the axis-aligned box around a shape."""
    points = np.concatenate([p.points.reshape(-1, 3) for p in shape]).astype(float)
    return points.min(axis=0), points.max(axis=0)


def _soft(flat: FloatArray, i: int, neighbour: int) -> FloatArray:
    """Normal of a profile segment at the end shared with a neighbour: rounded unless the edge is sharp."""
    alone = not 0 <= neighbour < len(flat) or flat[i] @ flat[neighbour] < SHARP
    return np.asarray(flat[i] if alone else flat[i] + flat[neighbour])


def _split(values: FloatArray) -> FloatArray:
    """Grid [rows, columns, k] -> triangle corners [t, 3, k]."""
    a, b, c, d = values[:-1, :-1], values[:-1, 1:], values[1:, 1:], values[1:, :-1]
    triangles = np.stack([np.stack([a, b, c], 2), np.stack([a, c, d], 2)], 2)
    return np.asarray(triangles.reshape(-1, 3, values.shape[-1]))


def _part(points: FloatArray, normals: FloatArray, uvs: FloatArray, material: Material) -> Part:
    return Part(
        np.ascontiguousarray(points, np.float32),
        np.ascontiguousarray(normals, np.float32),
        np.ascontiguousarray(uvs, np.float32),
        material,
    )
