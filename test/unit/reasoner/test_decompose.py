"""Hand-written questions and what must be understood of them."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r4_ros.core.errors import UnsupportedQuestion
from r4_ros.reasoner.decompose import plan
from r4_ros.reasoner.keys import Asked, Form, Plan, TemporalOp
from r4_ros.reasoner.signature import signature

# question | form target [asked] | restrictions: subject relation anchor [anchor2] | superlative | time
TABLE = """
where is the mug | locate mug | | |
Where's my phone? | locate phone | | |
could you tell me where the tv is | locate tv | | |
find my laptop | locate laptop | | |
mug location | locate mug | | |
in which room is the couch | locate couch | | |
which table is the laptop on? | locate laptop | | |
where did you last see my keys | locate key | | | last
where was the cup 12 seconds ago | locate cup | | | ago
where was the mug before it was moved | locate mug | | | before
Where is the brown bag? | locate bag | | |
where is the mug nearest to the sink | locate mug | | distance min sink |
WHERE IS THE REMOTE CONTROL | locate remote control | | |
is there a bed | exists bed | | |
Is there a mug on the table? | exists mug | target on table | |
was there a ladder against the house three hours ago | exists ladder | target against house | | ago
did you see a dog | exists dog | | |
have you seen a red backpack in the kitchen | exists backpack | target in kitchen | |
any mugs on the counter? | exists mug | target on counter | |
is there a cell phone between the laptop and the keyboard | exists cell phone | target between laptop keyboard | |
Is there a mirror above the sink in front of me? | exists mirror | target above sink; sink in_front_of ego | |
I see the window on my left side? | exists window | target left_of ego | |
were there people in the lobby at 10:30 | exists person | target in lobby | | at
how many chairs are there | count chair | | |
How many chairs are around the dining table? | count chair | target around dining table | |
number of cups on the counter | count cup | target on counter | |
how many dryers are to my right | count dryer | target right_of ego | |
how many bottles were on the shelf between 10:00 and 10:30 | count bottle | target on shelf | | between
Is the number of cabinets behind me odd or even? | count cabinet | target behind ego | |
what is on the table | identify | target on table | |
What's under the bed? | identify | target under bed | |
what is to my left | identify | target left_of ego | |
what was on your right half an hour ago | identify | target right_of ego | | ago
what was to the right of the car 12 seconds ago | identify | target right_of car | | ago
what is left of the chair nearest to the tv | identify | target left_of chair | distance min tv |
what is between the sofa and the lamp | identify | target between sofa lamp | |
What is between two monitors on the table? | identify | target between monitor monitor; monitor on table | |
what's behind the couch in the living room | identify | target behind couch; couch in living room | |
what is at my 4 o'clock | identify | target behind ego; target right_of ego | |
What is at the 12 o'clock of the rack that is on my right? | identify | target in_front_of rack; rack right_of ego | |
what is in front of the fridge | identify | target in_front_of fridge | |
what is the black object on the desk | identify object | target on desk | |
what is the largest object in the bedroom | identify object | target in bedroom | size max - |
which chair is nearest to the tv | identify chair | | distance min tv |
what was moved | identify | | | change
what disappeared since 10:00 | identify | | | since
what has changed in the kitchen in the last 10 minutes | identify | target in kitchen | | since
what did robot2 see in the kitchen | identify | target in kitchen | |
which robot saw the red cup | identify cup agent | | |
what can I use to watch a movie | identify | | |
who is on the couch | identify identity | target on couch | |
what is hanging from the door | identify | target attached_to door | |
what is in the same room as the piano | identify | target same_room piano | |
what colour is the mug on the table | attribute mug color | target on table | |
What is the color of the couch in the living room? | attribute couch color | target in living room | |
what material are the chairs made of | attribute chair material | | |
what color was the car before noon | attribute car color | | | before
what size is the kitchen table | attribute table size | target in kitchen | |
when was the tv last seen | when tv | | | last
when did you first see the trash can | when trash can | | | first
when was the mug moved | when mug | | | change
What time did you see the backpack? | when backpack | | |
can you tell me when you last saw the dog | when dog | | | last
was the mug moved | verify mug location | | | change
is the backpack still there | verify backpack location | | | now
is the mug on the table | verify mug location | | |
is the mug on the table red | verify mug color | target on table | |
Are the cabinets below the mirror closed? | verify cabinet openness | target below mirror | |
is the door open | verify door openness | | |
is the couch next to the tv | verify couch location | | |
was the laptop in the kitchen 5 minutes ago | verify laptop location | | | ago
is the front door open or closed | choose front door openness | | |
is the lamp behind me on or off | choose lamp power | target behind ego | |
is the couch to my left or right | choose couch location | | |
how far is the chair from the table | distance chair | | |
how far away is the door | distance door | | |
what is the distance between the tv and the couch | distance tv | | |
how far from the dog was the nearest child two minutes ago | distance child | | distance min dog | ago
which direction is the tv | direction tv | | |
where is the fridge relative to me | direction fridge | | |
Relative to you, which way was the forklift 30 seconds ago? | direction forklift | | | ago
take me to the nearest exit | navigate exit | | distance min ego |
guide me to the room across from the lab | navigate room | target across_from lab | |
Go to the second stool from the left | navigate stool | | order min left |
which way should I go to get the box | navigate box | | |
why is the mug red | explain mug | | |
what is the robot doing | action robot | | |
how long was the car in the garage | duration car | target in garage | |
is the table bigger than the desk | compare table size | | |
List the rooms you went through since you left the dock, in order. | order room | | | since
If I sit on the sofa facing the tv, what is behind me? | identify | target behind ego; ego on sofa; ego facing tv | |
Is the kitchen table next to the red bag? | verify table location | target in kitchen | |
Where is Alice's bag? | locate bag | | |
I want to go to the stove | navigate stove | | |
we need to get to the nearest exit | navigate exit | | distance min ego |
I can't find my glasses | locate glasses | | |
Where was the mug when you first saw it? | locate mug | | | first
Where did the cat go after I left? | locate cat | | | after
What is the toaster standing on? | locate toaster | | |
What does the lamp stand on? | locate lamp | | |
On what does the kettle stand? | locate kettle | | |
Which piece of furniture is the lamp standing on? | locate lamp | | |
Did you come across a remote? | exists remote | | |
Have you ever come across a blue bag in the hallway? | exists bag | target in hallway | |
Does the kitchen have any keys? | exists key | target in kitchen | |
Does the box contain any nails? | exists nail | target in box | |
The mug is on the bench, right? | verify mug location | | |
The door is closed, isn't it? | verify door openness | | |
There is a plant in the bedroom, right? | exists plant | target in bedroom | |
Can you check whether the window is open? | verify window openness | | |
Could you check if there is a cup on the table? | exists cup | target on table | |
Any idea if the backpack is still in the hallway? | verify backpack location | | | now
Did the remote stand on the bench? | verify remote location | | |
Did the remote stand on the bench or on the table? | choose remote location | | |
Did the cup stand on the bench before it was moved? | verify cup location | | | before
Left or right of me, where is the couch? | choose couch location | | |
Who moved the kettle? | identify identity | | | change
At what point during the match did the bath overflow? | when bath | | | while
On the stroke of midnight, was the chapel door ajar? | verify door openness | target in chapel | | at
Where was the bike last week? | locate bike | | | at
What was in the box on the 4th? | identify | target in box | | at
In March, was there a bench by the pond? | exists bench | target next_to pond | | at
Was the plant on the sill a while ago? | verify plant location | | | ago
Where are the keys in the mornings? | locate key | | | habit
How come the blind facing the courtyard is closed every afternoon? | explain blind | target facing courtyard | | habit
Which jar did you reach into second? | identify jar | | | nth
By the time the vicar arrived, how many tables were there? | count table | | | before
Once the alarm had stopped, where was the cat? | locate cat | | | after
As you came in, was the light on? | verify light power | | | while
The minute the lights came back on, where was the dog? | locate dog | | | while
How many times between breakfast and lunch did the parrot swear? | count parrot | | | between
Was the gate open from the moment the van came until it left? | verify gate openness | | | between
In the final seconds of the clip, where is the dog? | locate dog | | | end
What stood on the shelf at first? | identify | target on shelf | | start
What was the final item to be put on the van? | identify item | target on van | | last
you said the robot vacuum was charging, is it done yet | verify robot vacuum other | | | now
What is the first black object I'd run into behind me? | identify object | target behind ego | distance min ego |
Which aisle is the most crowded? | identify aisle | | other max - |
What color is the cap of the red water bottle? | attribute cap color | target on red water bottle | |
How many boxes are on the fourth shelf? | count box | target on fourth shelf | |
Is the window on my right covered by a curtain? | verify window other | target right_of ego | |
What is the relationship between the vase and the table? | explain relationship | | |
Is the table behind me identical in color to the desk? | compare table color | target behind ego | |
How full is the skip behind the bakery? | state skip fullness | target behind bakery | |
Explain to me what the lever underneath the seat is for. | explain lever | target under seat | |
Would you be so kind as to show me to whichever sink is closest to the door? | navigate sink | | distance min door |
Could you reverse until the pillar's on your left? | navigate pillar | target left_of ego | |
Nearest loo? | locate loo | | distance min ego |
What is the desk made of, metal or wood? | choose desk material | | |
Whatever is rattling behind me, is it metal? | verify material | target behind ego | |
Just now, was that a bat or a bird that flew through the barn? | choose other | target through barn | | now
If there's a loud, piercing sound in the room, where is it coming from? | locate sound | | |
What time was it when you last saw the dog? | when dog | | | last
Did anybody move the kettle? | verify kettle location | | | change
How many times did Eric throw the ball? | count ball | | |
Did the mural change colour? | verify mural other | | | change
What color is the soda can? | attribute soda can color | | |
What's written on the whiteboard in the office? | attribute whiteboard text | target in office | |
What does the note on the fridge say? | attribute note text | target on fridge | |
Show me the way to the canteen | navigate canteen | | |
In which of the drawers is the tape measure? | locate tape measure | | |
Next to what is the printer? | locate printer | | |
Which room is the coldest? | identify room | | other max - |
Is the smaller of the two suitcases still under the stairs? | verify suitcase location | | size min - | now
The tallest tree behind the house, is it red? | verify tree color | target behind house | height max - |
When I'm sitting in the armchair, is the lamp on my left or my right? | choose lamp location | ego in armchair | |
Somebody left a scarf on the hook. What colour is it? | attribute scarf color | target on hook | |
Am I in the bedroom? | verify location | | |
Is the sink behind me attached to the wall or is it standing by itself? | choose sink other | target behind ego | |
Is the toilet seat up or down to my left? | choose toilet seat other | target left_of ego | |
Where have the shredder and the laminator been? | locate shredder and laminator | | |
What's the nearest thing to me that I could sit on? | identify | | distance min ego |
The biscuits on the top shelf, how many are left? | count biscuit | target on top shelf | |
What's between me and the exit? | identify | target between ego exit | |
How far off the ground is the lowest branch? | distance branch | | height min - |
Which side of the bed is the lamp on? | direction lamp | | |
What was the smallest of the boxes? | identify box | | size min - |
Were the bins full when the lorry came past last Tuesday? | verify bin fullness | | | while
What's the temperature in the greenhouse? | attribute greenhouse temperature | | |
From where I'm sitting, what's on the far side of the hedge? | identify | target across_from hedge | |
Am I right that the car wasn't red? | verify car color | | |
Is the till always left unlocked overnight? | verify till openness | | | habit
On your most recent round the lid was shut, right? | verify lid openness | | | last
What is hanging on the wall across from me? | identify | target attached_to wall; wall across_from ego | |
Is the lamp above my position on or off? | choose lamp power | target above ego | |
Which direction should I go if I want to sit down? | navigate | | |
Turning back, what will I see on the shelf? | identify | target behind ego; target on shelf | |
Are there as many forks as knives on the table? | compare fork other | knife on table; target on table | |
"""


def parsed(line: str) -> tuple[str, dict[str, object]]:
    question, head, places, extreme, *rest = (part.strip() for part in line.split("|"))
    words = head.split()
    asking = ("verify", "choose", "attribute", "compare", "identify", "state")
    properties = {a.value for a in Asked} if words[0] in asking else set()
    asked = words.pop() if len(words) > 1 and words[-1] in properties else None
    return question, {
        "form": words[0],
        "target": " ".join(words[1:]),
        "asked": None if asked == "agent" else asked,
        "spatial": sorted(p.strip() for p in places.split(";") if p.strip()),
        "superlative": extreme,
        "temporal": rest[0] if rest and rest[0] else "none",
    }


def compact(made: Plan) -> dict[str, object]:
    found = signature(made)
    extreme = found["superlative"]
    spatial = []
    for s in found["spatial"]:
        parts = [s["subject"], s["relation"], s["anchor"]]
        spatial.append(" ".join(parts + ([s["anchor2"]] if s.get("anchor2") else [])))
    return {
        "form": found["form"],
        "target": found["target"],
        "asked": found["asked"],
        "spatial": sorted(spatial),
        "superlative": f"{extreme['by']} {extreme['direction']} {extreme['from'] or '-'}" if extreme else "",
        "temporal": found["temporal"]["op"],
    }


WORDINGS = [path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("wordings*.txt"))]
CASES = [parsed(line) for line in "".join([TABLE, *WORDINGS]).strip().splitlines()]


@pytest.mark.parametrize(("question", "expected"), CASES, ids=[q for q, _ in CASES])
def test_is_understood(question: str, expected: dict[str, object]) -> None:
    assert compact(plan(question)) == expected


def test_the_table_is_large_and_of_all_forms() -> None:
    assert len(CASES) >= 80
    assert {e["form"] for _, e in CASES} == {f.value for f in Form}


@pytest.mark.parametrize(
    "relation_free", ["where is the mug", "what is on the table", "how many chairs are near the tv"]
)
def test_same_question_same_plan(relation_free: str) -> None:
    assert plan(relation_free) == plan(relation_free)


def test_synonyms_are_looked_for_together() -> None:
    labels = plan("where is the mug").target.semantic.labels
    assert labels[0] == "mug"
    assert "cup" in labels
    assert "wine glass" not in labels


def test_chain_refers_to_an_earlier_step() -> None:
    made = plan("what is left of the chair nearest to the tv")
    tv, chair, target = made.steps
    assert tv.semantic.text == "tv"
    assert chair.superlative is not None and chair.superlative.reference is not None
    assert chair.superlative.reference.step == 0
    assert target.spatial[0].reference.step == 1


def test_room_before_a_thing_is_a_region() -> None:
    (step,) = plan("where is the kitchen table").steps
    assert step.semantic.text == "table"
    assert step.spatial[0].reference.region == "kitchen"


def test_amounts_of_time() -> None:
    for said, seconds in (
        ("12 seconds ago", 12),
        ("a minute ago", 60),
        ("half an hour ago", 1800),
        ("an hour and a half ago", 5400),
        ("twenty five minutes ago", 1500),
        ("a couple of hours ago", 7200),
    ):
        (key,) = plan(f"where was the mug {said}").target.temporal
        assert (key.op, key.seconds) == (TemporalOp.AGO, seconds), said


def test_times_of_day() -> None:
    for said, hour, minute in (
        ("10:02", 10, 2),
        ("3 pm", 15, 0),
        ("half past six", 6, 30),
        ("noon", 12, 0),
        ("0600", 6, 0),
    ):
        (key,) = plan(f"where was the mug at {said}").target.temporal
        assert key.start is not None
        assert (key.op, key.start.hour, key.start.minute) == (TemporalOp.AT, hour, minute), said


@pytest.mark.parametrize(
    "question",
    [
        "How many times did Danny offer advice to Amy?",
        "What does Anna want to eat?",
        "Who let the cat out after dinner?",
        "What is Nick particularly skilled at?",
        "What's for dinner?",
        "How many cups does Gina have?",
        "What items were taken out from the toolbox?",
        "Where is it?",
        "Where should the remote control be placed?",
        "How many boxes are on the fourth shelf?",
        "There is an object to tell the time in this scene, in which room is it?",
        "Did he sit down on the couch?",
    ],
)
def test_what_finds_no_place_in_a_plan_is_refused(question: str) -> None:
    assert plan(question).unsupported


@pytest.mark.parametrize(
    "question",
    [
        "where is the mug",
        "what is on the table",
        "which way should I go to get the box",
        "which direction should I go if I want to sit down",
        "turning back, what will I see on the shelf",
    ],
)
def test_plain_questions_leave_nothing_over(question: str) -> None:
    assert plan(question).unsupported == ""


@pytest.mark.parametrize("text", ["", "   ", "\u200b\n\t", "???", "x" * 5000])
def test_no_question_is_unsupported(text: str) -> None:
    with pytest.raises(UnsupportedQuestion):
        plan(text)


@settings(max_examples=80, deadline=None)
@given(data=st.data(), joint=st.sampled_from(["", ",", " or", " and", ".", "?", " -", ":"]))
def test_torn_and_joined_questions_give_plans(data: st.DataObject, joint: str) -> None:
    first, second = (data.draw(st.sampled_from(CASES))[0].split() for _ in range(2))
    cut, rest = data.draw(st.integers(0, len(first))), data.draw(st.integers(0, len(second)))
    text = " ".join([*first[:cut]]) + joint + " " + " ".join(second[rest:])
    with suppress(UnsupportedQuestion):
        made = plan(text)
        assert signature(made)["form"] == made.form.value


@pytest.mark.parametrize("text", ["left or right where is the cup", "the cup left or right or not where is it"])
def test_alternatives_without_a_comma_give_plans(text: str) -> None:
    assert plan(text).form in (Form.CHOOSE, Form.LOCATE)


QUESTIONS = Path(__file__).resolve().parents[4] / "shared" / "data" / "questions.jsonl"


@pytest.mark.slow
@pytest.mark.skipif(not QUESTIONS.exists(), reason="needs ../shared/data/questions.jsonl")
def test_questions_of_public_sets_give_plans() -> None:
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    for line in lines[:: len(lines) // 300]:
        made = plan(json.loads(line)["question"])
        assert Plan.model_validate_json(made.model_dump_json()) == made
