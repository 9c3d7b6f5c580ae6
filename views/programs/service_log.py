"""What a service says of itself."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def entry(dice: Draws) -> dict[str, object]:
    """One line in ten is an error."""
    return {"level": "ERROR" if dice.chance(0.1) else "INFO", "message": f"request {dice.number}"}


TOPIC = Topic(
    "service_log",
    comment="What a service says of itself",
    event_time="event_time",
    format=Json(versions=(Version(1, names=("level", "message", "event_time")),)),
    fields=(
        Field("level", pattern="DEBUG|INFO|WARN|ERROR", comment="How serious it is"),
        Field("message", comment="What is said"),
        Field("event_time", "timestamp", comment="When; epoch milliseconds in the record"),
    ),
    example=entry,
)
