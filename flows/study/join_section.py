"""How fast the history of a join is read again, alone: by a build in Lambda, by a replay in Kappa."""

from __future__ import annotations

from core.evidence.measurement import Measurement
from core.identifiers import Name
from flows import replays
from flows.study.subject import Subject
from infra.control.epoch_times import rate, with_records
from infra.control.manifest import read_epochs

JOIN = Name("order_payments")
_PATIENCE = 4 * 3_600.0


def join_section(subject: Subject) -> list[Measurement]:
    """The row of the question ``join-rate``, in records a second."""
    rate = _build_rate(subject) if subject.planned.mode == "lambda" else _replay_rate(subject)
    return [subject.row("join-rate", rate, view=JOIN)]


def _build_rate(subject: Subject) -> float:
    """The full build of the join while the mode was deployed: builds compute one view after another."""
    (rate,) = [row.value for row in subject.deployed if (row.question, row.part, row.view) == ("rate", "build", JOIN)]
    return rate


def _replay_rate(subject: Subject) -> float:
    """A replay of the join; it is abandoned, so what is served stays."""
    state = replays.start(subject.settings, subject.catalog(), views=[JOIN])
    assert state.run is not None
    replays.wait(subject.settings, state.run, patience=_PATIENCE)
    read = with_records(read_epochs(subject.settings, state.run))
    replays.abandon(subject.settings, state.run, why="the study has measured it")
    return rate(read)
