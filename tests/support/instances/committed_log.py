"""Waits until a run has committed the whole log; it reads the manifest alone, which costs far less than a query."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from core.identifiers import Name
from infra.control.manifest import last_epoch
from infra.kafka import kafka_admin
from infra.lake import leases
from infra.settings import Settings
from speed.process import background
from tests.support.waiting import eventually, tails


def wait_until_committed(settings: Settings, run: Name, topics: Sequence[str], seconds: float = 180.0) -> None:
    """Waits until the last epoch of ``run`` ends where these topics end. Fails if the run's process dies."""

    def caught_up() -> None:
        last = last_epoch(settings, run)
        if background.alive(settings, run) is None and leases.holder(settings, f"run_{run}") is None:
            pytest.fail(f"the speed process died\n{tails(settings)}")
        ends = kafka_admin.end_offsets(settings, topics)
        assert last, "no epoch yet"
        assert last.end.only(topics) == ends, f"committed {last.end} of {ends}"

    eventually(settings, seconds, caught_up)
