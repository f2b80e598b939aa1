"""SAM 2 by Meta's package ``sam2``: the image predictor, and the video predictor fed with a stream.

The stream uses the video predictor's state of release 1.1.0, the newest: each track has a state of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from r4_ros.adapters.masks import Mask
from r4_ros.adapters.sam2_transformers import SIZES, WINDOW, forget_frames, hub_name
from r4_ros.adapters.torch_runtime import INSTALL, Runtime, compile_module, inference, pick_runtime, release
from r4_ros.core.errors import Unavailable
from r4_ros.core.model import Float32Array

ADVICE = f"set sam2_model to {', '.join(SIZES)}, or to a checkpoint file named as Meta names them"
CONFIGS = {"tiny": "t", "small": "s", "base_plus": "b+", "large": "l"}
MANY = 1 << 40  # frames of a stream: more than there will be


class MetaImages:
    """Implements sam2_segmenter.Sam2Images.

    model: large, base_plus, small or tiny (SAM 2.1, from the hub), or a checkpoint file that keeps Meta's name
    ('sam2.1_hiera_large.pt'). overrides: hydra overrides of the model's configuration, for checkpoints of another one.
    """

    def __init__(
        self, model: str = "large", device: str = "auto", compiled: bool = False, overrides: Sequence[str] = ()
    ) -> None:
        self._name, self._device, self._compiled, self._overrides = model, device, compiled, list(overrides)
        self._runtime = Runtime()
        self._predictor: Any = None

    def load(self) -> None:
        """Load the model. Raises Unavailable."""
        self._runtime, model = _load("build_sam2", self._name, self._device, self._compiled, self._overrides)
        from sam2.sam2_image_predictor import SAM2ImagePredictor

        self._predictor = SAM2ImagePredictor(model)
        self._predictor._bb_feat_sizes = [(model.image_size // n, model.image_size // n) for n in (4, 8, 16)]

    def close(self) -> None:
        """Free the model."""
        self._predictor = None
        release(self._runtime)

    def look(self, color: npt.NDArray[np.uint8]) -> None:
        """Encode an RGB image."""
        with inference(self._runtime):
            self._predictor.set_image(color)

    def from_boxes(self, boxes: Float32Array) -> tuple[Float32Array, Float32Array]:
        """Logits [n, 1, H, W] and scores [n, 1]."""
        return self._prompt(len(boxes), box=boxes, multimask_output=False)

    def from_points(self, points: Float32Array) -> tuple[Float32Array, Float32Array]:
        """Logits [n, 3, H, W] and scores [n, 3]."""
        labels = np.ones((len(points), 1), np.int32)
        return self._prompt(len(points), point_coords=points[:, None], point_labels=labels, multimask_output=True)

    def _prompt(self, count: int, **prompts: Any) -> tuple[Float32Array, Float32Array]:
        with inference(self._runtime):
            logits, scores, _ = self._predictor.predict(return_logits=True, **prompts)
        return logits.reshape(count, -1, *logits.shape[-2:]), scores.reshape(count, -1)


class MetaVideo:
    """Implements sam2_tracker.Sam2Video; parameters as those of MetaImages.

    A track keeps the frame that began it and the ``window`` latest ones, nothing else; see TransformersVideo.
    """

    def __init__(
        self,
        model: str = "large",
        device: str = "auto",
        compiled: bool = False,
        window: int = WINDOW,
        overrides: Sequence[str] = (),
    ) -> None:
        self._name, self._device, self._compiled, self._overrides = model, device, compiled, list(overrides)
        self._window = window
        self._runtime = Runtime()
        self._predictor: Any = None
        self._transform: Any = None
        self._states: dict[int, dict[str, Any]] = {}
        self._features: dict[int, Any] = {}
        self._size: tuple[int, int] = (0, 0)
        self._frame = -1

    def load(self) -> None:
        """Load the model. Raises Unavailable."""
        self._runtime, self._predictor = _load(
            "build_sam2_video_predictor", self._name, self._device, self._compiled, self._overrides
        )
        self._predictor.fill_hole_area = 0  # needs a CUDA extension that wheels lack
        from sam2.utils.transforms import SAM2Transforms

        self._transform = SAM2Transforms(self._predictor.image_size, mask_threshold=0.0)

    def close(self) -> None:
        """Free the model and forget all tracks."""
        self._states.clear()
        self._features = {}
        self._predictor = self._transform = None
        release(self._runtime)

    def look(self, color: npt.NDArray[np.uint8]) -> None:
        """The next frame; encoded once for all tracks."""
        self._frame += 1
        self._size = (color.shape[0], color.shape[1])
        pixels = self._transform(color)[None].to(self._predictor.device)
        with inference(self._runtime):
            self._features = {self._frame: (pixels, self._predictor.forward_image(pixels))}

    def start(self, track: int, box: Float32Array) -> Mask:
        """Begin a track in this frame."""
        state = self._states[track] = self._new_state()
        with inference(self._runtime):
            _, _, logits = self._predictor.add_new_points_or_box(state, self._frame, track, box=box)
            self._predictor.propagate_in_video_preflight(state)
        self._forget(state)
        return (logits[0, 0] > 0).cpu().numpy()

    def follow(self, track: int) -> tuple[Mask, float]:
        """A track's mask in this frame."""
        state = self._states[track]
        state["cached_features"] = self._features
        outputs = state["output_dict_per_obj"][0]
        with inference(self._runtime):
            memory, logits = self._predictor._run_single_frame_inference(
                inference_state=state,
                output_dict=outputs,
                frame_idx=self._frame,
                batch_size=1,
                is_init_cond_frame=False,
                point_inputs=None,
                mask_inputs=None,
                reverse=False,
                run_mem_encoder=True,
            )
            _, logits = self._predictor._get_orig_video_res_output(state, logits.float())
        outputs["non_cond_frame_outputs"][self._frame] = memory
        self._forget(state)
        return (logits[0, 0] > 0).cpu().numpy(), memory["object_score_logits"].float().sigmoid().item()

    def end(self, track: int) -> None:
        """Forget a track."""
        self._states.pop(track, None)

    def stored_frames(self) -> int:
        """Frame memories kept, over all tracks."""
        return sum(
            len(frames) for state in self._states.values() for frames in state["output_dict_per_obj"][0].values()
        )

    def _new_state(self) -> dict[str, Any]:
        """The predictor's state of a stream of which only the current frame is at hand."""
        device = self._predictor.device
        names = ("point_inputs_per_obj", "mask_inputs_per_obj", "constants", "obj_id_to_idx", "obj_idx_to_id")
        outputs = ("output_dict_per_obj", "temp_output_dict_per_obj", "frames_tracked_per_obj")
        return {
            **{name: {} for name in (*names, *outputs)},
            "images": {},
            "num_frames": MANY,
            "obj_ids": [],
            "video_height": self._size[0],
            "video_width": self._size[1],
            "device": device,
            "storage_device": device,
            "cached_features": self._features,
        }

    def _forget(self, state: dict[str, Any]) -> None:
        """Drop what later frames can't use: old frames, features, prompts, and masks, which are out already."""
        state["cached_features"] = {}
        state["point_inputs_per_obj"][0].clear()
        outputs = state["output_dict_per_obj"][0]
        forget_frames(outputs["non_cond_frame_outputs"], self._frame, self._window, self._predictor.num_maskmem)
        for frames in outputs.values():
            for memory in frames.values():
                memory["pred_masks"] = None


def _load(build: str, name: str, device: str, compiled: bool, overrides: list[str]) -> tuple[Runtime, Any]:
    """Runtime and model (ready to infer). Raises Unavailable."""
    runtime = pick_runtime("SAM 2", device, compiled)
    try:
        from sam2 import build_sam
    except ImportError as error:
        raise Unavailable(f"SAM 2 needs Meta's package sam2: {INSTALL} sam2, after torch ({error})") from error
    config, checkpoint = _source(name)
    try:
        model = getattr(build_sam, build)(config, checkpoint, device=runtime.device, hydra_overrides_extra=overrides)
    except Exception as error:
        raise Unavailable(f"SAM 2 '{checkpoint}' doesn't fit the configuration {config}: {ADVICE} ({error})") from error
    model.image_encoder = compile_module(runtime, model.image_encoder)
    return runtime, model


def _source(name: str) -> tuple[str, str]:
    """The configuration and the checkpoint file of a model; by size, it comes from the hub."""
    path = Path(name)
    if name in SIZES:
        from huggingface_hub import hf_hub_download

        repository, file = hub_name(name), f"sam2.1_hiera_{name}.pt"
        try:
            path = Path(hf_hub_download(repository, file))
        except Exception as error:
            raise Unavailable(f"{file} can't be had from the hub ({repository}): {ADVICE} ({error})") from error
    elif not path.is_file():
        raise Unavailable(f"there is no SAM 2 checkpoint '{name}': {ADVICE}")
    known = re.fullmatch(r"(sam2|sam2\.1)_hiera_(tiny|small|base_plus|large)\.pt", path.name)
    if not known:
        raise Unavailable(f"'{path.name}' doesn't say which SAM 2 it is: {ADVICE}, such as sam2.1_hiera_large.pt")
    release_name, size = known.groups()
    return f"configs/{release_name}/{release_name}_hiera_{CONFIGS[size]}.yaml", str(path)
