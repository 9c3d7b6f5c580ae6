"""Readings of sensors; each sensor numbers its own."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def reading(draws: Draws) -> dict[str, object]:
    """Fifty sensors take turns; one reading in a hundred repeats the number before instead of its own."""
    turn, sensor = divmod(draws.number, 50)
    seq = max(0, turn - 1) if draws.chance(0.01) else turn
    hundredths = draws.below(4_000) - 1_000
    sign = "-" if hundredths < 0 else ""
    celsius = f"{sign}{abs(hundredths) // 100}.{abs(hundredths) % 100:02d}"
    return {"device": f"d{sensor}", "seq": seq, "celsius": celsius}


TOPIC = Topic(
    "readings",
    comment="Readings of sensors; each sensor numbers its own",
    key="device",
    event_time="event_time",
    format=Json(versions=(Version(1, names=("device", "seq", "celsius", "event_time")),)),
    fields=(
        Field("device", pattern="[a-z0-9-]+", comment="Id of the sensor"),
        Field("seq", "bigint", minimum="0", comment="Sequence number of the reading"),
        Field("celsius", "decimal(5,2)", comment="Degrees Celsius"),
        Field("event_time", "timestamp", comment="When it was measured; epoch milliseconds in the record"),
    ),
    generator=reading,
)
