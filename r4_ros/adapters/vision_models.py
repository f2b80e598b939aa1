"""Vision models by the configuration; nothing heavy is imported before ``load``."""

from __future__ import annotations

from r4_ros.adapters.chat_server import ChatServer
from r4_ros.adapters.vision_server import ServerVision
from r4_ros.adapters.vision_transformers import TransformersVision
from r4_ros.core.config import PerceptionConfig
from r4_ros.core.errors import Unavailable
from r4_ros.core.ports import VisionModel


def make_vision(config: PerceptionConfig) -> VisionModel | None:
    """The model that writes descriptions, not loaded yet; None: nobody does. Raises Unavailable without a name."""
    if config.vision == "none":
        return None
    if not config.vision_model:
        raise Unavailable("vision_model isn't named: give its name on the server or the hub, or a folder")
    if config.vision == "server":
        server = ChatServer(config.vision_url, config.vision_model, config.vision_key_variable, config.allow_remote)
        return ServerVision(server)
    return TransformersVision(config.vision_model, config.device)
