"""Waiting for a condition and retrying an action, both with a deadline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import tenacity

T = TypeVar("T")


def wait_until(condition: Callable[[], T], timeout: float | None, *, every: float, error: Callable[[], Exception]) -> T:
    """Polls ``condition`` every ``every`` seconds and returns its first true result.

    After ``timeout`` seconds raises what ``error`` returns; without a timeout it polls for ever. What ``condition``
    raises passes through.
    """

    def raise_error(_: tenacity.RetryCallState) -> Any:
        raise error()

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda result: not result),
        wait=tenacity.wait_fixed(every),
        stop=tenacity.stop_never if timeout is None else tenacity.stop_after_delay(timeout),
        retry_error_callback=raise_error,
    )
    return retrying(condition)


def retry_on(
    errors: type[Exception], action: Callable[[], T], timeout: float, *, every: float, longest: float | None = None
) -> T:
    """Runs ``action`` until it raises none of ``errors``; after ``timeout`` seconds its last error passes through.

    The pause is ``every`` seconds; with ``longest`` it doubles each time, up to that many seconds.
    """
    wait = tenacity.wait_fixed(every) if longest is None else tenacity.wait_exponential(every, longest, min=every)
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(errors),
        wait=wait,
        stop=tenacity.stop_after_delay(timeout),
        reraise=True,
    )
    return retrying(action)
