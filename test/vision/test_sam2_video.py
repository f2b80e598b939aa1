"""SAM 2 on streams: what is remembered stays bounded, and forgetting the rest changes nothing."""

from __future__ import annotations

import gc
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from r4_ros.adapters import sam2_tracker, torch_runtime
from r4_ros.adapters.sam2_meta import MetaVideo
from r4_ros.adapters.sam2_tracker import Sam2Tracker, Sam2Video
from r4_ros.adapters.sam2_transformers import TransformersVideo
from r4_ros.core.model import Intrinsics
from r4_ros.core.ports import RgbdImage, Segment

pytestmark = pytest.mark.vision
BOX = np.array([8, 10, 40, 30], np.float32)


@pytest.fixture(params=["transformers", "meta"])
def make(request: pytest.FixtureRequest) -> Callable[..., Sam2Video]:
    """``make(window=...)``: a video of either package, loaded from disk."""
    if request.param == "meta":
        checkpoint = request.getfixturevalue("meta_checkpoint")
        overrides = request.getfixturevalue("meta_overrides")
        return lambda **options: MetaVideo(str(checkpoint), "cpu", overrides=overrides, **options)
    folder = request.getfixturevalue("sam2_video_folder")
    return lambda **options: TransformersVideo(str(folder), "cpu", **options)


def tensors_alive(torch: Any) -> tuple[int, int]:
    """Number and bytes of all tensors that exist."""
    gc.collect()
    found = [x for x in gc.get_objects() if isinstance(x, torch.Tensor)]
    return len(found), sum(x.numel() * x.element_size() for x in found)


def resident_mb() -> float:
    """Memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


@pytest.mark.slow
def test_memory_is_flat_over_2000_frames(
    make: Callable[..., Sam2Video], torch: Any, picture: Callable[..., np.ndarray]
) -> None:
    window = 5
    video = make(window=window)
    video.load()
    alive, resident = [], []
    for number in range(2000):
        video.look(picture(number))
        if number == 0:
            assert video.start(1, BOX).shape == (48, 64)
        else:
            mask, probability = video.follow(1)
            assert mask.shape == (48, 64) and mask.dtype == np.bool_ and 0 <= probability <= 1
        assert video.stored_frames() == 1 + min(number, window)
        if number in (100, 1000, 1999):
            alive.append(tensors_alive(torch))
            resident.append(resident_mb())
    assert alive[0] == alive[1] == alive[2]
    assert resident[2] - resident[1] < 8, resident  # a frame that stayed would be 2000 x 0.2 MB
    video.end(1)
    assert video.stored_frames() == 0
    video.close()


def test_tracks_come_and_go_without_a_trace(
    make: Callable[..., Sam2Video], torch: Any, picture: Callable[..., np.ndarray]
) -> None:
    video = make(window=4)
    video.load()
    alive = []
    for number in range(24):
        video.look(picture(number))
        for track in range(max(0, number - 3), number):
            video.follow(track)
        video.start(number, BOX)
        if number >= 3:
            video.end(number - 3)
        assert video.stored_frames() <= 4 * 5
        if number in (12, 23):
            alive.append(tensors_alive(torch))
    assert alive[0] == alive[1]
    video.close()


def test_a_track_doesn_t_depend_on_the_others(
    make: Callable[..., Sam2Video], picture: Callable[..., np.ndarray]
) -> None:
    def run(crowd: bool) -> list[tuple[np.ndarray, float]]:
        video = make()
        video.load()
        found = []
        for number in range(8):
            video.look(picture(number))
            if crowd and number in (2, 5):
                video.start(10 + number, BOX[::-1] * 0 + np.array([30, 20, 60, 44], np.float32))
            found.append((video.start(1, BOX), 1.0) if number == 0 else video.follow(1))
            if crowd and number == 6:
                video.end(12)
        video.close()
        return found

    for (mask, p), (other, q) in zip(run(False), run(True), strict=True):
        assert np.array_equal(mask, other) and p == pytest.approx(q, abs=1e-6)


def test_transformers_forgetting_changes_nothing(
    sam2_video_folder: Path, transformers: Any, picture: Callable[..., np.ndarray]
) -> None:
    ours = TransformersVideo(str(sam2_video_folder), "cpu")
    ours.load()
    model = transformers.Sam2VideoModel.from_pretrained(sam2_video_folder).eval()
    processor = transformers.Sam2VideoProcessor.from_pretrained(sam2_video_folder)
    session = processor.init_video_session()
    for number in range(40):
        ours.look(picture(number))
        pixels = processor(images=picture(number), return_tensors="pt")["pixel_values"][0]
        if number == 0:
            processor.add_inputs_to_inference_session(
                session, 0, [1], input_boxes=[[BOX.tolist()]], original_size=(48, 64)
            )
        whole = model(session, frame=pixels)
        (masks,) = processor.post_process_masks([whole.pred_masks], [(48, 64)])
        mask, probability = (ours.start(1, BOX), None) if number == 0 else ours.follow(1)
        assert np.array_equal(mask, masks[0, 0].numpy())
        if probability is not None:
            assert probability == pytest.approx(whole.object_score_logits.sigmoid().item(), abs=1e-6)
    assert len(session.output_dict_per_obj[0]["non_cond_frame_outputs"]) == 39  # theirs keeps all
    assert ours.stored_frames() == 17


def test_meta_stream_gives_what_its_video_predictor_gives(
    meta_checkpoint: Path, meta_overrides: list[str], tmp_path: Path, picture: Callable[..., np.ndarray]
) -> None:
    from sam2.build_sam import build_sam2_video_predictor

    count = 30
    for number in range(count):  # at the model's size, so that both resize nothing
        Image.fromarray(picture(number, 128, 128)).save(tmp_path / f"{number:05d}.jpg", quality=95)
    frames = [np.asarray(Image.open(tmp_path / f"{number:05d}.jpg").convert("RGB")) for number in range(count)]
    predictor = build_sam2_video_predictor(
        "configs/sam2.1/sam2.1_hiera_t.yaml", str(meta_checkpoint), device="cpu", hydra_overrides_extra=meta_overrides
    )
    state = predictor.init_state(str(tmp_path))
    predictor.add_new_points_or_box(state, 0, 1, box=BOX)
    theirs = [(logits[0, 0] > 0).numpy() for _, _, logits in predictor.propagate_in_video(state)]
    ours = MetaVideo(str(meta_checkpoint), "cpu", overrides=meta_overrides)
    ours.load()
    for number, frame in enumerate(frames):
        ours.look(frame)
        mask = ours.start(1, BOX) if number == 0 else ours.follow(1)[0]
        assert np.mean(mask == theirs[number]) > 0.995
    assert len(state["output_dict_per_obj"][0]["non_cond_frame_outputs"]) == count - 1  # theirs keeps all
    assert ours.stored_frames() == 17


def test_bfloat16_streams_too(make: Callable[..., Any], picture: Callable[..., np.ndarray]) -> None:
    video = make()
    video.load()
    video._runtime = torch_runtime.Runtime("cpu", bfloat16=True)
    for number in range(4):
        video.look(picture(number))
        mask = video.start(1, BOX) if number == 0 else video.follow(1)[0]
        assert mask.shape == (48, 64) and mask.dtype == np.bool_
    video.close()


def test_as_a_segmenter_ids_persist(
    make: Callable[..., Sam2Video], picture: Callable[..., np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    class TwoThings:
        """Detects one thing in the first frame, another in the fourth."""

        def load(self) -> None: ...

        def close(self) -> None: ...

        def segment(self, image: RgbdImage) -> list[Segment]:
            del image
            first = [Segment("mug", 0.9, 8, 10, np.ones((20, 32), bool))] if number == 0 else []
            return first + ([Segment("book", 0.6, 8, 10, np.ones((20, 32), bool))] if number == 3 else [])

    monkeypatch.setattr(sam2_tracker, "PRESENT", 0.0)  # junk weights aren't sure of anything,
    monkeypatch.setattr(sam2_tracker, "SAME", 1.1)  # and give all things one mask
    monkeypatch.setattr(sam2_tracker, "MATCH", 1.1)
    tracker = Sam2Tracker(make(), TwoThings())
    number = 0
    tracker.load()
    for number in range(6):
        color = picture(number)
        image = RgbdImage(color, np.ones((48, 64), np.float32), Intrinsics(64, 48, 60, 60, 32, 24))
        found = tracker.segment(image)
        expected = [("1", "mug")] + ([("2", "book")] if number >= 3 else [])
        assert [(s.track_id, s.label) for s in found] == expected
        assert all(s.mask.any() and s.left + s.mask.shape[1] <= 64 and s.top + s.mask.shape[0] <= 48 for s in found)
    tracker.close()
