"""Waiting and retrying end at their deadline, and pass other errors through."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.errors import Refused, TryAgain
from infra.retry import retry_on, wait_until


def late() -> Exception:
    return TryAgain("r1 did not start within 0 s", fix="wait again")


def sequence(*results: object) -> Callable[[], object]:
    """A function that returns these results one after another and raises those that are exceptions."""
    pending = iter(results)

    def following() -> object:
        result = next(pending)
        if isinstance(result, Exception):
            raise result
        return result

    return following


def test_wait_until_returns_the_first_true_result() -> None:
    assert wait_until(sequence(None, "", 7, 8), 10, every=0.001, error=late) == 7


def test_wait_until_without_a_timeout_waits_for_ever() -> None:
    assert wait_until(sequence(False, False, True), None, every=0.001, error=late) is True


def test_wait_until_raises_the_error_once_the_timeout_has_passed() -> None:
    with pytest.raises(TryAgain, match=r"r1 did not start within 0 s\n  fix: wait again"):
        wait_until(sequence(False, True), 0, every=0.001, error=late)


def test_an_error_of_the_condition_passes_through_at_once() -> None:
    with pytest.raises(Refused, match="died"):
        wait_until(sequence(False, Refused("r1 died"), True), 10, every=0.001, error=late)


def test_retry_on_repeats_the_action_while_it_raises_this_error() -> None:
    assert retry_on(TryAgain, sequence(TryAgain("no broker"), TryAgain("no leader"), 3), 10, every=0.001) == 3


def test_retry_on_raises_the_last_error_once_the_timeout_has_passed() -> None:
    with pytest.raises(TryAgain, match="no broker"):
        retry_on(TryAgain, sequence(TryAgain("no broker"), 3), 0, every=0.001)


def test_retry_on_passes_any_other_error_through() -> None:
    with pytest.raises(Refused, match="no such topic"):
        retry_on(TryAgain, sequence(Refused("no such topic"), 3), 10, every=0.001)


def test_retry_on_with_a_longest_pause_grows_up_to_it() -> None:
    assert retry_on(TryAgain, sequence(*[TryAgain("busy")] * 5, 3), 10, every=0.001, longest=0.002) == 3
