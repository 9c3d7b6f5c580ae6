"""Records of trades, as tests of decoding write them."""

from __future__ import annotations

import json
from typing import Any

from tests.support.oracle.view_oracle import Record

T0 = 1_763_712_000_000
EVENT: dict[str, Any] = {"type": "bid", "ticker": "AAPL", "price": 12.34, "size": 100, "event_time": T0, "id": "7-1"}
GOOD = json.dumps(EVENT, separators=(",", ":"))
NEWER = '{"version":2,"side":"ASK","symbol":"MSFT","price":"1.50","size":"3","event_time":1763712000001,"venue":"XNAS"}'


def but(**changes: Any) -> str:
    """The good trade with other values. None removes the field."""
    return json.dumps({k: v for k, v in (EVENT | changes).items() if v is not None})


def price(text: str) -> str:
    return GOOD.replace("12.34", text)


def trade_records(*values: str | bytes | None, key: bytes | None = b"AAPL") -> list[Record]:
    bytes_ = [value.encode() if isinstance(value, str) else value for value in values]
    return [Record("trades", 0, offset, T0, key, value) for offset, value in enumerate(bytes_)]
