"""The gate before the loop: may what is in view now answer a question alone?

Only where nothing else could change the answer's claim: present tense, positive, about a thing and the asker's own view
(which way, how far, left or right, 'do you see one'), the thing in plain view within the last second. Counts, 'no',
places among other things, and all history go to the memory.
"""

from __future__ import annotations

from r4_ros.core.model import NS_PER_S, Evidence, Retrieval, Visibility
from r4_ros.reasoner import sieve
from r4_ros.reasoner.keys import Form, Plan
from r4_ros.reasoner.run import properties

IN_VIEW_NS = NS_PER_S
AGREED = 0.8
"""Of a vision model's looks, as many must see the thing, where one is asked."""
LOOKING = 0.3  # of the time left at most
LOOK = 60
"""So many of the things seen last are looked at: more are hardly in view at once."""
EGO_FORMS = frozenset({Form.DIRECTION, Form.DISTANCE, Form.CHOOSE})
SIDES = frozenset({"left", "right"})


def may_open(plan: Plan) -> bool:
    """Whether the question is of the kind that a look may answer; costs no retrieval."""
    step = plan.target
    plain = len(plan.steps) == 1 and not (plan.past or plan.ego or plan.unsupported or plan.claim or plan.event)
    plain = plain and plan.compared is None and plan.about == "thing"
    plain = plain and not (step.spatial or step.temporal or step.agents or step.plural or step.superlative)
    known = step.semantic.labels and not step.semantic.exclude and not step.semantic.purpose
    checked = all(a.is_known and not a.negate for a in step.semantic.attributes)
    return bool(plain and known and checked and _is_of_view(plan))


def _is_of_view(plan: Plan) -> bool:
    if plan.form is Form.EXISTS:
        return plan.target.in_view or "see" in plan.question.casefold().split()
    to_me = plan.to_other is None or plan.to_other.kind == "ego"
    sided = plan.form is not Form.CHOOSE or len(SIDES & set(" ".join(plan.choices).split())) == len(SIDES)
    own = all(key.reference.kind == "ego" for key in plan.alternatives)
    return plan.form in EGO_FORMS and to_me and sided and own


def in_view(plan: Plan, look: Retrieval, ego_agent: str, now_ns: int) -> tuple[Evidence, ...]:
    """The asked thing, as the asker's robot sees it at this moment; none: the memory must be asked.

    ``look``: what was seen last, newest first.
    """
    agent = ego_agent or (look.ego.agent_id if look.ego is not None else "")
    if not agent or look.ego is None or look.ego.agent_id != agent:
        return ()
    step, wanted = plan.target, properties(plan.target)
    seen = [
        e
        for e in look.entries
        if e.agent_id == agent
        and 0 <= now_ns - e.last_seen <= IN_VIEW_NS
        and e.visibility is Visibility.VISIBLE
        and e.label in step.semantic.labels
        and all(dict(e.attributes).get(name) == value for name, value in wanted)
    ]
    return sieve.firm(sieve.sifted(step, seen))
