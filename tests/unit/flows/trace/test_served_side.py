"""Which side counts a record: decided from the pin, the cut and the epoch that took it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.cut import Cut
from core.identifiers import Name
from core.positions import RecordPosition
from flows.trace.served_side import served_side
from flows.trace.stages import Outcome, RunEpoch
from infra.control.pins import Mode, Pin

BUILD, RUN, TOPIC = Name("b000001"), Name("r000001"), Name("t")
CUT = Cut.of({"t": {0: 20}, "other": {0: 99}})


def pin(mode: Mode) -> Pin:
    """Lambda, batch: the build ends at offset 20, where epoch 4 ends."""
    build = None if mode in ("speed", "kappa") else BUILD
    run = None if mode == "batch" else RUN
    epoch = {"lambda": 4, "batch": -1, "speed": -1, "kappa": -2}[mode]
    return Pin(build, run, epoch, CUT if build else Cut(), Name("d"), mode, Name("s"))


def taken(epoch: int) -> RunEpoch:
    return RunEpoch(RUN, "serving", "taken", epoch, 0, 99, last_epoch=9)


WAITING = RunEpoch(RUN, "serving", "waiting", lag=7, last_epoch=9)


@pytest.mark.parametrize(
    ("mode", "offset", "run", "side", "counts"),
    [
        ("lambda", 19, taken(4), "batch", True),
        ("lambda", 20, taken(5), "speed", True),
        ("lambda", 19, taken(5), "twice", True),
        ("lambda", 20, taken(4), "missing", False),
        ("lambda", 20, WAITING, "not yet", False),
        ("lambda", 19, replace(WAITING, reading="before its start"), "batch", True),
        ("lambda", 20, replace(WAITING, reading="missing"), "missing", False),
        ("lambda", 20, None, "unknown", None),
        ("lambda", 20, replace(WAITING, reading="unknown"), "unknown", None),
        ("batch", 19, None, "batch", True),
        ("batch", 20, None, "not yet", False),
        ("speed", 0, taken(0), "speed", True),
        ("speed", 0, replace(WAITING, reading="before its start"), "never", False),
        ("kappa", 0, taken(-1), "speed", True),
        ("kappa", 99, WAITING, "not yet", False),
    ],
)
def test_each_record_is_counted_by_the_side_that_holds_it(
    mode: Mode, offset: int, run: RunEpoch | None, side: str, counts: bool | None
) -> None:
    served = served_side(pin(mode), RecordPosition(TOPIC, 0, offset), run, "event", True)
    assert (served.side, served.counts, served.mode) == (side, counts, mode)


@pytest.mark.parametrize(
    ("outcome", "contributes", "side", "counts"),
    [("event", None, "batch", None), ("event", False, "never", False), ("quarantined", False, "never", False)],
)
def test_a_record_that_gives_the_view_nothing_is_never_counted(
    outcome: Outcome, contributes: bool | None, side: str, counts: bool | None
) -> None:
    served = served_side(pin("lambda"), RecordPosition(TOPIC, 0, 3), taken(0), outcome, contributes)
    assert (served.side, served.counts) == (side, counts)
    waiting = served_side(pin("lambda"), RecordPosition(TOPIC, 0, 30), WAITING, outcome, contributes)
    assert (waiting.side, waiting.counts) == ("not yet", False)


@pytest.mark.parametrize(
    ("offset", "run", "side", "counts", "text"),
    [
        (3, taken(0), "batch", False, "build b000001 read it, and it changes no row: it is repeated or superseded"),
        (20, taken(5), "speed", False, "epoch 5 of run r000001 read it, and it changes no row"),
        (20, WAITING, "not yet", False, "run r000001 has not read it: 7 more records with this one"),
        (3, taken(5), "twice", True, "it is counted twice"),
    ],
)
def test_a_record_that_changes_no_row_was_read_and_is_not_counted(
    offset: int, run: RunEpoch, side: str, counts: bool, text: str
) -> None:
    served = served_side(pin("lambda"), RecordPosition(TOPIC, 0, offset), run, "event", False, belongs=True)
    assert (served.side, served.counts) == (side, counts)
    assert served.text.startswith(text)


@pytest.mark.parametrize(
    ("mode", "run", "text"),
    [
        ("lambda", replace(WAITING, reading="other topic"), "build b000001 and run r000001 read it"),
        ("batch", None, "build b000001 read it"),
        ("kappa", replace(WAITING, reading="other topic"), "run r000001 read it"),
    ],
)
def test_what_was_read_from_an_earlier_topic_of_the_name_counts_nothing(
    mode: Mode, run: RunEpoch | None, text: str
) -> None:
    served = served_side(pin(mode), RecordPosition(TOPIC, 0, 3), run, "event", True, other_topic=True)
    assert (served.side, served.counts) == ("never", False)
    assert served.text == f"the topic was deleted and created again since {text}"


def test_a_marker_of_a_transaction_is_no_record_that_counts() -> None:
    served = served_side(pin("lambda"), RecordPosition(TOPIC, 0, 3), taken(0), "no record", False)
    assert (served.side, served.counts, served.text) == ("never", False, "never: there is no record at this offset")


def test_without_a_publication_nothing_counts() -> None:
    served = served_side(None, RecordPosition(TOPIC, 0, 3), None, "event", True)
    assert (served.side, served.counts) == ("not served", False)
