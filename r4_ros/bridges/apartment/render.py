"""Ray casting of the apartment on the CPU: colour, planar depth and instance labels of a pinhole camera.

Rays are cast by Embree; everything else is numpy over all pixels at once. Each room has one soft lamp with shadows,
ambient light from above, and ambient occlusion from short rays; both are sampled by one ray a pixel in a 4 x 4 pattern
and averaged over it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from embreex.mesh_construction import TriangleMesh
from embreex.rtcore_scene import EmbreeScene

from r4_ros.bridges.apartment.materials import Material
from r4_ros.bridges.apartment.scene import CEILING, EXTENT, ROOMS, Room, Thing
from r4_ros.bridges.apartment.shapes import Shape
from r4_ros.bridges.apartment.textures import SIZE, atlas
from r4_ros.core.geometry import inverse, project, rotation_matrix, transform_points
from r4_ros.core.model import Float32Array, FloatArray, Intrinsics, Pose

AMBIENT, LAMP, OCCLUSION_M, LAMP_SIZE_M = 0.62, 0.75, 0.5, 0.35
DITHER = 4
GRID = 0.05
NOTHING = -1
LEVELS = 4
"""Texture levels of detail, each half as fine as the one before."""

IntArray = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class View:
    """One picture: color uint8 [h, w, 3] RGB; depth float32 [h, w], metres along the optical axis, 0 where nothing
    was hit; labels int32 [h, w], instance ids, 0 for the building.
    """

    color: npt.NDArray[np.uint8]
    depth: Float32Array
    labels: IntArray


@dataclass(frozen=True, eq=False)
class Triangles:
    """All triangles of a scene and what is needed to shade them."""

    points: Float32Array  # [t, 3, 3]
    normals: Float32Array  # [t, 3, 3], at the corners
    uvs: Float32Array  # [t, 3, 2], in tiles
    color: Float32Array  # [t, 3], linear
    surface: Float32Array  # [t, 3]: gloss, glow, tiles per metre
    texture: IntArray  # [t]
    instance: IntArray  # [t]

    @staticmethod
    def of(shape: Shape, instance_id: int) -> Triangles:
        """The triangles of a shape in the map, all of one instance."""
        counts = [len(p.points) for p in shape]
        rows = np.concatenate([[_surface(p.material)] * n for p, n in zip(shape, counts, strict=True)])
        return Triangles(
            np.concatenate([p.points for p in shape]),
            np.concatenate([p.normals for p in shape]),
            np.concatenate([p.uvs for p in shape]),
            rows[:, :3].astype(np.float32),
            rows[:, 3:6].astype(np.float32),
            rows[:, 6].astype(np.int32),
            np.full(sum(counts), instance_id, np.int32),
        )

    @staticmethod
    def joined(pieces: Sequence[Triangles]) -> Triangles:
        """Several sets as one."""
        names = ("points", "normals", "uvs", "color", "surface", "texture", "instance")
        return Triangles(*(np.concatenate([getattr(p, name) for p in pieces]) for name in names))


@dataclass(frozen=True, eq=False)
class World:
    """A scene that rays can be cast into."""

    triangles: Triangles
    embree: EmbreeScene

    @staticmethod
    def of(pieces: Sequence[Triangles]) -> World:
        """A world of sets of triangles."""
        triangles = Triangles.joined(pieces)
        embree = EmbreeScene()
        TriangleMesh(embree, triangles.points)
        return World(triangles, embree)


@dataclass(frozen=True, eq=False)
class Hits:
    """Where rays hit: distance in units of the ray's direction, triangle (NOTHING: none) and barycentric u, v."""

    distance: Float32Array
    triangle: IntArray
    u: Float32Array
    v: Float32Array


def triangles_of(thing: Thing) -> Triangles:
    """The triangles of a thing at its place."""
    return Triangles.of(thing.placed(), thing.instance_id)


def cast(world: World, origins: Float32Array, directions: Float32Array) -> Hits:
    """First hits of rays [n, 3]."""
    out = world.embree.run(origins, directions, output=1)
    return Hits(out["tfar"], out["primID"], out["u"], out["v"])


def blocked(world: World, origins: Float32Array, directions: Float32Array) -> npt.NDArray[np.bool_]:
    """Which rays [n, 3] hit anything within the length of their direction."""
    limit = np.full(len(origins), 0.999, np.float32)
    result: npt.NDArray[np.bool_] = world.embree.run(origins, directions, dists=limit, query="OCCLUDED") == 0
    return result


@lru_cache(maxsize=8)
def rays(intrinsics: Intrinsics) -> Float32Array:
    """Directions [h * w, 3] through the pixels' centres in the optical frame, z = 1: a hit's distance is its depth."""
    v, u = np.mgrid[0 : intrinsics.height, 0 : intrinsics.width]
    x, y = (u - intrinsics.cx) / intrinsics.fx, (v - intrinsics.cy) / intrinsics.fy
    return np.stack([x, y, np.ones_like(x)], axis=-1).reshape(-1, 3).astype(np.float32)


def render(
    world: World, intrinsics: Intrinsics, sensor_in_map: Pose, bodies: Sequence[tuple[World, Pose]] = ()
) -> View:
    """What a camera sees. ``bodies``: worlds that move (robots), each with the pose of its frame in the map."""
    size = (intrinsics.height, intrinsics.width)
    turn = rotation_matrix(sensor_in_map.orientation).astype(np.float32)
    directions = rays(intrinsics) @ turn.T
    origin = np.asarray(sensor_in_map.position, np.float32)
    hits = cast(world, np.broadcast_to(origin, directions.shape).copy(), directions)
    light = shade(world, world, hits, origin, directions, size, 1.0 / intrinsics.fx)
    hit = hits.triangle != NOTHING
    depth = np.where(hit, hits.distance, 0).astype(np.float32).reshape(size)
    labels = np.where(hit, world.triangles.instance[hits.triangle], 0).astype(np.int32).reshape(size)
    view = View(_to_srgb(light).reshape(*size, 3), depth, labels)
    for body, pose in bodies:
        _overlay(view, body, pose, intrinsics, sensor_in_map)
    return view


def _overlay(view: View, body: World, body_in_map: Pose, intrinsics: Intrinsics, sensor_in_map: Pose) -> None:
    """Draw a moving body into a finished picture, where it is nearer than what is there."""
    points = body.triangles.points.reshape(-1, 3)
    in_sensor = transform_points(inverse(sensor_in_map), transform_points(body_in_map, points))
    if not (in_sensor[:, 2] > 0.05).all():
        in_sensor = in_sensor[in_sensor[:, 2] > 0.05]
        if not len(in_sensor):
            return
    pixels = project(intrinsics, in_sensor)
    low = np.clip(np.floor(pixels.min(axis=0)).astype(int), 0, [intrinsics.width, intrinsics.height])
    high = np.clip(np.ceil(pixels.max(axis=0)).astype(int) + 1, 0, [intrinsics.width, intrinsics.height])
    size = (int(high[1] - low[1]), int(high[0] - low[0]))
    if size[0] <= 0 or size[1] <= 0:
        return
    window = (slice(low[1], high[1]), slice(low[0], high[0]))
    to_body = rotation_matrix(inverse(body_in_map).orientation) @ rotation_matrix(sensor_in_map.orientation)
    directions = rays(intrinsics).reshape(intrinsics.height, intrinsics.width, 3)[window].reshape(-1, 3)
    directions = np.ascontiguousarray(directions @ to_body.T.astype(np.float32), np.float32)
    origin = transform_points(inverse(body_in_map), [sensor_in_map.position])[0].astype(np.float32)
    hits = cast(body, np.broadcast_to(origin, directions.shape).copy(), directions)
    color = _to_srgb(shade(body, None, hits, origin, directions, size, 1.0 / intrinsics.fx)).reshape(*size, 3)
    there = view.depth[window]
    near = (hits.triangle != NOTHING).reshape(size) & ((there == 0) | (hits.distance.reshape(size) < there))
    view.color[window][near] = color[near]
    view.depth[window][near] = hits.distance.reshape(size)[near]
    view.labels[window][near] = body.triangles.instance[hits.triangle].reshape(size)[near]


def shade(
    world: World,
    shadows: World | None,
    hits: Hits,
    origin: Float32Array,
    directions: Float32Array,
    size: tuple[int, int],
    pixel_angle: float,
) -> Float32Array:
    """Linear light [n, 3] at the hits. ``shadows``: what shades them; None: nothing, and no lamp is known there."""
    t, tri = world.triangles, hits.triangle
    points = origin + hits.distance[:, None] * directions
    points[tri == NOTHING] = origin
    normals = _facing(_corners(t.normals, hits), directions)
    albedo = t.color[tri] * _texels(t, hits, directions, normals, pixel_angle)
    gloss, glow = t.surface[tri, 0], t.surface[tri, 1]
    side = normals @ np.array([0.35, 0.5, 0.0], np.float32)
    ambient = AMBIENT * (0.84 + 0.16 * normals[:, 2] + 0.10 * side)
    if shadows is None:
        light = ambient[:, None] + 0.45 * np.clip(normals[:, 2:], 0, 1)
        return np.asarray(albedo * light, np.float32)
    start = points + np.float32(0.004) * normals
    to_lamp, color = _lamps(points)
    lit = _average(~blocked(shadows, start, to_lamp + _lamp_spot(size)), size)
    open_sky = _average(~blocked(shadows, start, _hemisphere(normals, size)), size)
    distance = _length(to_lamp)
    facing = np.clip(_dot(normals, to_lamp) / distance, 0, 1)
    falloff = 1.6 / (0.9 + 0.35 * distance**2)
    half = to_lamp / distance[:, None] - directions / _length(directions)[:, None]
    shine = gloss * np.clip(_dot(normals, half) / np.maximum(_length(half), 1e-6), 0, 1) ** 40 * lit
    ambient *= 0.45 + 0.55 * open_sky
    light = ambient[:, None] + (LAMP * facing * falloff * lit)[:, None] * color
    light = light * (1 - glow[:, None]) + glow[:, None] * 1.05
    return np.asarray(albedo * light + 0.5 * shine[:, None], np.float32)


def _corners(values: Float32Array, hits: Hits) -> Float32Array:
    """Interpolate corner values [t, 3, k] at the hits."""
    corner = values[hits.triangle]
    u, v = hits.u[:, None], hits.v[:, None]
    return np.asarray(corner[:, 0] * (1 - u - v) + corner[:, 1] * u + corner[:, 2] * v, np.float32)


def _facing(normals: Float32Array, directions: Float32Array) -> Float32Array:
    """Unit normals, turned towards the viewer."""
    scale = 1 / np.maximum(_length(normals), 1e-6)
    return np.asarray(normals * np.where(_dot(normals, directions) > 0, -scale, scale)[:, None], np.float32)


def _dot(a: Float32Array, b: Float32Array) -> Any:
    return np.einsum("ij,ij->i", a, b)


def _length(a: Float32Array) -> Any:
    return np.sqrt(np.einsum("ij,ij->i", a, a))


def _texels(
    t: Triangles, hits: Hits, directions: Float32Array, normals: Float32Array, pixel_angle: float
) -> Float32Array:
    """Texture colours [n, 3] at the hits, from the level of detail that suits the distance."""
    uv = _corners(t.uvs, hits)
    slant = np.maximum(np.abs(_dot(normals, directions)), 0.25)
    footprint = hits.distance * pixel_angle / slant * t.surface[hits.triangle, 2] * SIZE
    level = np.clip(np.log2(np.clip(footprint, 1, 2**LEVELS)), 0, LEVELS - 1).astype(np.int32)
    edge = SIZE >> level
    cell = np.floor((uv - np.floor(uv)) * edge[:, None]).astype(np.int32)
    cell = np.minimum(cell, edge[:, None] - 1)
    texels, starts = _pyramid()
    return np.asarray(texels[starts[level] + t.texture[hits.triangle] * edge * edge + cell[:, 1] * edge + cell[:, 0]])


@lru_cache(maxsize=1)
def _pyramid() -> tuple[Float32Array, IntArray]:
    """All textures at all levels of detail, flat [texels, 3], and where each level starts."""
    tiles = atlas()[1]
    levels, starts, at = [], [], 0
    for _ in range(LEVELS):
        starts.append(at)
        levels.append(tiles.reshape(-1, 3))
        at += len(levels[-1])
        n, edge = len(tiles), tiles.shape[1] // 2
        tiles = tiles.reshape(n, edge, 2, edge, 2, 3).mean(axis=(2, 4))
    return np.concatenate(levels), np.asarray(starts, np.int32)


@lru_cache(maxsize=1)
def _room_grid() -> tuple[IntArray, Float32Array]:
    """Room index on a fine grid, and lamps [rooms, 9]: middle, reach along x and y, height, colour."""
    step = GRID
    columns, rows = round((EXTENT[2] - EXTENT[0]) / step), round((EXTENT[3] - EXTENT[1]) / step)
    index = np.zeros((columns, rows), np.int32)
    lamps = np.array([_lamp(room) for room in ROOMS], np.float32)
    for k, room in enumerate(ROOMS):
        low = round((room.x0 - EXTENT[0]) / step), round((room.y0 - EXTENT[1]) / step)
        high = round((room.x1 - EXTENT[0]) / step), round((room.y1 - EXTENT[1]) / step)
        index[low[0] : high[0], low[1] : high[1]] = k
    return index, lamps


def _lamp(room: Room) -> tuple[float, ...]:
    """A lamp in the middle; in long rooms it is a tube along the length."""
    length, width = room.x1 - room.x0, room.y1 - room.y0
    return (*room.centre, max(0.0, length - width) * 0.42, max(0.0, width - length) * 0.42, CEILING - 0.35, *room.light)


def _lamps(points: Float32Array) -> tuple[Float32Array, Float32Array]:
    """Vectors from the points to the nearest spot of their room's lamp, and that lamp's colour, [n, 3] each."""
    index, lamps = _room_grid()
    cell = ((points[:, :2] - np.asarray(EXTENT[:2], np.float32)) * np.float32(1 / GRID)).astype(np.int32)
    cell = np.clip(cell, 0, np.asarray(index.shape) - 1)
    lamp = lamps[index[cell[:, 0], cell[:, 1]]]
    to_lamp = np.empty_like(points)
    to_lamp[:, :2] = np.clip(points[:, :2], lamp[:, :2] - lamp[:, 2:4], lamp[:, :2] + lamp[:, 2:4])
    to_lamp[:, 2] = lamp[:, 4]
    return to_lamp - points, lamp[:, 5:8]


@lru_cache(maxsize=16)
def _lamp_spot(size: tuple[int, int]) -> Float32Array:
    """Offsets [h * w, 3] of the pixels' spots on the disc of a lamp."""
    return _pattern(size) * np.array([LAMP_SIZE_M, LAMP_SIZE_M, 0], np.float32)


@lru_cache(maxsize=16)
def _pattern(size: tuple[int, int]) -> Float32Array:
    """Per pixel [h * w, 3], in tiles of 4 x 4: a spot in the unit disc and the height of the hemisphere over it."""
    k = np.arange(DITHER * DITHER)
    order = (k * 7) % (DITHER * DITHER)
    radius, angle = np.sqrt((order + 0.5) / (DITHER * DITHER)), order * math.pi * (3 - math.sqrt(5))
    spot = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.sqrt(1 - radius**2)], axis=1)
    tile = spot.reshape(DITHER, DITHER, 3)
    repeats = (-(-size[0] // DITHER), -(-size[1] // DITHER), 1)
    return np.tile(tile, repeats)[: size[0], : size[1]].reshape(-1, 3).astype(np.float32)


def _hemisphere(normals: Float32Array, size: tuple[int, int]) -> Float32Array:
    """One short ray a pixel into the hemisphere over its normal, cosine-weighted (basis: Duff et al., JCGT 2017)."""
    x, y, z = normals.T
    sign = np.where(z < 0, np.float32(-1), np.float32(1))
    a = -1 / (sign + z)
    b = x * y * a
    u, v, w = (OCCLUSION_M * _pattern(size)).T
    return np.stack(
        [
            u * (1 + sign * x * x * a) + v * b + w * x,
            u * sign * b + v * (sign + y * y * a) + w * y,
            -u * sign * x - v * y + w * z,
        ],
        axis=1,
    ).astype(np.float32)


def _average(values: npt.NDArray[np.bool_], size: tuple[int, int]) -> Float32Array:
    """Average a dithered quantity over its pattern."""
    picture = values.astype(np.float32).reshape(size)
    mean = cv2.blur(picture, (DITHER, DITHER), borderType=cv2.BORDER_REFLECT)
    return np.asarray(mean, np.float32).reshape(-1)


@lru_cache(maxsize=1)
def _gamma() -> npt.NDArray[np.uint8]:
    """Linear light 0..1 in 4096 steps -> sRGB, with a soft shoulder."""
    x = np.linspace(0, 1.6, 4096)
    x = np.where(x < 0.7, x, 0.7 + 0.3 * (1 - np.exp(-(x - 0.7) / 0.3)))
    encoded = np.where(x <= 0.0031308, 12.92 * x, 1.055 * np.power(np.maximum(x, 1e-9), 1 / 2.4) - 0.055)
    return np.clip(np.round(encoded * 255), 0, 255).astype(np.uint8)


def _to_srgb(light: Float32Array) -> npt.NDArray[np.uint8]:
    return np.asarray(_gamma()[np.clip(light * (4095 / 1.6), 0, 4095).astype(np.int16)])


def _surface(material: Material) -> tuple[float, ...]:
    """Linear colour, gloss, glow, tiles per metre, texture index."""
    names, _ = atlas()
    color: FloatArray = np.asarray(material.color, float)
    linear = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
    per_metre = 1 / material.period if material.period > 0 else 2.0
    return (*(float(c) for c in linear), material.gloss, material.glow, per_metre, float(names.index(material.texture)))
