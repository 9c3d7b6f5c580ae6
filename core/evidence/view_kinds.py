"""The kinds of views that the study compares the modes with."""

from __future__ import annotations

KINDS = {  # view -> its kind
    "trades_by_day": "additive rollup",
    "trade_stats": "hopping window",
    "order_payments": "join",
    "visits": "sessions",
    "purchases_once": "deduplication",
}
