"""Where agents' maps lie in common ones: by the maps file, by static TF, by the service. A part of the memory node."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tf2_msgs.msg import TFMessage

from r4_ros import srv
from r4_ros.core.alignments import Alignment
from r4_ros.core.errors import FrameRefused, NotPermitted, R4Error
from r4_ros.core.model import PlacedEntry
from r4_ros.memory.maps_file import ConfiguredMap, load_maps
from r4_ros.nodes import qos
from r4_ros.nodes.anchor_topics import AnchorTopics
from r4_ros.nodes.convert import pose_from_msg
from r4_ros.nodes.tf import make_buffer


class Aligning(AnchorTopics):
    """What a memory node needs for it."""

    _by_tf: list[ConfiguredMap]
    """Maps whose place a static transform tells."""
    _tf_missing: dict[str, str]
    """Why the place of a map isn't known yet, by its frame."""

    def begin_aligning(self) -> None:
        """Take what is configured, and serve memory/align. Raises InvalidArgument for a maps file that can't be."""
        configured = load_maps(Path(self.config.maps_file).expanduser()) if self.config.maps_file else []
        for known in configured:
            if not known.tf:
                self.library.configure(known.alignment, self._clock_ns())
        self._by_tf = [known for known in configured if known.tf]
        self._tf_missing = {known.tf: "nothing came on /tf_static yet" for known in self._by_tf}
        self.serve(srv.AlignMap, "memory/align", self._align, self._writer)

    def hear_static_transforms(self) -> None:
        """Listen to static TF where maps are configured by it."""
        self._buffer = make_buffer(reorder_s=0.0)
        if self._by_tf:
            self.subscribe(TFMessage, "/tf_static", self._on_tf_static, qos.TF_STATIC)

    def _on_tf_static(self, message: Any) -> None:
        self._buffer.add_message(message, static=True)
        for known in self._by_tf:
            try:
                pose = self._buffer.lookup(known.alignment.frame, known.tf, 0)
            except FrameRefused as error:
                self._tf_missing[known.tf] = str(error)
                continue
            self._tf_missing.pop(known.tf, None)
            self._writer.offer(partial(self._configure, replace(known.alignment, pose=pose)))

    def _configure(self, alignment: Alignment) -> None:
        try:
            if self.library.configure(alignment, self._clock_ns()) is not None:
                self.tell_gap()
        except R4Error as error:
            self.note("align", error)

    def _align(self, request: Any, response: Any) -> Any:
        if not self.config.allow_corrections:
            raise NotPermitted("aligning is off here; set allow_corrections, or use r4 db align while this node rests")
        self.require_served(request.agent_id)
        owner, now = (request.agent_id, request.map_id), self._clock_ns()
        if request.undo:
            record = self.library.take_back_alignment(*owner, now, request.source)
        else:
            common = self.library.common_map(*owner, request.common_id)
            said = Alignment(*owner, common, pose_from_msg(request.pose), request.frame)
            record = self.library.align(said, now, request.source)
        self.counts.add("alignments")
        self.tell_gap()
        response.alignment_id, response.revision = 0 if record is None else record.number, self.library.revision
        return response

    def near_entries(self, common: bool = False) -> list[PlacedEntry]:
        """At most ``entries_limit`` entries, nearest to the agents; several agents take turns.

        Each in the coordinates of the map that it names: that of the agent it is near to, or a ``common`` one.
        """
        others, limit = self.library.peers(), self.config.entries_limit
        agents = [agent for agent in self.library.agents() if agent not in others] or [self.agent_id]
        share = min(limit, -(-2 * limit // len(agents)))  # twice its part: what two are near to counts once
        chosen: dict[tuple[str, str], PlacedEntry] = {}
        near = [list(self.library.entries_near(agent, share, common)) for agent in agents]
        for rank in range(max(map(len, near))):
            for entries in near:
                if rank < len(entries):
                    chosen.setdefault((entries[rank].entry_id, entries[rank].map_id), entries[rank])
        return list(chosen.values())[:limit]

    def require_served(self, agent: str) -> None:
        """Raise NotPermitted for an agent that this memory isn't for."""
        raise NotImplementedError

    def tell_gap(self) -> None:
        """Tell those who keep a copy of the entries that more changed than they are told."""
        raise NotImplementedError

    def _clock_ns(self) -> int:
        raise NotImplementedError
