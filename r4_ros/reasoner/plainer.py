"""Turns of phrase, said more plainly before they are parsed: 'is it in the kitchen that the mug is kept?'.

People wrap a question ('would you mind confirming that ..'), split it ('is it .. that ..') or put its parts in another
order ('the mug is in which room?'). Each turn is rewritten into the plain question of the same meaning, which the rules
read. A turn keeps every word that carries meaning; what matches no turn stays as it is.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PARTS = {
    "the": r"(?:(?:the|a|an|my|your|our|his|her|their|this|that|these|those) (?:[\w'-]+ ){0,3}?[\w'-]+)",
    "any": r"(?:(?:any|some|a|an|the|my|your|our|one|at least one) (?:[\w'-]+ ){0,3}?[\w'-]+)",
    "in": r"(?:in|on|at|under|near|by|behind|beside|inside|next to|on top of|in front of|close to|underneath|above|below)",
    "is": r"(?:is|are|was|were)",
    "you": r"(?:you|i|we|they|he|she|one|somebody|someone|anybody|anyone)",
    "please": r"(?:(?:please|kindly|just|perhaps|possibly|maybe|quickly) )*",
    "ago": r"(?:(?:a|an|one|two|three|four|five|ten|half an|[\d.]+|a few|some) (?:\w+ )?(?:s|secs?|seconds?|mins?|minutes?|hours?|days?)\b)",
    "see": r"(?:see|saw|seen|spot|spotted|notice|noticed|observe|observed|find|found|detect|detected|meet|met)",
    "put": r"(?:kept|put|placed|left|stood|set|laid|sat|stored|got|had|hung|stuck|keep|leave|have|store|place|stand|set down)",
    "know": r"(?:do you (?:happen to )?(?:know|remember|recall)|is it known|(?:can|could|would|will) you tell (?:me|us)|tell (?:me|us)|"
    r"(?:i|we) wonder|(?:i|we)(?:'d| would) (?:like|love|want) to know|(?:i|we) (?:want|need) to know|show (?:me|us))",
    "er": r"(?:(?:near|clos|furth|farth|bigg|larg|small|tall|short|high|low|wid|narrow|long|thick|thin|heavi|light|old|new|earli"
    r"|lat|few)er(?: up| away| off)?)",
}


class Turn(NamedTuple):
    """What is said, as a pattern with the parts above in braces, and the plain question that it means."""

    said: str
    plain: str


IDIOMS = (
    Turn(r"\b1st\b", "first"),
    Turn(r"\btell us\b", "tell me"),
    Turn(r"[,.]? (?:dear|love|darling|mate|buddy|pal|robot|sir|madam|friend|my friend|sweetie|thanks|thank you|cheers|shall we|ta)\W*$", "?"),
    Turn(r"^(?:come on|right then|right|now then|listen|look|excuse me|say)(?:,? robot)?, ", ""),
    Turn(r"\bat all(?=\W*$)", ""),
    Turn(r"\bat least one\b", "a"),
    Turn(r"\bon top of(?=\W*$)", "on"),
    Turn(r"\b(where(?: is|'s|s) .+?) (?:hiding|got to|gone to|at)(?=\W*$)", r"\1"),
    Turn(r"\bnot (?:very |too |so )?far (?:away )?from\b", "near"),
    Turn(r"\bpresent (?=in|on|at)", ""),
    Turn(r"\b({is}) (?:sat|stood) (?=in|on|at)", r"\1 "),
    Turn(r"\bof the two,? (?=is|was|which|what)", ""),
    Turn(r"\b({the})'s (colou?r|size|height|location|position)\b", r"the \2 of \1"),
    Turn(r"\bthe (\w+)s (colou?r)(?=\W*$)", r"the \2 of the \1"),
    Turn(r"\bsum1\b", "someone"),
    Turn(r"\b(?:lay|laid|lays|set|sets|clap|clapped) eyes on\b", "see"),
    Turn(r"\b(?:came|comes|come|brought) (?:in)?to (?:your )?(?:notice|attention|view|sight)\b", "did you see"),
    Turn(r"\bdid ({any}) (?:catch your (?:eye|attention)|come to your (?:notice|attention)|turn up)\b", r"did you see \1"),
    Turn(r" while you were (?:looking|going|driving|moving) (?:around|about|round)\b", ""),
    Turn(r"\bfor the (?:very )?(first|last) time\b", r"\1"),
    Turn(r"\bto begin with\b", "first"),
    Turn(r"\b(?:originally|initially) (?={see})", "first "),
    Turn(r"\bmost recently (?={see})", "last "),
    Turn(r"\b({see})((?: first| last)?) by you\b", r"\1\2"),
    Turn(r"\b(?:at|in) (?:which|what) (?:place|spot|location)\b", "where"),
    Turn(r"\b(?:the|which|what) (?:place|spot|location) (?:where|in which|at which) (?=the|my|your|a|i|you)", "where "),
    Turn(r"\bwhereabouts\b(?= (?:the|my|your|our|is|are|was|were|did|you|i|we)\b)", "where"),
    Turn(r"\bjust now\b", "now"),
    Turn(r"\b(?:at some point|at any point|at any time|by any chance|or other)\b", ""),
    Turn(r"\bin close proximity (?:to|of)\b|\bclose by(?= (?:the|my|a)\b)", "near"),
    Turn(r"\b(?:in|of) the (?:whole|entire) (flat|apartment|house|home|place|building)\b", r"in the apartment"),
    Turn(r"\b(in|around|across) (the|this|our) flat\b", r"\1 \2 apartment"),
    Turn(r"\b(?:taking|counting) all the rooms together,? ?", ""),
    Turn(r"\b(?:total|overall|full) number of\b", "number of"),
    Turn(r"\b(?:every|each) (?:single )?one of the\b", "the"),
    Turn(r",? in (?:metres|meters|feet|centimetres|centimeters|cm|m)(?=\W*$)", ""),
    Turn(r"\bcoloured (?=\w+\W*$)", ""),
    Turn(r"\b(?:kept |placed |located |put )?at (?:a |the )?(?:(?:greater|bigger|more|larger) height|higher (?:spot|place|level|position|point))\b", "higher"),
    Turn(r"\b(?:kept |placed |located |put )?at (?:a |the )?(?:(?:smaller|less) height|lower (?:height|spot|place|level|position|point))\b", "lower"),
    Turn(r"\b(?:further|farther|higher) (?:up )?(?:off|above|from) the (?:floor|ground)\b", "higher"),
    Turn(r"\b(?:greater|larger|bigger|more) in size\b", "bigger"),
    Turn(r"\b(?:lesser|smaller|less) in size\b", "smaller"),
    Turn(r"\btakes? up (?:more|the most) (?:space|room)\b", "is bigger"),
    Turn(r"\bless (?:far|distant)(?: away)?\b", "nearer"),
    Turn(r"\b(?:the |at the |at a )?shorter distance (?:from|to)\b", "nearer to"),
    Turn(r"\b(?:got|have|has) (?:been )?(?:put|placed|taken|carried) (?:somewhere|anywhere) else\b", "been moved"),
    Turn(r"\b(?:been |was |were )(?:put|placed|taken|carried) (?:somewhere|anywhere) else\b", "been moved"),
)
"""Words for words."""

FRAMES = (
    Turn(r"^(?:kindly|perhaps|maybe) ", ""),
    Turn(r"^(?:can|could|would|will) you {please}(?=(?:list|name|count|enumerate) )", ""),
    Turn(
        r"^(?:(?:can|could|would|will) you )?{please}(?:confirm|verify|check|double-check|assure me)"
        r"(?: for me)? that ({the} {is} .+?)(?:,? please)?[?.]*$",
        r"\1, right?",
    ),
    Turn(
        r"^(?:(?:can|could|would|will|do) you )?{please}(?:work out|measure|figure out|recall|remember|find out|calculate|"
        r"estimate|let me know|remind me|tell me) (?=(?:how|where|what|which|who|when)\b)",
        "tell me ",
    ),
    Turn(r"\b(?:have you (?:got )?|do you have |you got )?any (?:idea|clue) (?=(?:how|where|what|which|who|when)\b)", "tell me "),
    Turn(  # 'my eyes aren't so good, what colour is the mug'
        r"^(?:my|our|i|i'm|i've|we|we're|we've)\b(?:(?! (?:in|on|at|by|near|behind|under|from|to|sit\w*|stand\w*|fac\w+|look\w*|turn\w*|l[ea]ft|put)\b)[^,.;?])+"
        r"[,.;] ?(?:and |so |but )?((?:where|what|which|how|when|who|is|are|was|were|did|does|has)\b(?!.*\b(?:it|they|them|that|this|one|there|then)\b).*)$",
        r"\1",
    ),
    Turn(r"\b(how \w+ \w+|how \w+|what|where|which \w+|which|when) would you (?:say|reckon|think)(?: that)?\b", r"\1"),
    Turn(
        r"^(?:i|we)(?:'m|'re| am| are| can't| cannot| could not| couldn't)(?: seem to| really)? (?:after|looking for|searching for|"
        r"find|see|lay my hands on|get hold of|spot) ({the})(?: for [\w ]+| anywhere)?[,.;:] ?(?:and |but |so )?(?:tell me )?where\b.*$",
        r"where is \1?",
    ),
    Turn(
        r"^(?:i|we)(?:'m|'re| am| are| can't| cannot)(?: seem to)? (?:after|looking for|searching for|find) ({the})"
        r"[,.;:] ?(?:and |but |so )?(?:in )?(?:which|what) room\b.*$",
        r"which room is \1 in?",
    ),
    Turn(r"^(?:is|was) it (?:right|true|correct|the case|so)(?: that)? ({the} {is} .+?)\W*$", r"\1, right?"),
    Turn(
        r"^(?:i|we) ?(?:think|believe|reckon|suspect|guess|suppose|assume|(?:have|got|'ve) (?:got )?a feeling|am sure|was told)(?: that)? (.+?)"
        r"[.,;] ?(?:am i right|(?:is|was) (?:that|it|this) (?:right|correct|so|true)|"
        r"(?:do|did|does|is|was|are|were|have|has) (?:i|you|it|they|he|she)|right|correct|yes)\W*$",
        r"\1, right?",
    ),
    Turn(r"^am i (?:right|correct) (?:in (?:thinking|saying|believing|assuming)|to think)(?: that)? (.+?)\W*$", r"\1, right?"),
    Turn(
        r"^(?:i|we) (?:was|were|am|are) hoping (?:that )?you(?:'d| had| have|'ve)? {see} ({any})[.,;] ?(?:did|have|had) you\W*$",
        r"did you see \1?",
    ),
    Turn(r"^would you (?:say|reckon|think)(?: that)? ({the}) ({is}) (.+)$", r"\2 \1 \3"),
    Turn(r"^would you call ({the}) (\w+)\W*$", r"is \1 \2?"),
    Turn(r"^let(?:'s| us) (?:head|go|move|drive|walk) (?:over |across |back )?to\b", "go to"),
    Turn(r"^(?:proceed|head|move|drive) (?:over |across )?to (?=the|my|a)", "go to "),
    Turn(r"^let(?:'s| us) go (?:and )?(?:see|visit) (?=the|my|a)", "go to "),
    Turn(
        r"^i(?:'ve got| need| want| have|'d like| would like) to (?:get|go|come) to ({the})[.,;] ?(?:can|could|would|will) you .*$",
        r"take me to \1",
    ),
    Turn(r"^(?:would|do) you mind (?:(tak|guid|driv|giv|com)ing|(\w+)ing) (?=me|us|to|over)", r"\1\2 "),
    Turn(r"^(?:tak|guid|driv|giv|com)(?= (?:me|us|to|over))", r"\g<0>e"),
    Turn(r"\b(?:going|thinking|looking|casting) back(?: to)? ({ago})(?: ago)?[,:]? ?(.+?)(?: then| at that time| there)?\W*$", r"\2 \1 ago?"),
    Turn(r"^({ago}) back,? ", r"\1 ago, "),
)
"""What a question is wrapped in."""

ORDERS = (
    Turn(
        r"^(?:if|had) {you}(?: had|'d)? (?:looked|checked) (?:at|on|in) ({the})(?: ({ago} ago))?, ?"
        r"what would {you} have {see} (on|in|under) (?:it|there)\W*$",
        r"what was \3 \1 \2?",
    ),
    Turn(
        r"^(?:if|had) {you}(?: had|'d)? (?:looked|checked) (?:at|on|in) ({the})(?: ({ago} ago))?, ?"
        r"would ({the}) have been (on|in|under) it\W*$",
        r"was \3 \4 \1 \2?",
    ),
    Turn(r"^will ({the}) be (.+?) if {you} (.*?)\W*$", r"is \1 \2 now?"),
    Turn(  # 'if I had looked on the table a minute ago, what would I have seen there?'
        r"^(?:if|had) {you}(?: had|'d)? (?:looked|checked|gone|been) ({in} {the})(?: ({ago} ago))?, ?"
        r"what would {you} have {see}(?: there)?\W*$",
        r"what was \1 \2?",
    ),
    Turn(
        r"^(?:if|had) {you}(?: had|'d)? (?:looked|checked|gone|been) ({in} {the})(?: ({ago} ago))?, ?"
        r"would ({the}) have been (?:there|in it)\W*$",
        r"was \3 \1 \2?",
    ),
    Turn(
        r"^(?:if|had) {you}(?: had|'d)? (?:come )?look(?:ed|ing) for ({the})(?: ({ago} ago))?, ?"
        r"where would (?:it|they|{you}) have (?:been|{see})(?: it| them)?\W*$",
        r"where was \1 \2?",
    ),
    Turn(r"^would {you} have (?:{see}|come (?:upon|across)) ({the}) ({in} .+)$", r"was \1 \2"),
    Turn(
        r"^(?:would|can|could|do|will) {you} (?:find|get|see) ({any})(?: there)? if {you} (?:look(?:ed)?|go|went|check(?:ed)?) ({in} .+)$",
        r"is there \1 \2",
    ),
    Turn(r"^(?:can|could) (?:i|we) (?:get|find|have) (any [\w' -]+?) ({in} .+)$", r"is there \1 \2"),
    Turn(r"^({is}) it ({in} {the}) that ({the}) {is}(?: (?:kept|put|stored|placed|left|standing|lying|sitting))?\b(.*)$", r"\1 \3 \2\4"),
    Turn(r"^({is}) it ({the}) that ({the}) {is}(?: kept| put| stored)? (in|on|under)\b(.*)$", r"\1 \3 \4 \2\5"),
    Turn(r"^({in} {the}), ?is (?:that|this|it) where ({the}) ({is})\b(.*)$", r"\3 \2 \1\4"),
    Turn(r"^({is}) it ({the}) or ({the}) (?:that|which)(?: (?:is|was|are|were)|'s) (.+?)\W*$", r"which is \4, \2 or \3?"),
    Turn(r"^({is}) it ({the}) or ({the}) (?:that|which) you ({see}) (.+?)\W*$", r"which did you see \5, \2 or \3?"),
    Turn(r"\bwhat is it that ({the}) ({is})\b", r"what \2 \1"),
    Turn(r"\b(where|when) (?:is|was) it that (?=you|i|we)", r"\1 "),
    Turn(r"\bwhere it (?:is|was) that (?=you|i|we)", "where "),
    Turn(
        r"^(?:do|did) (?:we|you|they) (?:have|keep|put) (the [\w' -]+?) ({in} .+)$",
        r"is \1 \2",
    ),
    Turn(r"^(?:have|has) (?:we|you|they|somebody|someone) (?:got|kept|put|left|placed) (the [\w' -]+?) ({in} .+)$", r"is \1 \2"),
    Turn(r"^(?:have|do|has) (?:we|you|they|somebody)(?: got| kept| put| have| keep)? (any [\w' -]+?) ({in} .+)$", r"is there \1 \2"),
    Turn(r"\bwhat (?:do|have|did) (?:we|you|they)(?: {put})* ({the}) (?:sitting |standing |lying |resting )?(on|in|under)\W*$", r"what is \1 \2?"),
    Turn(r"\bwhat(?: stuff| things| items)? (?:do|have|did) (?:we|you|they)(?: {put})+ ({in} {the}\b.*)$", r"what was \1"),
    Turn(r"\bwhere (?:have|did|do|has) (?:we|you|they|somebody|someone) {put} (?=the|my)", "where is "),
    Turn(r"\b(?:which|what) room (?:have|did|do|has) (?:we|you|they|somebody|someone) {put} ({the}) in\b", r"which room is \1 in"),
    Turn(r"^(?:which|what) rooms ({the}) in\W*$", r"which room is \1 in?"),
    Turn(r"^is (\w+) the colou?r of ({the})\W*$", r"is \2 \1?"),
    Turn(r"^([\w -]+?) ({in} {the}),? how many(?: have| do)?(?: we| you| they)?(?: got| have| see)?\W*$", r"how many \1 are \2?"),
    Turn(r"\b(?:(?:can|could|would) you )?{please}(?:add|total|tally) up (?:all )?(?:the )?([\w -]+?)(?: for me)?\W*$", r"how many \1 are there?"),
    Turn(r"^(?:have a look|take a look|look) (?:at|over) ({the})[,:.] ?(?:and )?(?:tell me )?what(?: is|'s) (on|in|under) it\W*$", r"what is \2 \1?"),
    Turn(r"^(?:do you (?:remember|recall|know)|tell me|remind me of) (?=the (?:colou?r|size|height|location|position) of)", "what is "),
    Turn(r"^(?:at )?what time (?:was|is) it when (?:you|robot ?\d*) (first|last) {see} (.+)$", r"when did you \1 see \2"),
    Turn(
        r"^(?:what(?: is|'s| was)|tell me|name) the (last|first) (?:place|spot|location|room)(?: where| that| in which)? you {see} ({the})\W*$",
        r"where did you \1 see \2?",
    ),
    Turn(r"\b(?:which|what) of the rooms (?=the|my)", "which room "),
    Turn(r"^name the room that has ({the}) in it\W*$", r"which room is \1 in?"),
    Turn(r"\bon what ({is}) ({the})(?: kept| put| placed| standing| lying)?\W*$", r"what \1 \2 on?"),
    Turn(r"\bwhat ({the}) (?:has|have) been (?:put|placed|set|laid|left) (on|in|under)\b", r"what \1 is \2"),
    Turn(r"\bwhat ({the}) (is|are) (?:resting|sitting|standing|lying) (on|in|under)\b", r"what \1 \2 \3"),
    Turn(r"\bwhether ((?:the )?[\w ]+?) has(?: got)? ((?:any|a|an|some) [\w' -]+?)(?: in it)\b", r"whether there is \2 in \1"),
    Turn(r"^(?:has|have) ((?:the )?[\w ]+?) got ((?:any|a|an|some) [\w' -]+?)(?: in it)?\W*$", r"is there \2 in \1?"),
    Turn(r"^({the}) has(?: got)? how many ([\w' -]+?) in it\W*$", r"how many \2 are in \1?"),
    Turn(r"^({the}) ({is}) how (?:far|many (?:metres|meters|feet|steps))(?: away| off)?(.*?)\W*$", r"how far \2 \1\3?"),
    Turn(r"^({the}) ({is}) of (what|which) (\w+)\W*$", r"\3 \4 \2 \1?"),
    Turn(r"^({the}) ({is}) (in|on) (what|which) (\w+)((?: from me| from here)?)\W*$", r"\4 \5 \2 \1 \3\6?"),
    Turn(r"^(the \w+ of {the}), ?what (?:is|was) (?:it|that)\W*$", r"what is \1?"),
    Turn(r"^({in} {the}), ?what (?:is|was|are|were) there\W*$", r"what is \1?"),
    Turn(r"^from ({the}) to ({the}),? how far (?:is it|is that|apart)\W*$", r"how far is \1 from \2?"),
    Turn(r"\b(?:give|tell) me a (?:count|tally) of (?:all )?(?:the )?([\w -]+?) ({in} {the})\W*$", r"how many \1 are \2?"),
    Turn(r"\b(?:give|tell) me a (?:count|tally) of (?:all )?(?:the )?", "how many "),
    Turn(r"^(how many [\w' -]+?) in the place\W*$", r"\1 are there?"),
    Turn(r"\bdistance between me and ({the})", r"distance from me to \1"),
    Turn(r"\bwhat ({the}) ({is}) (from {the} to .+)$", r"what \2 \1 \3"),
    Turn(r"\b(?:how many|what number of) (?:metres|meters|feet) (?:separate|part|lie between|are between) ({the}) (?:from|and) ({the})\W*$", r"how far is \1 from \2?"),
    Turn(
        r"^(?:{know} )?(?:which|what) (?:way|direction) (?:(?:must|should|do|would|ought) i|i (?:must|should|ought|have|need))"
        r"(?: have to| need to| to)? (?:turn|face|look)"
        r"(?: to (?:face|see|find)| for| towards?)? ({the})\W*$",
        r"which direction is \1 from me?",
    ),
    Turn(r"\bwhat distance (?:separates|parts|lies between) ({the}) (?:from|and) ({the})\W*$", r"how far is \1 from \2?"),
    Turn(r"\bhow (?:big|large|wide|long) is the (?:gap|distance) between ({the}) and ({the})\W*$", r"how far is \1 from \2?"),
    Turn(r"^how close (is|are|was|were) ({the}) to ({the})\W*$", r"how far \1 \2 from \3?"),
    Turn(r"^({is}) there less than (a|one|\d+) met(?:re|er)s? between ({the}) and ({the})\W*$", r"\1 \3 within 1 m of \4?"),
    Turn(
        r"^(?:is|are|do|does|did) ({the}) and ({the}) (?:stand |sit |lie |be )?(?:close|near|nearby|next)"
        r"(?: to| by)? (?:each other|one another)\W*$",
        r"is \1 near \2?",
    ),
    Turn(r"^(?:between|out of|of) ({the}) and ({the}),? ((?:which|who|what)\b.*?)\W*$", r"\3, \1 or \2?"),
    Turn(r"\bwhich (?:one |of them |of the two )?({is}|did|has) (.*?)\bthe ({er})(?: one)?\b", r"which \1 \2\3"),
    Turn(r"(?:\b(?:(?:can|could|would|will) you )?{please}tell me )?\b(?:whether|if) ({the}) or ({the}) (is|was|are|were) ({er})\W*$", r"which \3 \4, \1 or \2?"),
    Turn(r"^(what|which)(?: one)?( is| are| was)? ({er}) ({the}) or ({the})\W*$", r"which is \3, \4 or \5?"),
    Turn(r"^(what|which) (did you {see} (?:first|last|earlier)) ({the}) or ({the})\W*$", r"which \2, \3 or \4?"),
    Turn(
        r"^(which|what|who)(?: one)? (is|was) (?:the )?(near|clos|furth|farth|bigg|larg|small|tall|short|high|low|wid|long)est(.*, {the} or {the}\W*)$",
        r"\1 \2 \3er\4",
    ),
    Turn(r"^(?:am i|are you) (nearer|closer)(?: to)? ({the}) or(?: to)? ({the})\W*$", r"which is \1 to me, \2 or \3?"),
    Turn(
        r"^did you {see} ({the}) (?:before|after) ({the}),? or (?:was it )?(?:the other way (?:a)?round|vice versa|after|before)\W*$",
        r"which did you see first, \1 or \2?",
    ),
    Turn(r"^compared (?:with|to) ({the}), ?({is}) ({the}) (?:located |placed )?({er})\W*$", r"\2 \3 \4 than \1?"),
    Turn(r"^does ({the}) exceed ({the}) in size\W*$", r"is \1 bigger than \2?"),
    Turn(r"^({the}) ({is}) ({er} than .+?), ?(?:(?:is|are|was|were)n't (?:it|they)|right|correct|yes|no)\W*$", r"\2 \1 \3?"),
    Turn(
        r"^(?:when|(?:the )?(first|last) time)(?: that)? you (?:(first|last) )?{see} ({the})(?: (first|last))?, ?"
        r"where (?:was|were) (?:it|that|they)\W*$",
        r"where did you \1\2\4 see \3?",
    ),
    Turn(  # 'tell me what the mug is on'
        r"^{please}{know} (?:please )?(where|what|when|(?:which|what|how) \w+) ({the}) ({is})\b(?! (?:when|before|after|while))(.*)$",
        r"\1 \3 \2\4",
    ),
)
"""Parts in another order."""


def _compiled(turns: tuple[Turn, ...]) -> tuple[tuple[re.Pattern[str], str], ...]:
    found = []
    for turn in turns:
        said = turn.said
        for name, pattern in PARTS.items():
            said = said.replace("{" + name + "}", pattern)
        found.append((re.compile(said, re.IGNORECASE), turn.plain))
    return tuple(found)


TURNS = _compiled(IDIOMS + FRAMES + ORDERS)


def plainer(text: str) -> str:
    """The plain question of the same meaning; the text itself where no turn is known."""
    for pattern, plain in TURNS:
        text = re.sub(r"\s+", " ", pattern.sub(plain, text)).strip()
    return re.sub(r" (?=[?.,])", "", text)
