"""SROS2 policies: of the schema's form, and no robot may speak for another one."""

from __future__ import annotations

import importlib.util
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r4_ros.core.errors import InvalidArgument
from r4_ros.nodes.security import policy

SAID_BY_ALL = {"/diagnostics", "/rosout", "/parameter_events"}
NAMES = st.lists(st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True), min_size=1, max_size=4, unique=True)
SERVERS = st.sampled_from(["", "/", "the_server"])
QUALIFIERS = {"topics": ("publish", "subscribe"), "services": ("reply", "request"), "actions": ("execute", "call")}


def published(enclave: ET.Element) -> set[str]:
    """Topics and services that an enclave speaks on as their owner, in full."""
    full = set()
    for profile in enclave.iter("profile"):
        namespace, node = profile.attrib["ns"].rstrip("/"), profile.attrib["node"]
        for list_, qualifier in (("topics", "publish"), ("services", "reply"), ("actions", "execute")):
            for rules in profile.findall(f"{list_}[@{qualifier}='ALLOW']"):
                full |= {(rule.text or "").replace("~", f"{namespace}/{node}") for rule in rules}
    return full


@given(NAMES, SERVERS, NAMES)
def test_a_robot_publishes_in_its_own_namespace_only(robots: list[str], server: str, cameras: list[str]) -> None:
    root = ET.fromstring(policy(robots, server, cameras))
    seen = set()
    for enclave in root.iter("enclave"):
        first = enclave.attrib["path"].split("/")[1]
        if first in robots and first != server.strip("/"):
            assert all(name.startswith(f"/{first}/") for name in published(enclave) - SAID_BY_ALL)
            seen.add(first)
    assert seen == set(robots) - {server.strip("/")}


@given(NAMES, SERVERS, NAMES)
def test_the_form_is_that_of_the_schema(robots: list[str], server: str, cameras: list[str]) -> None:
    """The rules of sros2's policy.xsd 0.2.0, in our words; sros2's own check runs where it is installed."""
    root = ET.fromstring(policy(robots, server, cameras))
    assert (root.tag, root.attrib, [child.tag for child in root]) == ("policy", {"version": "0.2.0"}, ["enclaves"])
    assert len({enclave.attrib["path"] for enclave in root[0]}) == len(root[0]) > 0
    for enclave in root[0]:
        assert enclave.tag == "enclave" and [child.tag for child in enclave] == ["profiles"]
        for profile in enclave[0]:
            assert profile.tag == "profile" and set(profile.attrib) == {"ns", "node"}
            for rules in profile:
                ((qualifier, value),) = rules.attrib.items()
                assert qualifier in QUALIFIERS[rules.tag] and value == "ALLOW" and len(rules)
                assert all(rule.tag == rules.tag[:-1] and rule.text for rule in rules)


@pytest.mark.skipif(importlib.util.find_spec("sros2") is None, reason="sros2 comes with a ROS installation")
def test_sros2_takes_it(tmp_path: Path) -> None:
    from sros2.policy import load_policy

    (tmp_path / "policy.xml").write_text(policy(["alice", "bob"], "/", ["front"], ["rtabmap/info"]))
    load_policy(tmp_path / "policy.xml")


def test_a_server_hears_each_robot_and_each_robot_the_server() -> None:
    root = ET.fromstring(policy(["alice", "bob"], "/", hears=["rtabmap/info"]))

    def heard(path: str) -> set[str | None]:
        rules = root.findall(f".//enclave[@path='{path}']//topics[@subscribe='ALLOW']/topic")
        return {rule.text for rule in rules}

    assert {"/alice/perception/observations", "/bob/memory/episodes", "/bob/rtabmap/info"} <= heard("/memory_node")
    assert {"/memory/acks", "/memory/entries"} <= heard("/alice/perception_node")
    asked = root.findall(".//enclave[@path='/alice/reasoner_node']//services[@request='ALLOW']/service")
    assert {rule.text for rule in asked} == {"/memory/retrieve", "/alice/experience/select"}


@pytest.mark.parametrize("robots", [[], [""], ["alice", "/alice/"]])
def test_robots_need_a_namespace_each(robots: list[str]) -> None:
    with pytest.raises(InvalidArgument, match="namespace of its own"):
        policy(robots)
