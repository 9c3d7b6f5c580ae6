"""A page offers the commands that its view can take now, for the instance that it shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.view import PROCESSING_TIME, Keyed, Rollup, View
from flows.live_page.page_commands import commands_of_view
from infra.control.pins import Mode
from infra.settings import Settings
from serving.served_status import ViewState
from tests.support.examples.live_snapshot import BUILD, RUN, snapshot
from views.trades_by_day import VIEW as BY_DAY

assert isinstance(BY_DAY, Rollup)
assert BY_DAY.window
BY_ARRIVAL = replace(BY_DAY, window=replace(BY_DAY.window, over=PROCESSING_TIME))
ALWAYS = ("lk show trades_by_day --limit 10", "lk views test trades_by_day", "lk views check")
RANGE = "lk build --views trades_by_day --from TIME --to TIME"


def state(mode: Mode) -> ViewState:
    status = snapshot().status.value
    assert status
    (view,) = status.views
    build, run = (None if mode in ("speed", "kappa") else BUILD), (None if mode == "batch" else RUN)
    return replace(view, mode=mode, build=build, run=run)


def offered(view: View, of: ViewState | None) -> tuple[str, ...]:
    return tuple(command for command, _ in commands_of_view(view, of, "lk"))


@pytest.mark.parametrize(
    ("view", "mode", "expected"),
    [
        (BY_DAY, "lambda", ("lk batch", RANGE, "lk switch kappa", "lk rollback", "lk speed start --new")),
        (BY_DAY, "batch", ("lk batch", RANGE, "lk switch kappa", "lk rollback", "lk speed start --new")),
        (BY_DAY, "speed", ("lk batch", "lk switch kappa", "lk rollback", "lk speed start --new")),
        (BY_DAY, "kappa", ("lk switch lambda", "lk rollback", "lk speed start --new", "lk switch kappa")),
        (BY_ARRIVAL, "speed", ("lk rollback", "lk speed start --new")),
        (BY_DAY, None, ("lk batch", "lk speed start --new")),
        (BY_ARRIVAL, None, ("lk speed start --new",)),
    ],
)
def test_commands_fit_what_serves_the_view(view: View, mode: Mode | None, expected: tuple[str, ...]) -> None:
    commands = offered(view, state(mode) if mode else None)
    assert sorted(commands) == sorted((*ALWAYS, *expected))
    assert len(set(commands)) == len(commands)


def test_a_keyed_view_has_no_range() -> None:
    from views.programs.sessions import VIEW as SESSIONS

    assert isinstance(SESSIONS, Keyed)
    assert [command for command in offered(SESSIONS, state("lambda")) if command.startswith("lk build")] == []


def test_commands_name_the_settings_file_of_the_instance() -> None:
    assert Settings().command == "lk"
    named = Settings().of_file(Path("/srv/a b/two.toml")).command
    assert named == "lk -c '/srv/a b/two.toml'"
    assert commands_of_view(BY_DAY, None, named)[0][0] == "lk -c '/srv/a b/two.toml' show trades_by_day --limit 10"
