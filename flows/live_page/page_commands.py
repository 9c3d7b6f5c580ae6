"""The commands that pages print: those that fit what a view serves, for the instance that the page shows."""

from __future__ import annotations

from collections.abc import Iterable

from core.view import Keyed, View
from serving.served_status import ViewState

Command = tuple[str, str]  # words after `lk`, and what they do

_ALWAYS = (
    ("show VIEW --limit 10", "print rows"),
    ("views test VIEW", "run the example in its file"),
    ("views check", "after you changed a file: report every mistake in definition files"),
)
_BATCH = ("batch", "build every view up to now, check the build, publish it")
_RANGE = ("build --views VIEW --from TIME --to TIME", "compute the windows of a time range again")
_TO_KAPPA = ("switch kappa", "serve a replay of the log, after it equals a full build")
_TO_LAMBDA = ("switch lambda", "serve a build and the partial rows after it")
_ROLLBACK = ("rollback", "serve what was served before")
_FIRST_RUN = ("speed start --new", "serve it from a new run")
_CHANGED = ("speed start --new", "after you changed its file: serve the new definition, by a full build and a new run")
_CHANGED_KAPPA = (
    ("switch kappa", "after you changed its file: serve a replay by the new definition, after it equals a full build"),
    ("speed start --new", "the same by a full build and a new run, in Lambda"),
)


def commands_of_view(view: View, state: ViewState | None, lk: str) -> tuple[Command, ...]:
    """The commands for a view that serves so, and what each does; ``state`` is None while it is not served."""
    return tuple(
        (f"{lk} {words.replace('VIEW', view.name)}", what) for words, what in (*_ALWAYS, *_changing(view, state))
    )


def _changing(view: View, state: ViewState | None) -> Iterable[Command]:
    if state is not None and state.mode == "kappa":
        yield from (_TO_LAMBDA, _ROLLBACK, *_CHANGED_KAPPA)
        return
    if view.reproducible:
        yield _BATCH
    if state is None:
        yield _FIRST_RUN
        return
    if view.reproducible:
        if state.build and not isinstance(view, Keyed) and view.window is not None:
            yield _RANGE
        yield _TO_KAPPA
    yield from (_ROLLBACK, _CHANGED)
