"""Lines of text."""

from core.topic import Field, Lines, Topic

TOPIC = Topic(
    "lines",
    comment="Lines of text, timed by the record",
    format=Lines("(.*)"),
    fields=(Field("line", comment="The text"),),
)
