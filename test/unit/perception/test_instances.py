"""Things get one number from frame to frame, by track, else by label and place."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.geometry import quat_from_yaw
from r4_ros.core.model import Box, Observation, Pose
from r4_ros.perception.capture import Placement
from r4_ros.perception.instances import Instances


def at(label: str, *place: float, track: str = "", size: float = 0.1) -> Observation:
    return Observation(0, label, Box(Pose((place[0], place[1], place[2])), (size, size, size)), track_id=track)


def here(x: float = 0.0, session: int = 0, yaw: float = 0.0) -> Placement:
    return Placement(1, "camera", Pose((x, 0.0, 0.0), quat_from_yaw(yaw)), session=session)


def test_by_place_in_the_map_and_label() -> None:
    things = Instances()
    assert things.numbers([at("mug", 0, 0, 1), at("mug", 0.5, 0, 1), at("book", 0, 0, 1)], here()) == [1, 2, 3]
    moved = [at("book", -1.05, 0, 1), at("mug", -0.5, 0, 1), at("mug", -1, 0, 1)]
    assert things.numbers(moved, here(x=1.0)) == [3, 2, 1]  # the camera moved, they didn't
    assert things.numbers([at("mug", 3, 0, 1)], here()) == [4]


def test_two_beside_each_other_in_one_frame_are_two() -> None:
    things = Instances()
    assert things.numbers([at("mug", 0, 0, 1), at("mug", 0.1, 0, 1)], here()) == [1, 2]
    assert things.numbers([at("mug", 0.02, 0, 1), at("mug", 0.11, 0, 1)], here()) == [1, 2]


def test_by_track_however_far_and_whatever_its_label() -> None:
    things = Instances()
    assert things.numbers([at("mug", 0, 0, 1, track="7")], here()) == [1]
    assert things.numbers([at("cup", 5, 0, 1, track="7")], here()) == [1]
    assert things.numbers([at("cup", 5, 0, 1)], here()) == [1]
    assert things.numbers([at("mug", 0, 0, 1)], here()) == [2]  # it isn't there any more, and no mug
    assert things.numbers([at("mug", 9, 0, 1, track="7")], here(session=1)) == [3]  # track ids begin anew


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("ab"), st.floats(-2, 2), st.sampled_from(["", "1", "2"])), max_size=5),
        max_size=12,
    )
)
@settings(max_examples=60)
def test_each_number_at_most_once_a_frame_and_little_is_kept(frames: list[list[tuple[str, float, str]]]) -> None:
    things = Instances(most=6)
    for frame in frames:
        numbers = things.numbers([at(label, x, 0, 1, track=track) for label, x, track in frame], here())
        assert len(set(numbers)) == len(numbers) == len(frame)
        assert len(things._known) <= 6 and sum(map(len, things._by_label.values())) == len(things._known)
        assert set(things._tracks.values()) <= set(things._known)
