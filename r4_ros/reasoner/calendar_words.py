"""Words of time: days, seasons, meals, happenings, habits, edges. Data only."""

from __future__ import annotations

from r4_ros.reasoner.keys import TemporalOp

NOW = tuple(
    tuple(said.split())
    for said in (
        "right now|just now|at the moment|at this moment|at this very moment|at the minute|at this point|at this time|"
        "at this stage|at present|for now|right this second|this instant|"
        "by now|until now|so far|up to now|as we speak|these days|any more|any longer|no longer|now|currently|"
        "presently|still|today|anymore|nowadays|yet|to date|thus far"
    ).split("|")
)
HABITS = tuple(
    tuple(said.split())
    for said in (
        "as a rule|most of the time|more often than not|most often|usually|always|often|normally|generally|typically|"
        "regularly|habitually|frequently|customarily|mostly|tends to|tend to|ordinarily|commonly|routinely|by habit|"
        "as usual|usual for|normal for|typical for|on the whole|in general|on a normal day|on a typical day|"
        "day to day|rarely|seldom|"
        "daily|nightly|weekly"
    ).split("|")
)
WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
DAYS = WEEKDAYS | frozenset("yesterday today tonight tomorrow".split())
MONTHS = frozenset(
    "january february march april june july august september october november december".split()
)  # not 'may'
DAY_PARTS = {"morning": (6, 12), "afternoon": (12, 18), "evening": (18, 22), "night": (22, 24)}
FEASTS = frozenset("christmas easter halloween thanksgiving ramadan diwali".split())
CALENDAR = (
    WEEKDAYS
    | MONTHS
    | FEASTS
    | frozenset(DAY_PARTS)
    | frozenset("week weekend month year summer winter spring autumn day weekday season term".split())
)
"""What 'last', 'this', 'every' and 'most' make a time."""
MEALS = frozenset(
    "breakfast lunch dinner supper tea elevenses brunch lunchtime teatime dinnertime bedtime playtime tide".split()
)
HOURS_OF_DAY = frozenset("noon midday midnight dawn dusk sunrise sunset nightfall daybreak overnight night".split())
SPANS = frozenset("second minute moment instant while hour day week frame".split())
"""What the beginning and the end of something are counted in."""
MOMENTS = frozenset("minute moment second instant time day night morning evening week".split())
"""'the minute (that) the lights came back on'."""
EDGES = {
    "start": TemporalOp.START,
    "beginning": TemporalOp.START,
    "outset": TemporalOp.START,
    "opening": TemporalOp.START,
    "end": TemporalOp.END,
    "close": TemporalOp.END,
    "finish": TemporalOp.END,
}
OPENERS = {"opening": TemporalOp.START, "first": TemporalOp.START, "initial": TemporalOp.START}
OPENERS |= {"closing": TemporalOp.END, "final": TemporalOp.END, "last": TemporalOp.END}
"""'in the final seconds of the clip'."""
AT_FIRST = {
    ("to", "begin", "with"): TemporalOp.START,
    ("to", "start", "with"): TemporalOp.START,
    ("at", "first"): TemporalOp.START,
    ("initially",): TemporalOp.START,
    ("in", "the", "end"): TemporalOp.END,
}
CLAUSES = {
    "before": TemporalOp.BEFORE,
    "after": TemporalOp.AFTER,
    "since": TemporalOp.SINCE,
    "while": TemporalOp.WHILE,
    "whilst": TemporalOp.WHILE,
    "during": TemporalOp.WHILE,
    "throughout": TemporalOp.WHILE,
    "when": TemporalOp.WHILE,
    "whenever": TemporalOp.WHILE,
    "until": TemporalOp.BEFORE,
    "till": TemporalOp.BEFORE,
    "following": TemporalOp.AFTER,
    "follows": TemporalOp.AFTER,
}
"""One word that a clause or an event follows."""
LONG_CLAUSES = {
    ("prior", "to"): TemporalOp.BEFORE,
    ("previous", "to"): TemporalOp.BEFORE,
    ("by", "the", "time"): TemporalOp.BEFORE,
    ("leading", "up", "to"): TemporalOp.BEFORE,
    ("up", "until"): TemporalOp.BEFORE,
    ("right", "up", "to"): TemporalOp.BEFORE,
    ("in", "the", "run", "-", "up", "to"): TemporalOp.BEFORE,
    ("in", "the", "wake", "of"): TemporalOp.AFTER,
    ("halfway", "through"): TemporalOp.WHILE,
    ("partway", "through"): TemporalOp.WHILE,
    ("over", "the", "course", "of"): TemporalOp.WHILE,
    ("throughout", "the", "course", "of"): TemporalOp.WHILE,
    ("for", "the", "duration", "of"): TemporalOp.WHILE,
    ("on", "your", "way"): TemporalOp.WHILE,
    ("on", "my", "way"): TemporalOp.WHILE,
    ("subsequent", "to"): TemporalOp.AFTER,
    ("as", "soon", "as"): TemporalOp.AFTER,
    ("in", "the", "course", "of"): TemporalOp.WHILE,
    ("at", "the", "time", "of"): TemporalOp.WHILE,
    ("ever", "since"): TemporalOp.SINCE,
}
