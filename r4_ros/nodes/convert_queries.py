"""Messages to records and back: constraints, evidence and retrievals."""

from __future__ import annotations

from typing import Any

from r4_ros import msg, srv
from r4_ros.core.errors import InvalidArgument
from r4_ros.core.model import (
    Box,
    Claim,
    EntryState,
    Evidence,
    Interval,
    Motion,
    Order,
    Presence,
    Query,
    Reference,
    Retrieval,
    SpatialConstraint,
    TemporalConstraint,
    TemporalKind,
    TrailPoint,
    Visibility,
)
from r4_ros.core.queries import ANY_HEIGHT
from r4_ros.nodes.convert import (
    end_from_msg,
    end_to_msg,
    enum_from_msg,
    episode_from_msg,
    episode_to_msg,
    event_from_msg,
    event_to_msg,
    optional_time_from_msg,
    optional_time_to_msg,
    pairs_from_msg,
    pairs_to_msg,
    point_from_msg,
    point_to_msg,
    pose_from_msg,
    pose_to_msg,
    time_from_msg,
    time_to_msg,
    vector_to_msg,
)
from r4_ros.nodes.convert_facts import fact_from_msg, fact_to_msg


def spatial_to_msg(constraint: SpatialConstraint) -> msg.SpatialConstraint:
    """A spatial constraint."""
    return msg.SpatialConstraint(
        relation=constraint.relation,
        reference=constraint.reference.value,
        entry_ids=list(constraint.entry_ids),
        other_entry_ids=list(constraint.other_entry_ids),
        pose=pose_to_msg(constraint.pose),
        region=constraint.region,
        at_stamp=constraint.stamp_ns is not None,
        stamp=optional_time_to_msg(constraint.stamp_ns),
        min_distance=float(constraint.min_distance),
        max_distance=float(constraint.max_distance),
        negate=constraint.negate,
        extent=vector_to_msg(constraint.extent),
        polygon=[point_to_msg((x, y, 0.0)) for x, y in constraint.polygon],
        z_min=float(constraint.z_min),
        z_max=float(constraint.z_max),
        horizontal_fov=float(constraint.horizontal_fov),
        vertical_fov=float(constraint.vertical_fov),
    )


def spatial_from_msg(constraint: Any) -> SpatialConstraint:
    """Raises InvalidArgument for an unknown reference or a pose that isn't a rotation."""
    any_height = constraint.z_max <= constraint.z_min
    return SpatialConstraint(
        relation=constraint.relation,
        reference=enum_from_msg(Reference, constraint.reference, "reference"),
        entry_ids=tuple(constraint.entry_ids),
        other_entry_ids=tuple(constraint.other_entry_ids),
        pose=pose_from_msg(constraint.pose),
        region=constraint.region,
        stamp_ns=time_from_msg(constraint.stamp) if constraint.at_stamp else None,
        min_distance=constraint.min_distance,
        max_distance=constraint.max_distance,
        negate=constraint.negate,
        extent=point_from_msg(constraint.extent),
        polygon=tuple((corner.x, corner.y) for corner in constraint.polygon),
        z_min=ANY_HEIGHT[0] if any_height else constraint.z_min,
        z_max=ANY_HEIGHT[1] if any_height else constraint.z_max,
        horizontal_fov=constraint.horizontal_fov,
        vertical_fov=constraint.vertical_fov,
    )


def temporal_to_msg(constraint: TemporalConstraint) -> msg.TemporalConstraint:
    """A temporal constraint; no upper limit is zero."""
    return msg.TemporalConstraint(
        kind=int(constraint.kind), start=time_to_msg(constraint.start_ns), end=end_to_msg(constraint.end_ns)
    )


def temporal_from_msg(constraint: Any) -> TemporalConstraint:
    """Raises InvalidArgument for an unknown kind."""
    return TemporalConstraint(
        kind=enum_from_msg(TemporalKind, constraint.kind, "kind"),
        start_ns=time_from_msg(constraint.start),
        end_ns=end_from_msg(constraint.end),
    )


def query_to_request(query: Query) -> srv.Retrieve.Request:
    """One step of a plan as a service request."""
    request = srv.Retrieve.Request(
        labels=list(query.labels),
        text=query.text,
        attributes=pairs_to_msg(query.attributes),
        exclude_labels=list(query.exclude_labels),
        entry_ids=list(query.entry_ids),
        spatial=[spatial_to_msg(c) for c in query.spatial],
        temporal=[temporal_to_msg(c) for c in query.temporal],
        agents=list(query.agents),
        states=[state.name for state in query.states],
        visibilities=[visibility.name for visibility in query.visibilities],
        at=optional_time_to_msg(query.at_ns),
        now=optional_time_to_msg(query.now_ns),
        ego_agent=query.ego_agent,
        order=int(query.order),
        limit=query.limit,
        with_events=query.with_events,
        with_episodes=query.with_episodes,
        with_facts=query.with_facts,
        with_counts=query.with_counts,
        timezone=query.timezone,
    )
    if query.order_from is not None:
        request.order_from = spatial_to_msg(query.order_from)
    return request


def query_from_request(request: Any) -> Query:
    """Raises InvalidArgument for unknown constants and names."""
    return Query(
        labels=tuple(request.labels),
        text=request.text,
        attributes=pairs_from_msg(request.attributes),
        exclude_labels=tuple(request.exclude_labels),
        entry_ids=tuple(request.entry_ids),
        spatial=tuple(spatial_from_msg(c) for c in request.spatial),
        temporal=tuple(temporal_from_msg(c) for c in request.temporal),
        agents=tuple(request.agents),
        states=tuple(_named(EntryState, name, "states") for name in request.states),
        visibilities=tuple(_named(Visibility, name, "visibilities") for name in request.visibilities),
        at_ns=optional_time_from_msg(request.at),
        now_ns=optional_time_from_msg(request.now),
        ego_agent=request.ego_agent,
        order=enum_from_msg(Order, request.order, "order"),
        order_from=spatial_from_msg(request.order_from) if request.order_from.reference else None,
        limit=request.limit or Query().limit,
        with_events=request.with_events,
        with_episodes=request.with_episodes,
        with_facts=request.with_facts,
        with_counts=request.with_counts,
        timezone=request.timezone,
    )


def _named(kind: Any, name: str, field: str) -> Any:
    try:
        return kind[name]
    except KeyError as error:
        known = ", ".join(kind.__members__)
        raise InvalidArgument(f"{field}: '{name}' is not one of {known}") from error


def evidence_to_msg(evidence: Evidence) -> msg.Evidence:
    """What an answer cites."""
    made = msg.Evidence(
        entry_id=evidence.entry_id,
        agent_id=evidence.agent_id,
        label=evidence.label,
        description=evidence.description,
        attributes=pairs_to_msg(evidence.attributes),
        extent=vector_to_msg(evidence.box.extent),
        map_id=evidence.map_id,
        first_seen=time_to_msg(evidence.first_seen),
        last_seen=time_to_msg(evidence.last_seen),
        seen_from=[time_to_msg(i.start) for i in evidence.sightings],
        seen_to=[time_to_msg(i.end) for i in evidence.sightings],
        visibility=int(evidence.visibility),
        state=int(evidence.state),
        motion=int(evidence.motion),
        sightings=evidence.count,
        confidence=float(evidence.confidence),
        score=float(evidence.score),
        semantic_score=float(evidence.semantic_score),
        spatial_score=float(evidence.spatial_score),
        temporal_score=float(evidence.temporal_score),
        regions=list(evidence.regions),
        existence=float(evidence.existence),
        missed=evidence.missed,
        label_share=float(evidence.label_share),
        claims=[_claim_to_msg(claim) for claim in evidence.claims],
        place_known=evidence.place_known,
    )
    made.pose.header.frame_id = evidence.frame
    made.pose.header.stamp = made.last_seen
    made.pose.pose = pose_to_msg(evidence.box.pose)
    if evidence.present is not None:
        made.has_presence = True
        made.present_earliest = time_to_msg(evidence.present.start_earliest)
        made.present_from = time_to_msg(evidence.present.start)
        made.present_last_seen = time_to_msg(evidence.present.last_seen)
        made.present_to = end_to_msg(evidence.present.end)
    return made


def _claim_to_msg(claim: Claim) -> msg.Claim:
    return msg.Claim(
        about=claim.about,
        value=claim.value,
        agent_id=claim.agent_id,
        entry_id=claim.entry_id,
        stamp=time_to_msg(claim.stamp_ns),
        visibility=int(claim.visibility),
        holds=claim.holds,
    )


def _claim_from_msg(claim: Any) -> Claim:
    visibility = enum_from_msg(Visibility, claim.visibility, "visibility")
    who = claim.agent_id, claim.entry_id, time_from_msg(claim.stamp)
    return Claim(claim.about, claim.value, *who, visibility, claim.holds)


def _presence(evidence: Any) -> Presence | None:
    if not evidence.has_presence:
        return None
    return Presence(
        start_earliest=time_from_msg(evidence.present_earliest),
        start=time_from_msg(evidence.present_from),
        last_seen=time_from_msg(evidence.present_last_seen),
        end=end_from_msg(evidence.present_to),
    )


def evidence_from_msg(evidence: Any) -> Evidence:
    """Raises InvalidArgument for unknown constants."""
    return Evidence(
        entry_id=evidence.entry_id,
        agent_id=evidence.agent_id,
        label=evidence.label,
        box=Box(pose_from_msg(evidence.pose.pose), point_from_msg(evidence.extent)),
        frame=evidence.pose.header.frame_id,
        map_id=evidence.map_id,
        first_seen=time_from_msg(evidence.first_seen),
        last_seen=time_from_msg(evidence.last_seen),
        present=_presence(evidence),
        sightings=tuple(
            Interval(time_from_msg(start), time_from_msg(end))
            for start, end in zip(evidence.seen_from, evidence.seen_to, strict=True)
        ),
        visibility=enum_from_msg(Visibility, evidence.visibility, "visibility"),
        state=enum_from_msg(EntryState, evidence.state, "state"),
        motion=enum_from_msg(Motion, evidence.motion, "motion"),
        count=evidence.sightings,
        confidence=evidence.confidence,
        score=evidence.score,
        semantic_score=evidence.semantic_score,
        spatial_score=evidence.spatial_score,
        temporal_score=evidence.temporal_score,
        description=evidence.description,
        attributes=pairs_from_msg(evidence.attributes),
        regions=tuple(evidence.regions),
        existence=evidence.existence,
        missed=evidence.missed,
        label_share=evidence.label_share,
        claims=tuple(_claim_from_msg(claim) for claim in evidence.claims),
        place_known=evidence.place_known,
    )


def fill_retrieval(response: srv.Retrieve.Response, found: Retrieval) -> srv.Retrieve.Response:
    """Write what was found into a service response, and give it back."""
    response.revision = found.revision
    response.now = time_to_msg(found.now_ns)
    response.entries = [evidence_to_msg(e) for e in found.entries]
    response.events = [event_to_msg(e) for e in found.events]
    response.episodes = [episode_to_msg(e) for e in found.episodes]
    response.facts = [fact_to_msg(f) for f in found.facts]
    response.has_ego = found.ego is not None
    if found.ego is not None:
        response.ego_agent = found.ego.agent_id
        response.ego_map_id = found.ego.map_id
        response.ego.header.stamp = time_to_msg(found.ego.stamp_ns)
        response.ego.pose = pose_to_msg(found.ego.pose)
    response.ego.header.frame_id = found.ego_frame
    response.ego_candidates = list(found.ego_candidates)
    response.after_semantic = found.after_semantic
    response.after_spatial = found.after_spatial
    response.after_temporal = found.after_temporal
    response.coverage = float(found.coverage)
    response.visited = found.visited
    response.last_looked = optional_time_to_msg(found.last_looked)
    response.regions = list(found.regions)
    response.labels_known = list(found.labels_known)
    return response


def retrieval_from_response(response: Any) -> Retrieval:
    """What the service found."""
    ego = None
    if response.has_ego:
        stamp_ns = time_from_msg(response.ego.header.stamp)
        ego = TrailPoint(response.ego_agent, stamp_ns, response.ego_map_id, pose_from_msg(response.ego.pose))
    return Retrieval(
        revision=response.revision,
        now_ns=time_from_msg(response.now),
        entries=tuple(evidence_from_msg(e) for e in response.entries),
        events=tuple(event_from_msg(e) for e in response.events),
        episodes=tuple(episode_from_msg(e) for e in response.episodes),
        facts=tuple(fact_from_msg(f) for f in response.facts),
        ego=ego,
        ego_frame=response.ego.header.frame_id,
        ego_candidates=tuple(response.ego_candidates),
        after_semantic=response.after_semantic,
        after_spatial=response.after_spatial,
        after_temporal=response.after_temporal,
        coverage=response.coverage,
        visited=response.visited,
        last_looked=optional_time_from_msg(response.last_looked),
        regions=tuple(response.regions),
        labels_known=tuple(response.labels_known),
    )
