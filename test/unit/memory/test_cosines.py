"""Vectors read directly or through their copy in bytes: always what a plain product gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.memory import byte_copies, cosines
from r4_ros.memory.cosines import UnitVectors


def units(rng: np.random.Generator, count: int, dimension: int, clusters: int) -> np.ndarray:
    """Unit vectors as a store keeps them; in few clusters many are almost the same."""
    middles = rng.standard_normal((clusters, dimension))
    vectors = middles[rng.integers(0, clusters, count)] + rng.choice([0.01, 0.3]) * rng.standard_normal(
        (count, dimension)
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float16).astype(np.float32)


@pytest.fixture
def bytes_from_64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cosines, "BYTES_FROM", 64)
    monkeypatch.setattr(cosines, "_FIRST", 16)
    monkeypatch.setattr(cosines, "_DIRECT", 20)


@given(seed=st.integers(0, 10_000), dimension=st.sampled_from([8, 24, 384]), clusters=st.sampled_from([1, 5, 50]))
@settings(max_examples=30, deadline=None)
def test_found_are_those_of_a_plain_product(seed: int, dimension: int, clusters: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cosines, "BYTES_FROM", 64)
        patch.setattr(cosines, "_FIRST", 16)
        patch.setattr(cosines, "_DIRECT", 20)
        patch.setattr(cosines, "_ENOUGH", 16)
        patch.setattr(byte_copies, "SKETCH", 6)
        rng = np.random.default_rng(seed)
        every = units(rng, int(rng.integers(1, 700)), dimension, clusters)
        vectors = UnitVectors(dimension)
        while len(vectors) < len(every):
            vectors.append(every[len(vectors) : len(vectors) + int(rng.integers(1, 150))])
        query = every[rng.integers(len(every))] if rng.random() < 0.5 else units(rng, 1, dimension, clusters)[0]
        right = every.astype(float) @ query
        threshold = float(rng.uniform(-0.2, 0.99))
        rows, found = vectors.above(query[None], threshold)
        near = np.abs(right - threshold) < 1e-6
        assert set(np.flatnonzero((right >= threshold) & ~near)) <= set(rows)
        assert set(rows) <= set(np.flatnonzero((right >= threshold) | near))
        np.testing.assert_allclose(found, right[rows], atol=2e-6)
        half = np.flatnonzero(rng.random(len(every)) < 0.5)
        assert set(half) & set(vectors.above(query[None], threshold, half)[0]) == set(half) & set(rows)
        allowed = rng.random(len(every)) < rng.choice([0.05, 0.12, 0.6])
        for mask in (None, allowed):
            chosen = np.arange(len(every)) if mask is None else np.flatnonzero(mask)
            rows, found = vectors.nearest(query, 10, None if mask is None else chosen)
            assert set(rows) <= set(chosen) and len(set(rows)) == len(rows) == min(10, len(chosen))
            np.testing.assert_allclose(found, np.sort(right[chosen])[::-1][:10], atol=2e-6)


@given(
    seed=st.integers(0, 10_000),
    dimension=st.sampled_from([16, 24, 384]),
    clusters=st.sampled_from([1, 5, 50]),
    axes=st.sampled_from([2, 7, 8]),
)
@settings(max_examples=40, deadline=None)
def test_no_copy_makes_a_row_less_near_than_it_says(seed: int, dimension: int, clusters: int, axes: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_copies, "SKETCH", axes)
        rng = np.random.default_rng(seed)
        every = units(rng, 400, dimension, clusters)
        every[rng.integers(0, 400, 40)] *= np.float32(0.5)  # whatever their lengths
        first = every[: int(rng.integers(1, 400))].astype(np.float16)
        copies = byte_copies.copies_of(first)
        assert len(copies) == 2
        later = units(rng, 400 - len(first), dimension, 3)
        later[:1], every[len(first) :] = np.eye(dimension, dtype=np.float32)[0] if len(later) else 0, later
        query = every[rng.integers(400)] if rng.random() < 0.5 else units(rng, 1, dimension, clusters)[0]
        halves = every.astype(np.float16)
        right, some = halves.astype(float) @ query, rng.permutation(400)[:300]
        for copy, is_sketch in zip(copies, (True, False), strict=True):
            copy.append(halves[len(first) :])
            rough, wrong = copy.dots(query, some)
            assert (rough + wrong >= right[some]).all()
            assert is_sketch or (rough - wrong <= right[some]).all()
            nearest, farthest = copy.nearest(query, 50)
            threshold = float(rng.uniform(-0.2, 1.0))
            if farthest >= copy.reach(query, threshold):
                assert set(np.flatnonzero(right > threshold)) <= set(nearest.tolist())


def test_sketches_of_clustered_vectors_leave_little_to_look_at(bytes_from_64: None) -> None:
    every = units(np.random.default_rng(4), 4000, 384, 50)
    sketch, _ = byte_copies.copies_of(every.astype(np.float16))
    right = every @ every[7]
    rough, wrong = sketch.dots(every[7], np.arange(4000))
    assert np.count_nonzero(rough + wrong >= np.sort(right)[-10]) < 400


def test_later_vectors_with_larger_elements_are_found(bytes_from_64: None) -> None:
    vectors = UnitVectors(16)
    vectors.append(np.full((200, 16), 0.25, np.float32))
    axis = np.eye(16, dtype=np.float32)
    vectors.append(axis)
    rows, found = vectors.nearest(axis[3], 1)
    assert rows.tolist() == [203] and found == pytest.approx([1.0])
    assert vectors.above(axis[3:4], 0.9)[0].tolist() == [203]


def test_copies_that_grow_into_large_pages_keep_what_they_have(bytes_from_64: None) -> None:
    every = units(np.random.default_rng(5), 24_000, 384, 1000)
    vectors = UnitVectors(384)
    for first in range(0, len(every), 5000):
        vectors.append(every[first : first + 5000])
    for row in (0, 4999, 5000, 11_000, 23_999):
        rows, found = vectors.nearest(every[row], 10)
        assert rows[0] == row
        np.testing.assert_allclose(found, np.sort(every @ every[row])[::-1][:10], atol=2e-6)


def test_equal_vectors_come_in_the_order_of_their_rows(bytes_from_64: None) -> None:
    vectors = UnitVectors(8)
    vectors.append(np.tile(np.eye(8, dtype=np.float32)[0], (500, 1)))
    assert vectors.nearest(np.eye(8, dtype=np.float32)[0], 4)[0].tolist() == [0, 1, 2, 3]


@given(seed=st.integers(0, 10_000), asked=st.integers(1, 4), kept=st.sampled_from([0, 60, 10_000]))
@settings(max_examples=30, deadline=None)
def test_what_is_remembered_of_several_vectors_holds_when_rows_come_later(seed: int, asked: int, kept: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("BYTES_FROM", 64), ("_FIRST", 16), ("_DIRECT", 20), ("_CHUNK", 48), ("_KEPT_ROWS", kept)):
            patch.setattr(cosines, name, value)
        rng = np.random.default_rng(seed)
        vectors, every = UnitVectors(24), units(rng, 300, 24, 5)
        queries = np.concatenate([every[rng.integers(0, 300, asked)], every[:1], every[:1]])
        threshold = float(rng.uniform(-0.2, 0.99))
        for first in range(0, 300, 100):
            vectors.append(every[first : first + 100])
            one_by_one = [vectors.above(query[None], threshold) for query in queries[: rng.integers(0, asked + 1)]]
            rows, found = vectors.above(queries, threshold)
            right = (every[: first + 100].astype(float) @ queries.T.astype(float)).max(axis=1)
            assert np.all(np.diff(rows) > 0)
            assert set(np.flatnonzero(right >= threshold + 1e-6)) <= set(rows)
            assert (right[rows] >= threshold - 1e-6).all()
            np.testing.assert_allclose(found, right[rows], atol=2e-6)
            for its_rows, its in one_by_one:
                assert np.isin(its_rows, rows).all() and (found[np.searchsorted(rows, its_rows)] >= its).all()
