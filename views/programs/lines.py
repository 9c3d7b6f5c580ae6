"""Lines of text."""

from core.draws import Draws
from core.topic import Field, Lines, Topic

_WORDS = ("the", "The", "a", "log", "is", "read", "again", "and", "again,", "whatever", "comes", "late", "3rd", "it's")


def line(draws: Draws) -> str:
    """Up to twelve words."""
    return " ".join(draws.pick(_WORDS) for _ in range(draws.below(13)))


TOPIC = Topic(
    "lines",
    comment="Lines of text, timed by the record",
    format=Lines("(.*)"),
    fields=(Field("line", comment="The text"),),
    generator=line,
)
