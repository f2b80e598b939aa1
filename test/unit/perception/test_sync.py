"""Matching by stamp (CASES 3)."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.errors import RefusalReason
from r4_ros.perception.sync import Match, Matcher

MS = 1_000_000


def matcher(slop_s: float = 0.05, *roles: str) -> Matcher:
    return Matcher([("depth", RefusalReason.NO_DEPTH), *((role, RefusalReason.NO_LABELS) for role in roles)], slop_s)


def test_the_nearest_partner_is_taken_not_the_first() -> None:
    m = matcher()
    m.add_partner("depth", 70 * MS, "early")
    assert m.add_lead(100 * MS, "c") == ([], [])  # a nearer one may still come
    matches, _ = m.add_partner("depth", 105 * MS, "near")
    assert [match.partners["depth"] for match in matches] == ["near"]
    assert m.offsets_s["depth"] == pytest.approx(0.005)


def test_equal_stamps_match_at_once_in_any_order() -> None:
    for order in permutations(["c", "depth", "label"]):
        m = matcher(0.05, "label")
        found: list[Match] = []
        for what in order:
            new, _ = m.add_lead(5 * MS, "c") if what == "c" else m.add_partner(what, 5 * MS, what)
            found += new
        assert [(f.lead, f.partners) for f in found] == [("c", {"depth": "depth", "label": "label"})]


def test_what_is_too_far_is_refused_with_the_offset() -> None:
    m = matcher()
    m.add_lead(1000 * MS, "c")
    _, refused = m.add_partner("depth", 1700 * MS, "d")
    assert [r.reason for r in refused] == [RefusalReason.STAMP_MISMATCH]
    assert "+0.700 s" in str(refused[0])
    assert refused[0].stamp_ns == 1000 * MS


def test_a_stream_that_lags_by_700_ms_is_waited_for() -> None:
    m = matcher()
    found: list[Match] = []
    for i in range(60):
        found += m.add_lead(i * 100 * MS, i)[0]
        if i >= 7:
            found += m.add_partner("depth", (i - 7) * 100 * MS + MS, i - 7)[0]
    assert [match.lead for match in found] == list(range(53))
    assert all(match.lead == match.partners["depth"] for match in found)


def test_without_a_partner_it_is_refused_after_a_second() -> None:
    m = matcher()
    refused = [error for i in range(20) for error in m.add_lead(i * 100 * MS, i)[1]]
    assert len(refused) == 9
    assert {error.reason for error in refused} == {RefusalReason.NO_DEPTH}


def test_one_depth_image_may_serve_several_colour_images() -> None:
    m = matcher()
    m.add_lead(10 * MS, "a")
    m.add_lead(30 * MS, "b")
    matches, _ = m.add_partner("depth", 40 * MS, "d")
    assert [match.lead for match in matches] == ["a", "b"]


def test_the_end_decides() -> None:
    m = matcher()
    m.add_partner("depth", 80 * MS, "d")
    m.add_lead(100 * MS, "c")
    assert m.waiting == 1
    matches, refused = m.finish()
    assert [match.lead for match in matches] == ["c"]
    assert not refused
    assert m.waiting == 0


@settings(max_examples=60, deadline=None)
@given(
    leads=st.lists(st.integers(0, 400), max_size=12, unique=True),
    partners=st.lists(st.integers(0, 400), max_size=12, unique=True),
    seed=st.randoms(use_true_random=False),
)
def test_interleaving_does_not_matter(leads: list[int], partners: list[int], seed: object) -> None:
    """Each topic arrives in order; how the two are interleaved changes nothing."""

    def run(order: list[tuple[str, int]]) -> set[tuple[int, int]]:
        m = matcher(0.05)
        found: list[Match] = []
        for what, stamp in order:
            found += (m.add_lead(stamp * MS, stamp) if what == "c" else m.add_partner("depth", stamp * MS, stamp))[0]
        return {(match.lead, match.partners["depth"]) for match in found + m.finish()[0]}

    colors, depths = [("c", s) for s in sorted(leads)], [("d", s) for s in sorted(partners)]
    mixed, a, b = [], colors[:], depths[:]
    while a or b:
        source = a if not b or (a and seed.random() < 0.5) else b  # type: ignore[attr-defined]
        mixed.append(source.pop(0))
    expected = {(c, min(partners, key=lambda p: (abs(p - c), p))) for c in leads if partners}
    assert run(colors + depths) == run(mixed) == {(c, d) for c, d in expected if abs(c - d) <= 50}


def test_one_wrong_stamp_of_a_partner_spoils_no_later_match() -> None:
    """A depth image from the far future must not make later colour images believe that their depth is past."""
    m = matcher()
    m.add_partner("depth", 10**18, "astray")
    for k in range(2, 6):
        assert m.add_lead(k * 1000 * MS, "color") == ([], [])
        (match,), refused = m.add_partner("depth", k * 1000 * MS, "depth")
        assert (match.stamp_ns, refused) == (k * 1000 * MS, [])
