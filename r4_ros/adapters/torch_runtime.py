"""Where models run: device, number format, compilation, and freeing it. torch is imported when it is asked for."""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from r4_ros.core.errors import Unavailable

INSTALL = "run `make setup-vision`, or pip install"


@dataclass(frozen=True, slots=True)
class Runtime:
    """A device ('cuda', 'cuda:1', 'cpu'), whether models run in bfloat16 there, and whether they are compiled."""

    device: str = "cpu"
    bfloat16: bool = False
    compiled: bool = False


def import_torch(user: str) -> Any:
    """The module torch. Raises Unavailable that names ``user``, who needs it."""
    try:
        import torch
    except ImportError as error:
        raise Unavailable(f"{user} needs torch: {INSTALL} torch torchvision ({error})") from error
    return torch


def pick_runtime(user: str, device: str = "auto", compiled: bool = False) -> Runtime:
    """The device to use: 'auto' is CUDA where there is one, else the CPU.

    bfloat16 where CUDA has it in hardware (from Ampere on); compilation, if asked for, where CUDA and Triton are.
    Raises Unavailable when the named device isn't here.
    """
    torch = import_torch(user)
    cuda = torch.cuda.is_available()
    if device == "auto":
        device = "cuda" if cuda else "cpu"
    if not device.startswith("cuda"):
        return Runtime(_known(torch, device))
    if not cuda:
        raise Unavailable(
            f"{user} was told to use '{device}', but torch sees no CUDA device: set device to auto or cpu"
        )
    number = torch.device(device).index or 0
    if number >= torch.cuda.device_count():
        raise Unavailable(
            f"there is no '{device}', only {torch.cuda.device_count()} CUDA device(s): set device to cuda"
        )
    bfloat16 = torch.cuda.get_device_capability(number) >= (8, 0)
    return Runtime(device, bfloat16, compiled and importlib.util.find_spec("triton") is not None)


def compile_module(runtime: Runtime, module: Any) -> Any:
    """The module compiled for inputs of one shape, where the runtime says so."""
    if not runtime.compiled:
        return module
    import torch

    return torch.compile(module, dynamic=False)


@contextmanager
def inference(runtime: Runtime) -> Iterator[None]:
    """Inside: no gradients, and bfloat16 where the runtime says so."""
    import torch

    kind = runtime.device.split(":")[0]
    with torch.inference_mode(), torch.autocast(kind, torch.bfloat16, enabled=runtime.bfloat16):
        yield


def release(runtime: Runtime) -> None:
    """Give memory back to the device, after the last reference to a model is gone."""
    gc.collect()
    if runtime.device.startswith("cuda"):
        import torch

        torch.cuda.empty_cache()


def _known(torch: Any, device: str) -> str:
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise Unavailable(f"torch can't use the device '{device}': set device to auto, cuda or cpu") from error
    return device
