"""What the planner asks about an instance: its load and its prices."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from core.errors import Usage

HOURS_OF_A_MONTH = 730
DAYS_OF_A_MONTH = HOURS_OF_A_MONTH / 24
SECONDS_OF_A_DAY = 86_400
SECONDS_OF_A_MONTH = HOURS_OF_A_MONTH * 3600
SMALLEST, LARGEST = 1e-60, 1e15  # beyond these the sums of the model may overflow


@dataclass(frozen=True)
class Workload:
    """The load of an instance. Raises Usage for a value that no instance can have.

    ``bytes_per_event`` is its size in the log, compressed, of one replica. ``history_days`` is how far back corrections
    must reach. ``retention_days`` is how long the log is kept where history does not depend on it: in Lambda.
    ``rule_changes`` is their number a month. ``late_share`` is the share of late events. ``cores`` are those that a
    full build or a replay may use, beside those of the live run.
    """

    events_per_second: float = 1_000
    bytes_per_event: float = 200
    history_days: float = 365
    retention_days: float = 7
    rule_changes: float = 1
    late_share: float = 0.05
    batches_per_day: float = 24
    cores: float = 8

    def __post_init__(self) -> None:
        _check(self, may_be_zero=("rule_changes", "late_share"))
        if self.late_share > 1:
            raise Usage(f"late_share is {self.late_share:g}", fix="give a share of all events, from 0 to 1")

    def millions(self, days: float) -> float:
        """Millions of events that arrive in so many days."""
        return self.events_per_second * days * SECONDS_OF_A_DAY / 1e6

    @property
    def days_between_batches(self) -> float:
        """The days between the cuts of two batches."""
        return 1 / self.batches_per_day


@dataclass(frozen=True)
class Prices:
    """What resources cost, in one currency. Raises Usage for a negative price.

    ``core_hour`` is an hour of a core with its memory. ``gb_month`` is a month of a gigabyte (10^9 bytes) in the object
    store of archives, builds and partial rows; ``log_gb_month`` is one on the disk of a broker. The defaults are those
    of terraform/costs.py: a core of EMR Serverless with 4 GB, S3 storage, broker disk, and three replicas.
    """

    core_hour: float = 0.075738
    gb_month: float = 0.023
    log_gb_month: float = 0.10
    log_replicas: float = 3

    def __post_init__(self) -> None:
        _check(self, may_be_zero=("core_hour", "gb_month", "log_gb_month"))


def _check(values: Workload | Prices, *, may_be_zero: tuple[str, ...]) -> None:
    for name, value in asdict(values).items():
        lowest = "0 or more" if name in may_be_zero else "more than 0"
        # Written so that it refuses nan too.
        if not (0 if name in may_be_zero else SMALLEST) <= value <= LARGEST:
            raise Usage(f"{name} is {value:g}", fix=f"give a number, {lowest} and at most {LARGEST:g}")
