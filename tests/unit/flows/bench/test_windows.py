"""The comparison of windows finds one that is missing, one too many and one other cell."""

from __future__ import annotations

from flows.bench.peers.windows import difference

OURS = {"AAPL,1000": "2,300,100,200", "AAPL,2000": "1,100,100,100", "WMT,1000": "1,55,55,55"}


def test_equal_windows_have_no_difference() -> None:
    compared = difference(OURS, dict(reversed(OURS.items())))
    assert (compared.compared, compared.different, compared.first) == (3, 0, "")


def test_a_missing_window_another_one_and_another_cell_are_counted_and_the_first_is_shown() -> None:
    peer_windows = {"AAPL,1000": "2,300,100,201", "WMT,1000": "1,55,55,55", "WMT,2000": "1,55,55,55"}
    compared = difference(OURS, peer_windows)
    assert compared.different == 3
    assert compared.first == "AAPL,1000: ours 2,300,100,200, theirs 2,300,100,201"
    assert difference(OURS, {}).first == "AAPL,1000: ours 2,300,100,200, theirs has no such window"
