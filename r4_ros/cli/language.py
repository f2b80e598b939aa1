"""The options of commands that can have a language model read questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from r4_ros.core.config import ReasonerConfig

PlannerName = Annotated[str, typer.Option("--planner", help="who reads questions: rules, or lm: a language model")]
Backend = Annotated[
    str, typer.Option("--lm-backend", help="with lm: server, or transformers: in this process, by torch")
]
Model = Annotated[
    str,
    typer.Option("--lm-model", help="with lm: its name on the server or the hub, or a folder", envvar="R4_LM_MODEL"),
]
Url = Annotated[str, typer.Option("--lm-url", help="with lm: the API of a server", envvar="R4_LM_URL")]
KeyVariable = Annotated[
    str, typer.Option("--lm-key-variable", help="with lm: environment variable that holds the server's key")
]
Remote = Annotated[bool, typer.Option("--allow-remote", help="with lm: questions may go to another host")]
Timeout = Annotated[float, typer.Option("--lm-timeout", help="with lm: seconds for a plan", min=0.1, max=600.0)]
Fallback = Annotated[
    str, typer.Option("--lm-fallback", help="where the model gives no plan: rules, unsupported or error")
]
URL = "http://127.0.0.1:8000/v1"


def reasoner_config(
    planner: str, backend: str, model: str, url: str, key_variable: str, remote: bool, timeout_s: float, fallback: str
) -> ReasonerConfig:
    """The reasoner's configuration by these options. Raises InvalidArgument that names what is wrong."""
    from r4_ros.core.config import ReasonerConfig, build

    return build(
        ReasonerConfig,
        {
            "planner": planner,
            "lm_backend": backend,
            "lm_model": model,
            "lm_url": url,
            "lm_key_variable": key_variable,
            "allow_remote": remote,
            "lm_timeout_s": timeout_s,
            "lm_fallback": fallback,
        },
    )
