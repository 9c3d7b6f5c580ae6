"""The numbers of a live page that runs, beside those of `lk status --json`."""

from __future__ import annotations

import json
import urllib.request
from typing import Any


def check_page_numbers(address: str, status: dict[str, Any]) -> None:
    """Fails unless the page at an address has the health, the views, the counts and the processes of a status."""
    with urllib.request.urlopen(f"{address}/page.json", timeout=10) as answer:
        page = json.load(answer)
    assert page["unhealthy"] == status["unhealthy"] == []
    shown = [tuple(row[:6]) for row in page["tables"]["views"]["rows"]]
    assert shown == [
        (v["view"], v["mode"], v["build"] or "", v["run"], str(v["epoch"]), f"{v['lag']:,}") for v in status["views"]
    ]
    ledger = [[int(cell.replace(",", "")) for cell in row[1:5]] for row in page["tables"]["ledger"]["rows"]]
    assert ledger == [[p["partition"], p["offsets"], p["decoded"], p["quarantined"]] for p in status["partitions"]]
    up = {process["name"] for process in status["processes"] if process["status"] == "up"}
    assert {row[0] for row in page["tables"]["processes"]["rows"] if row[1] == "up"} == up
    assert "ui" in up
