"""SAM 2 by transformers: Sam2Model for images, Sam2VideoModel for streams."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from r4_ros.adapters.masks import Mask
from r4_ros.adapters.torch_runtime import INSTALL, Runtime, compile_module, inference, pick_runtime, release
from r4_ros.core.errors import Unavailable
from r4_ros.core.model import Float32Array

SIZES = ("large", "base_plus", "small", "tiny")
WINDOW = 16  # frames that SAM 2 looks back on; with all of them, forgetting the others changes nothing


def hub_name(model: str) -> str:
    """The model on the hub for a size; other names and folders as they are."""
    return f"facebook/sam2.1-hiera-{model.replace('_', '-')}" if model in SIZES else model


class TransformersImages:
    """Implements sam2_segmenter.Sam2Images.

    model: large, base_plus, small or tiny; a name on the hub; or a folder written by save_pretrained (model and
    processor). A checkpoint of the video model serves too. device: see torch_runtime.pick_runtime.
    """

    def __init__(self, model: str = "large", device: str = "auto", compiled: bool = False) -> None:
        self._name, self._device, self._compiled = hub_name(model), device, compiled
        self._runtime = Runtime()
        self._model: Any = None
        self._processor: Any = None
        self._embeddings: Any = None
        self._size: tuple[int, int] = (0, 0)

    def load(self) -> None:
        """Load the model. Raises Unavailable."""
        self._runtime, self._model, self._processor = _load(
            "Sam2Model", "Sam2Processor", self._name, self._device, self._compiled
        )

    def close(self) -> None:
        """Free the model."""
        self._model = self._processor = self._embeddings = None
        release(self._runtime)

    def look(self, color: npt.NDArray[np.uint8]) -> None:
        """Encode an RGB image."""
        self._size = (color.shape[0], color.shape[1])
        pixels = self._processor(images=color, return_tensors="pt")["pixel_values"].to(self._model.device)
        with inference(self._runtime):
            self._embeddings = self._model.get_image_embeddings(pixels)

    def from_boxes(self, boxes: Float32Array) -> tuple[Float32Array, Float32Array]:
        """Logits [n, 1, H, W] and scores [n, 1]."""
        return self._prompt(input_boxes=boxes[None].tolist(), multimask=False)

    def from_points(self, points: Float32Array) -> tuple[Float32Array, Float32Array]:
        """Logits [n, 3, H, W] and scores [n, 3]."""
        labels = np.ones((1, len(points), 1), int).tolist()
        return self._prompt(input_points=points[None, :, None].tolist(), input_labels=labels, multimask=True)

    def _prompt(self, multimask: bool, **prompts: Any) -> tuple[Float32Array, Float32Array]:
        inputs = self._processor(original_sizes=[self._size], return_tensors="pt", **prompts).to(self._model.device)
        inputs.pop("original_sizes")
        with inference(self._runtime):
            found = self._model(image_embeddings=self._embeddings, multimask_output=multimask, **inputs)
            (logits,) = self._processor.post_process_masks(found.pred_masks.float(), [self._size], binarize=False)
        return logits.cpu().numpy(), found.iou_scores[0].float().cpu().numpy()


class TransformersVideo:
    """Implements sam2_tracker.Sam2Video; parameters as those of TransformersImages.

    Every track is a session of its own, all sharing the features of the current frame, so that a track costs nothing
    once it ended. A session keeps the frame that began it and the ``window`` latest ones, nothing else; of these, the
    features of those few that SAM 2 attends to, and of the others what it calls object pointers.
    """

    def __init__(
        self, model: str = "large", device: str = "auto", compiled: bool = False, window: int = WINDOW
    ) -> None:
        self._name, self._device, self._compiled = hub_name(model), device, compiled
        self._window = window
        self._runtime = Runtime()
        self._model: Any = None
        self._processor: Any = None
        self._cache: Any = None
        self._sessions: dict[int, Any] = {}
        self._pixels: Any = None
        self._size: tuple[int, int] = (0, 0)
        self._frame = -1

    def load(self) -> None:
        """Load the model. Raises Unavailable."""
        self._runtime, self._model, self._processor = _load(
            "Sam2VideoModel", "Sam2VideoProcessor", self._name, self._device, self._compiled
        )
        self._cache = self._processor.init_video_session(inference_device=self._model.device).cache

    def close(self) -> None:
        """Free the model and forget all tracks."""
        self._sessions.clear()
        self._model = self._processor = self._cache = self._pixels = None
        release(self._runtime)

    def look(self, color: npt.NDArray[np.uint8]) -> None:
        """The next frame."""
        self._frame += 1
        self._size = (color.shape[0], color.shape[1])
        pixels = self._processor(images=color, device=self._model.device, return_tensors="pt")["pixel_values"]
        self._pixels = pixels[0].to(self._model.device)
        self._cache.clear_all()

    def start(self, track: int, box: Float32Array) -> Mask:
        """Begin a track in this frame."""
        session = self._processor.init_video_session(inference_device=self._model.device)
        session.cache = self._cache
        self._sessions[track] = session
        self._processor.add_inputs_to_inference_session(
            session, self._frame, [track], input_boxes=[[box.tolist()]], original_size=self._size
        )
        return self._step(session)[0]

    def follow(self, track: int) -> tuple[Mask, float]:
        """A track's mask in this frame."""
        return self._step(self._sessions[track])

    def end(self, track: int) -> None:
        """Forget a track."""
        self._sessions.pop(track, None)

    def stored_frames(self) -> int:
        """Frame memories and pixels kept, over all tracks."""
        return sum(
            len(frames)
            for session in self._sessions.values()
            for frames in (*session.output_dict_per_obj[0].values(), session.processed_frames or {})
        )

    def _step(self, session: Any) -> tuple[Mask, float]:
        with inference(self._runtime):
            found = self._model(session, frame=self._pixels, frame_idx=self._frame)
            (logits,) = self._processor.post_process_masks([found.pred_masks.float()], [self._size], binarize=False)
            probability = found.object_score_logits.float().sigmoid().item()
        self._forget(session)
        return (logits[0, 0] > 0).cpu().numpy(), probability

    def _forget(self, session: Any) -> None:
        """Drop what later frames can't use: old frames, pixels, prompts, and masks, which are out already."""
        session.processed_frames = None
        session.point_inputs_per_obj[0].clear()
        outputs = session.output_dict_per_obj[0]
        recent = outputs["non_cond_frame_outputs"]
        forget_frames(recent, self._frame, self._window, self._model.num_maskmem)
        session.frames_tracked_per_obj[0].clear()
        for memory in (*outputs["cond_frame_outputs"].values(), *recent.values()):
            memory.pop("pred_masks", None)
            memory.pop("high_res_masks", None)


def forget_frames(memories: dict[int, dict[str, Any]], frame: int, window: int, attended: int) -> None:
    """Of a track's memories by frame keep the ``window`` latest, and features of those attended to from now on."""
    for number in list(memories):
        if number <= frame - window:
            del memories[number]
        elif number < frame + 2 - attended:
            memories[number]["maskmem_features"] = memories[number]["maskmem_pos_enc"] = None


def _load(model_class: str, processor_class: str, name: str, device: str, compiled: bool) -> tuple[Runtime, Any, Any]:
    """Runtime, model (ready to infer) and processor. Raises Unavailable."""
    runtime = pick_runtime("SAM 2", device, compiled)
    try:
        import transformers

        model_type, processor_type = getattr(transformers, model_class), getattr(transformers, processor_class)
    except (ImportError, AttributeError) as error:
        raise Unavailable(f"SAM 2 needs transformers 4.56 or newer: {INSTALL} -U transformers ({error})") from error
    try:
        model = model_type.from_pretrained(name).to(runtime.device).eval()
        processor = processor_type.from_pretrained(name)
    except Exception as error:
        raise Unavailable(
            f"SAM 2 '{name}' can't be loaded: set sam2_model to {', '.join(SIZES)}, a name on the hub, or a folder "
            f"written by save_pretrained ({error})"
        ) from error
    model.vision_encoder = compile_module(runtime, model.vision_encoder)
    return runtime, model, processor
