"""The plan of a switch counts the records of the topics that its run reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.catalog import Catalog
from core.cut import Cut
from core.identifiers import Name
from flows import switch_plan
from infra.control import runs
from infra.control.runs import Run
from infra.settings import Settings
from speed import replay_state
from speed.replay_state import PartitionLog

RUN, TRADES, VISITS = Name("r000002"), Name("trades"), Name("visits")


def test_a_replay_of_some_views_has_no_records_of_other_topics_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They counted as records that it had still to read, so the estimate was too long."""
    logs = (PartitionLog(TRADES, 0, 0, 1_000, 0), PartitionLog(VISITS, 0, 0, 5_000, 0))
    monkeypatch.setattr(replay_state, "partition_logs", lambda *_: logs)
    monkeypatch.setattr(replay_state, "last_measured_rate", lambda _: (RUN, 100.0))
    monkeypatch.setattr(runs, "read_run", lambda *_: Run(RUN, {}, {TRADES: "id"}, {}, Cut(), kind="replay"))
    monkeypatch.setattr(switch_plan, "committed_size", lambda *_: 600)
    plan = switch_plan.plan_kappa(Settings(data=tmp_path), Catalog({}, {}), RUN)
    assert (plan.records, plan.seconds) == (1_000, 4.0)
