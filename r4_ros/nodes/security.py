"""SROS2 policies: what each node of a fleet may publish, hear, offer and call, and nothing else.

Each robot has enclaves of its own and publishes in its own namespace only; the shared memory hears all of them. Needs
no ROS. Format: the policy schema 0.2.0 of sros2.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from r4_ros.core.errors import InvalidArgument
from r4_ros.nodes.start import NODES, StartOptions, enclave, remappings, within

Names = tuple[str, ...]

_CAMERA = (
    *(f"{camera}/{topic}" for camera in ("color", "depth") for topic in ("image_raw", "camera_info")),
    *("color/image_raw/compressed", "depth/image_raw/compressedDepth", "label/image_raw", "label/label_info"),
    *("cloud", "odom", "pose", "/tf", "/tf_static"),
)
_PARAMETERS_AND_LIFECYCLE = tuple(
    f"~/{service}"
    for service in (
        *("describe_parameters", "get_parameter_types", "get_parameters", "list_parameters"),
        *("set_parameters", "set_parameters_atomically", "get_type_description"),
        *("change_state", "get_state", "get_available_states", "get_available_transitions", "get_transition_graph"),
    )
)
_MEMORY_SERVICES = tuple(
    f"memory/{name}" for name in ("retrieve", "upsert", "add_episode", "correct", "align", "snapshot")
)


@dataclass(frozen=True)
class Rights:
    """Topics, services and actions, by relative names as the nodes' own code uses them."""

    publish: Names = ()
    subscribe: Names = ()
    reply: Names = ()
    request: Names = ()
    execute: Names = ()
    call: Names = ()


RIGHTS: Mapping[str, Rights] = {
    "perception": Rights(
        publish=("perception/observations", "perception/refused", "perception/annotated", "memory/episodes"),
        subscribe=(*_CAMERA, "memory/acks", "memory/entries", "memory/entries_delta"),
    ),
    "memory": Rights(
        publish=tuple(f"memory/{name}" for name in ("acks", "entries", "entries_delta", "events", "markers")),
        subscribe=("memory/episodes", "/tf_static"),
        reply=_MEMORY_SERVICES,
    ),
    "reasoner": Rights(
        publish=("reasoner/answers",),
        subscribe=("color/image_raw",),
        reply=("reasoner/query_memory",),
        request=("memory/retrieve", "experience/select"),
        execute=("reasoner/answer_question",),
    ),
    "experience": Rights(subscribe=("reasoner/answers",), reply=("experience/record_outcome", "experience/select")),
}
"""What each node does by its own code; a test holds it against running nodes."""

_OF_EACH_ROBOT = ("perception/observations", "memory/anchor_correction", "memory/episodes")
_OPERATOR = Rights(
    subscribe=("reasoner/answers", "memory/events", "memory/markers", "memory/entries", "memory/entries_delta"),
    publish=("memory/episodes",),
    request=(*_MEMORY_SERVICES, "reasoner/query_memory", "experience/record_outcome"),
    call=("reasoner/answer_question",),
)


def policy(robots: Sequence[str], server: str = "", cameras: Sequence[str] = (), hears: Sequence[str] = ()) -> str:
    """The policy of a fleet, as XML for ``ros2 security create_permission``.

    ``robots``: their namespaces. ``server``: the shared memory's ("/" for none); empty: each robot has its own memory.
    ``cameras``: their names, where robots have several. ``hears``: further topics that perception (of a camera) and
    memory (of a SLAM) subscribe to, relative to each robot's namespace or absolute.
    Raises InvalidArgument without robots, and for two with one namespace.
    """
    robots = [robot.strip("/") for robot in robots]
    if not robots or "" in robots or len(set(robots)) < len(robots):
        raise InvalidArgument("a policy needs robots, each with a namespace of its own")
    root = ET.Element("policy", version="0.2.0")
    enclaves = ET.SubElement(root, "enclaves")
    for robot in robots:
        for name in NODES:
            if name != "memory" or not server:
                options = StartOptions(namespace=robot, memory_namespace=server)
                _enclave(enclaves, name, options, cameras, hears)
    if server:
        for name in ("memory", "reasoner", "experience"):
            _enclave(enclaves, name, StartOptions(namespace=server, agents=robots), (), hears)
    profiles = ET.SubElement(ET.SubElement(enclaves, "enclave", path="/operator"), "profiles")
    for namespace in [server] if server else robots:
        _profile(profiles, within(namespace, ""), "operator", _absolute(_OPERATOR, namespace, {}))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _enclave(
    enclaves: ET.Element, name: str, options: StartOptions, cameras: Sequence[str], hears: Sequence[str]
) -> None:
    """One node's enclave; the perception nodes of all cameras share one."""
    rights = RIGHTS[name]
    if name in ("memory", "perception"):
        rights = _hearing(rights, name, options, hears)
    absolute = _with_common(_absolute(rights, options.namespace, remappings(name, options)))
    path = enclave(name, options.namespace)
    profiles = ET.SubElement(ET.SubElement(enclaves, "enclave", path=path), "profiles")
    for camera in cameras if name == "perception" and cameras else ("",):
        _profile(profiles, within(options.namespace, ""), f"{name}_node_{camera}".rstrip("_"), absolute)


def _hearing(rights: Rights, name: str, options: StartOptions, hears: Sequence[str]) -> Rights:
    """A node's rights, with the topics of each robot that a memory serves, and ``hears``."""
    robots = options.agents if name == "memory" and options.agents else (options.namespace,)
    own = _OF_EACH_ROBOT if name == "memory" else ()
    more = [topic if topic.startswith("/") else within(robot, topic) for robot in robots for topic in (*own, *hears)]
    return replace(rights, subscribe=(*rights.subscribe, *more))


def _absolute(rights: Rights, namespace: str, remaps: Mapping[str, str]) -> Rights:
    def full(topic: str) -> str:
        topic = remaps.get(topic, topic)
        return topic if topic.startswith("/") else within(namespace, topic)

    kinds = {field.name: getattr(rights, field.name) for field in fields(rights)}
    return Rights(**{kind: tuple(dict.fromkeys(map(full, names))) for kind, names in kinds.items()})


def _with_common(rights: Rights) -> Rights:
    """With what every lifecycle node does."""
    return replace(
        rights,
        publish=(*rights.publish, "/diagnostics", "/rosout", "/parameter_events", "~/transition_event"),
        subscribe=(*rights.subscribe, "/clock", "/parameter_events"),
        reply=(*rights.reply, *_PARAMETERS_AND_LIFECYCLE),
    )


def _profile(profiles: ET.Element, namespace: str, node: str, rights: Rights) -> None:
    profile = ET.SubElement(profiles, "profile", ns=namespace, node=node)
    kinds = (
        *(("topics", "publish", rights.publish), ("topics", "subscribe", rights.subscribe)),
        *(("services", "reply", rights.reply), ("services", "request", rights.request)),
        *(("actions", "execute", rights.execute), ("actions", "call", rights.call)),
    )
    for tag, qualifier, names in kinds:
        if names:
            element = ET.SubElement(profile, tag, {qualifier: "ALLOW"})
            for name in names:
                ET.SubElement(element, tag[:-1]).text = name
