"""The log of a study: ten days of events for views of every kind, and flows of today."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from core.catalog import Catalog
from core.evidence.measurement import DAYS
from core.identifiers import Name
from core.sample_data.records import records
from core.sample_spec import SampleSpec
from core.unix_time import epoch_millis
from flows.measure import expected, load
from infra import clock
from infra.kafka.producer import OnSend
from infra.settings import Settings

PROGRAMS = ("orders", "payments", "order_payments", "page_views", "purchases", "purchases_once")  # of views/programs
OWN = ("volume_by_day", "visits")  # of views/study
_SHARES = {"trades": 0.70, "orders": 0.10, "payments": 0.10, "purchases": 0.05, "page_views": 0.05}
ACCESS_LOG = Name("access_log")
_RATE = 1_000.0  # trades a second of a day; the other topics have their shares of it
_SEED = 77
_OPENS = timedelta(hours=10)


@dataclass(frozen=True)
class History:
    """What was sent: records of each topic, and the days, oldest first."""

    counts: dict[Name, int]
    days: tuple[datetime, ...]

    @property
    def size(self) -> int:
        """All records."""
        return sum(self.counts.values())


def send_history(settings: Settings, catalog: Catalog, size: int) -> History:
    """Sends ``size`` valid records of the ten days before today, a tenth of each topic on each day; and the access log.

    Events of a day begin at ten o'clock, 1,000 trades a second. The same size gives the same records on the same day.
    """
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = tuple(today - timedelta(days=DAYS - number) for number in range(DAYS))
    counts = {Name(topic): int(size * share / DAYS) for topic, share in _SHARES.items()}
    for number, day in enumerate(days):
        for topic, count in counts.items():
            rate = _RATE * _SHARES[topic] / _SHARES["trades"]
            spec = SampleSpec(
                _SEED, epoch_millis(day + _OPENS) - int(number * count * 1_000 / rate), rate, out_of_order=0.1
            )
            load.send(settings, catalog.topic(topic), records(catalog.topic(topic), spec, count, number * count))
    load.send_access_log(settings, catalog)  # the views of the demo refuse to be empty
    sent = {topic: DAYS * count for topic, count in counts.items()}
    return History({**sent, ACCESS_LOG: expected.LINES}, days)


def send_at_rate(
    settings: Settings, catalog: Catalog, topic: Name, seed: int, rate: float, seconds: float, on_send: OnSend
) -> int:
    """Sends records of now on schedule; returns how many. ``on_send`` gets each one's due time."""
    spec = SampleSpec(seed, clock.now_ms(), rate)
    samples = records(catalog.topic(topic), spec, int(rate * seconds))
    return load.send(settings, catalog.topic(topic), samples, rate=rate, on_send=on_send).count
