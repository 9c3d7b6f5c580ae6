"""Word count."""

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
