"""Runs of the simulation: determinism, paths, the script, and the truth that goes with them."""

import itertools
import json
import math

import numpy as np
import pytest

from r4_ros.bridges.apartment.layout import furnish
from r4_ros.bridges.apartment.paths import RADIUS, SPEED, TICK, TURN_RATE, Floor, Stop, drive
from r4_ros.bridges.apartment.robots import Robot, closest_approach, make_robot
from r4_ros.bridges.apartment.scene import DOORWAYS, Thing, room_at
from r4_ros.bridges.apartment.script import DEFAULT_SCRIPT, Change, Stage
from r4_ros.bridges.apartment.simulation import START_NS, Simulation
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.geometry import compose, inverse, project, relative, rotation_angle, transform_points
from r4_ros.core.model import NS_PER_S

TINY = (64, 48)


@pytest.fixture(scope="module")
def floor() -> Floor:
    return Floor(furnish(0))


@pytest.fixture(scope="module")
def robots(floor: Floor) -> list[Robot]:
    return [make_robot(f"robot{k + 1}", k, floor, 0, 120.0, 0.0) for k in range(2)]


@pytest.fixture(scope="module")
def run() -> Simulation:
    """The default run as a quick look: tiny pictures, two a second."""
    simulation = Simulation(size=TINY, rate_hz=2.0)
    for _ in simulation.frames():
        pass
    return simulation


def test_the_same_seed_gives_the_same_bytes() -> None:
    def shoot(seed: int) -> list[tuple[object, ...]]:
        simulation = Simulation(seed, 1.0, 4.0, TINY, depth_noise=True, odom_drift=0.02)
        return [
            (f.agent_id, f.stamp_ns, f.color.tobytes(), f.depth.tobytes(), f.labels.tobytes(), f.sensor_in_odom)
            for f in simulation.frames()
        ]

    assert shoot(3) == shoot(3)
    assert shoot(3) != shoot(4)


def test_frames_come_in_the_order_of_their_stamps_and_robots_take_turns() -> None:
    simulation = Simulation(duration_s=1.0, rate_hz=4.0, size=TINY)
    frames = list(simulation.frames())
    assert len(frames) == simulation.frame_count == 8
    stamps = [f.stamp_ns for f in frames]
    assert stamps == sorted(set(stamps)) and stamps[0] == START_NS
    assert [f.agent_id for f in frames] == ["robot1", "robot2"] * 4
    frame = frames[0]
    assert frame.color.shape == (48, 64, 3) and frame.color.dtype == np.uint8
    assert frame.depth.shape == frame.labels.shape == (48, 64)
    assert frame.depth.dtype == np.float32 and frame.labels.dtype == np.int32
    assert frame.image.legend is simulation.legend


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_robots_keep_clear_of_walls_furniture_and_each_other(seed: int) -> None:
    ground = Floor(furnish(seed))
    team = [make_robot(f"robot{k + 1}", k, ground, seed, 120.0, 0.0) for k in range(2)]
    for robot in team:
        assert ground.clearance(robot.truth.poses[:, :2]).min() >= RADIUS - 1e-9
    assert closest_approach(team) > 2 * RADIUS


def test_robots_move_smoothly(robots: list[Robot]) -> None:
    for robot in robots:
        step = np.diff(robot.truth.poses, axis=0) / TICK
        assert np.hypot(step[:, 0], step[:, 1]).max() <= SPEED * 1.02
        assert np.abs(step[:, 2]).max() <= TURN_RATE * 1.02
        assert robot.truth.duration_s >= 120


def test_robots_visit_every_room_but_the_storage_room(robots: list[Robot]) -> None:
    rooms = [{room_at(x, y) for x, y, _ in robot.truth.poses} for robot in robots]
    assert rooms[0] == {"living room", "kitchen", "hallway", "bedroom"}
    assert rooms[0] | rooms[1] == {"living room", "kitchen", "hallway", "bedroom", "bathroom", "study"}


def test_every_open_door_is_passable(floor: Floor) -> None:
    for door in DOORWAYS:
        x, y = door.centre
        dx, dy = (0.55, 0.0) if door.axis == "x" else (0.0, 0.55)
        if "storage room" in door.rooms:
            with pytest.raises(InvalidArgument, match="no way"):
                floor.way((x - dx, y - dy), (11.6, 5.6))
        else:
            way = floor.way((x - dx, y - dy), (x + dx, y + dy))
            assert floor.clearance(way).min() >= RADIUS
            assert np.linalg.norm(np.diff(way, axis=0), axis=1).sum() < 1.6


def test_a_tour_stops_where_it_should_and_looks_around(floor: Floor) -> None:
    trajectory = drive(floor, [Stop(4.4, 2.1, (0,)), Stop(4.4, 3.3, (90, 180))], 12.0)
    near = np.hypot(trajectory.poses[:, 0] - 4.4, trajectory.poses[:, 1] - 3.3) < 0.01
    yaws = np.degrees(trajectory.poses[near, 2]) % 360
    assert np.abs(yaws - 180).min() < 0.5 and np.abs(yaws - 90).min() < 0.5
    x, y, yaw = trajectory.at(TICK / 2)
    assert (x, y) == (pytest.approx(4.4), pytest.approx(2.1)) and yaw == pytest.approx(0, abs=0.05)


def test_odometry_is_true_without_drift_and_wanders_with_it(floor: Floor) -> None:
    for drift, low, high in ((0.0, 0.0, 0.01), (0.05, 0.2, 12.0)):
        robot = make_robot("r", 0, floor, 0, 60.0, drift)
        true_motion = relative(robot.base_in_map(0.0), robot.base_in_map(60.0))
        believed = relative(robot.base_in_odom(0.0), robot.base_in_odom(60.0))
        assert low <= math.dist(true_motion.position, believed.position) <= high
    assert robot.base_in_odom(0.0).position == (0.0, 0.0, 0.0)


def test_poses_of_a_frame_agree() -> None:
    simulation = Simulation(duration_s=1.0, rate_hz=1.0, size=TINY)
    frame = next(simulation.frames())
    base = compose(frame.sensor_in_map, frame.base_in_sensor)
    assert base.position[2] == pytest.approx(0, abs=1e-9)
    first = simulation.robots[0].base_in_map(0.0)
    assert math.dist(base.position, first.position) < 1e-9
    assert rotation_angle(base.orientation, first.orientation) < 1e-6


def test_labels_agree_with_where_things_are() -> None:
    """A thing whose middle lies in the view with nothing before it is what the label image says there."""
    simulation = Simulation(duration_s=12.0, rate_hz=1.0, size=(160, 120))
    checked = 0
    for frame in simulation.frames():
        for standing in simulation.truth(frame.stamp_ns):
            if standing.label not in {"tv", "monitor", "fridge", "vase", "picture", "window", "laptop", "bowl"}:
                continue
            point = transform_points(inverse(frame.sensor_in_map), [standing.box.pose.position])
            u, v = project(frame.intrinsics, point)[0]
            if not (0 <= u < 159 and 0 <= v < 119):
                continue
            measured = frame.depth[round(v), round(u)]
            if abs(measured - point[0, 2]) < 0.05:
                checked += 1
                assert frame.labels[round(v), round(u)] == standing.instance_id, standing.name
    assert checked > 5


def test_depth_noise_leaves_most_depth_about_right() -> None:
    clean = next(Simulation(duration_s=1.0, rate_hz=1.0, size=TINY).frames()).depth
    noisy = next(Simulation(duration_s=1.0, rate_hz=1.0, size=TINY, depth_noise=True).frames()).depth
    both = (clean > 0) & (noisy > 0)
    assert 0.5 < both.sum() / (clean > 0).sum() < 1.0
    assert 0 < np.abs(clean - noisy)[both].mean() < 0.02


def test_the_script_happens_and_nobody_watches_what_is_unwatched(run: Simulation) -> None:
    ids = {thing.name: thing.instance_id for thing in run.stage.things}
    log = run.truth_log()
    assert len(run.stage.script) == len(DEFAULT_SCRIPT) == 6
    for change in DEFAULT_SCRIPT:
        stamp = START_NS + round(change.at_s * NS_PER_S)
        before = {s.instance_id: s for s in run.truth(stamp - 1)}
        after = {s.instance_id: s for s in run.truth(stamp)}
        number = ids[change.name]
        assert (number in after) == (change.to is not None)
        if change.to is not None and number in before:
            assert math.dist(before[number].box.pose.position, after[number].box.pose.position) > 0.5
        if not change.watched:
            frames = [f for f in log["frames"] if abs(f["stamp_ns"] - stamp) <= NS_PER_S / 4]
            assert frames and all(str(number) not in f["pixels"] for f in frames), change.name


def test_robot1_sees_each_changed_thing_before_and_its_place_after(run: Simulation) -> None:
    ids = {thing.name: thing.instance_id for thing in run.stage.things}
    frames = [f for f in run.truth_log()["frames"] if f["agent_id"] == "robot1"]
    for change in DEFAULT_SCRIPT:
        stamp, number = START_NS + round(change.at_s * NS_PER_S), str(ids[change.name])
        before = [f for f in frames if f["stamp_ns"] < stamp and number in f["pixels"]]
        after = [f for f in frames if f["stamp_ns"] > stamp and number in f["pixels"]]
        if change.name != "palm" or change.to is None:
            assert before, change.name
        if change.to is not None:
            assert after, change.name


def test_the_storage_room_is_never_seen(run: Simulation) -> None:
    hidden = {str(s.instance_id) for s in run.stays if s.room == "storage room" and s.label != "door"}
    assert len(hidden) == 4
    assert not any(hidden & f["pixels"].keys() for f in run.truth_log()["frames"])


def test_the_truth_log_is_json_and_counts_pixels(run: Simulation) -> None:
    log = json.loads(json.dumps(run.truth_log()))
    assert len(log["frames"]) == run.frame_count
    assert all(sum(f["pixels"].values()) <= TINY[0] * TINY[1] for f in log["frames"])
    palm = next(o for o in log["objects"] if o["name"] == "palm")
    assert len(palm["stays"]) == 2 and palm["stays"][0]["room"] == "hallway"
    mug = next(o for o in log["objects"] if o["name"] == "kitchen red mug")
    assert [s["room"] for s in mug["stays"]] == ["kitchen", "living room"]
    assert mug["stays"][0]["end_ns"] == mug["stays"][1]["start_ns"]


def test_a_stage_refuses_things_that_are_not_there() -> None:
    with pytest.raises(InvalidArgument, match="unicorn"):
        Stage(furnish(0), [Change(1.0, "unicorn", None)], 10.0)


def test_changes_after_the_end_do_not_happen() -> None:
    things: list[Thing] = furnish(0)
    assert Stage(things, DEFAULT_SCRIPT, 30.0).starts == [0.0, 26.6]
    assert len(Stage(things, (), 30.0).at(29.0)) == len(things)


@pytest.mark.parametrize(
    "bad", [{"duration_s": 0}, {"duration_s": math.nan}, {"rate_hz": 0}, {"size": (8, 8)}, {"robots": ()}]
)
def test_arguments_out_of_range_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument):
        Simulation(**bad)  # type: ignore[arg-type]


def test_the_cameras_see_each_other(run: Simulation) -> None:
    robot_ids = {str(k) for k, name in run.legend.items() if name == "robot"}
    assert len(robot_ids) == 2
    assert any(robot_ids & f["pixels"].keys() for f in run.truth_log()["frames"])


def test_a_person_walks_about_hides_what_is_behind_and_is_in_the_truth() -> None:
    walked = Simulation(2, 30.0, 1.0, TINY, ("robot1",), people=1)
    alone = Simulation(2, 30.0, 1.0, TINY, ("robot1",))
    number = next(k for k, label in walked.legend.items() if label == "person")
    hidden = 0
    for frame, empty in zip(walked.frames(), alone.frames(), strict=True):
        person = frame.labels == number
        assert (frame.labels[~person] == empty.labels[~person]).all()
        nearer = (frame.depth[person] < empty.depth[person]) | (empty.depth[person] == 0)
        assert nearer.all()
        hidden += int(person.sum())
    assert hidden > 50
    (told,) = walked.truth_log()["people"]  # type: ignore[misc]
    trail = told["trail"]  # type: ignore[index]
    assert len(trail) == 30 and {"id", "label", "extent"} <= set(told)
    assert max(abs(a[1] - b[1]) + abs(a[2] - b[2]) for a, b in itertools.pairwise(trail)) < 3
    assert len({tuple(p[1:]) for p in trail}) > 5
