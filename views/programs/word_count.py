"""Word count."""

from core.example import Example
from core.measures import Count
from core.view import Check, Explode, Key, Rollup

VIEW = Rollup(
    "word_count",
    comment="How often each word occurs: in lower case, split where there is no letter, without 'the'",
    sources=("lines",),
    explode=Explode("word", r"split(lower(line), '[^\\p{L}]+')"),
    where="word <> '' and word <> 'the'",
    keys=(Key("word", "word", comment="The word"),),
    measures=(Count("times", comment="Number of occurrences"),),
    checks=(Check("some", "times > 0"),),
)

EXAMPLE = Example(
    records={"lines": ("The log is the truth", "a log, again: LOG", "")},
    rows="""
        word  | times
        log   | 3
        is    | 1
        truth | 1
        a     | 1
        again | 1
    """,
)
