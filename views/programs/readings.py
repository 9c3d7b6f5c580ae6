"""Readings of sensors, numbered by each of them."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def reading(dice: Draws) -> dict[str, object]:
    """Fifty sensors take turns; now and then one sends the number before again, and its own never."""
    turn, sensor = divmod(dice.number, 50)
    seq = max(0, turn - 1) if dice.chance(0.01) else turn
    hundredths = dice.below(4_000) - 1_000
    sign = "-" if hundredths < 0 else ""
    celsius = f"{sign}{abs(hundredths) // 100}.{abs(hundredths) % 100:02d}"
    return {"device": f"d{sensor}", "seq": seq, "celsius": celsius}


TOPIC = Topic(
    "readings",
    comment="Readings of sensors, numbered by each of them",
    key="device",
    event_time="event_time",
    format=Json(versions=(Version(1, names=("device", "seq", "celsius", "event_time")),)),
    fields=(
        Field("device", pattern="[a-z0-9-]+", comment="Name of the sensor"),
        Field("seq", "bigint", minimum="0", comment="Its number of the reading"),
        Field("celsius", "decimal(5,2)", comment="Degrees Celsius"),
        Field("event_time", "timestamp", comment="When it was measured; epoch milliseconds in the record"),
    ),
    example=reading,
)
