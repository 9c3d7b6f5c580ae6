"""Log lines of a service."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def entry(draws: Draws) -> dict[str, object]:
    """One line in ten is an error."""
    return {"level": "ERROR" if draws.chance(0.1) else "INFO", "message": f"request {draws.number}"}


TOPIC = Topic(
    "service_log",
    comment="Log lines of a service",
    event_time="event_time",
    format=Json(versions=(Version(1, names=("level", "message", "event_time")),)),
    fields=(
        Field("level", pattern="DEBUG|INFO|WARN|ERROR", comment="Level of the line"),
        Field("message", comment="Text of the line"),
        Field("event_time", "timestamp", comment="Event time; epoch milliseconds in the record"),
    ),
    generator=entry,
)
