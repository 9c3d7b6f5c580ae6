"""Free ports are different ones, and the search for them ends."""

from __future__ import annotations

import pytest

from core.errors import Refused
from infra.local import ports


def test_free_ports_are_different_and_below_the_ephemeral_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_first_ephemeral", lambda: 20_000)
    free = ports.free_ports(20)
    assert len(set(free)) == 20
    assert 10_000 <= min(free) <= max(free) < 20_000


def test_a_search_for_more_ports_than_there_are_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_first_ephemeral", lambda: 10_002)
    with pytest.raises(Refused, match="no 3 free ports") as refused:
        ports.free_ports(3)
    assert refused.value.where == "127.0.0.1, ports 10000 to 10001"
