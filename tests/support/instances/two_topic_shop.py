"""An instance with an editable topic and view of its own, and the expected rows of the view."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from core.identifiers import Name
from infra.settings import Settings
from infra.trino import served_views
from infra.trino.served_views import Served
from serving.read import query
from tests.support.command import Done, here, lk
from tests.support.instances import own_views
from tests.support.records.kafka_log import Sent, send
from tests.support.records.load import NOON, millis

VIEW = Name("orders_by_customer")
FILES = {
    "orders": """
from core.topic import Field, Json, Rule, Topic, Version

TOPIC = Topic(
    "orders",
    comment="Orders of a shop",
    partitions=2,
    key="customer",
    event_time="at",
    format=Json((Version(1, names=("customer", "cents", "at")),)),
    fields=(Field("customer"), Field("cents", "bigint"), Field("at", "timestamp")),
    rules=(Rule("most", "cents <= 9999"),),
    most_quarantined=0.5,  # one test changes the rule
)
""",
    "orders_by_customer": """
from core.measures import Count, Sum
from core.view import Key, Rollup

VIEW = Rollup(
    "orders_by_customer",
    comment="Orders per customer",
    sources=("orders",),
    where="cents >= 1",
    keys=(Key("customer", "customer", comment="Who ordered"),),
    measures=(Count("orders", comment="Orders"), Sum("cents", "cents", comment="What they cost")),
)
""",
}


@dataclass
class TwoTopicShop:
    """An instance, the folder of its definitions, and every sent order: customer and cents."""

    settings: Settings
    config: Path
    folder: Path
    sent: list[tuple[str, int]] = field(default_factory=list)
    least: int = 1
    most: int = 9_999

    def lk(self, *words: str, fault: str | None = None) -> Done:
        """Runs a verb in its own process."""
        return lk(self.config, *words, fault=fault)

    def here(self, *words: str) -> Done:
        """Runs a verb in this process."""
        return here(self.config, *words)

    def order(self, count: int) -> None:
        """Sends ``count`` orders of 1 to 9,999 cents."""
        rng = random.Random(len(self.sent))
        orders = [(rng.choice(("ann", "bob", "cyd")), rng.randrange(1, 10_000)) for _ in range(count)]
        at = millis(NOON)
        texts = [(who, json.dumps({"customer": who, "cents": cents, "at": at})) for who, cents in orders]
        send(self.settings, [Sent("orders", who.encode(), text.encode()) for who, text in texts])
        self.sent += orders

    def at_least(self, cents: int) -> None:
        """Edits the view, so that it leaves out smaller orders."""
        self._edit("orders_by_customer", f"cents >= {self.least}", f"cents >= {cents}")
        self.least = cents

    def at_most(self, cents: int) -> None:
        """Edits the decoder, so that it refuses bigger orders."""
        self._edit("orders", f"cents <= {self.most}", f"cents <= {cents}")
        self.most = cents

    def expected(self) -> dict[str, tuple[int, int]]:
        """The expected rows of all sent orders under the current rules: customer -> orders, cents."""
        totals: dict[str, tuple[int, int]] = {}
        for who, cents in self.sent:
            if self.least <= cents <= self.most:
                orders, total = totals.get(who, (0, 0))
                totals[who] = (orders + 1, total + cents)
        return totals

    def shown(self) -> dict[str, tuple[int, int]]:
        """The rows of the served view: customer -> orders, cents."""
        rows = query(self.settings, f"SELECT customer, orders, cents FROM {VIEW}").rows
        assert len(rows) == len({row[0] for row in rows})
        return {str(who): (int(orders), int(cents)) for who, orders, cents in rows}

    def pinned(self) -> Served:
        """The build, run and epoch that the served view pins."""
        return served_views.read_served(self.settings, [VIEW])[VIEW]

    def settle(self) -> None:
        """Waits until the serving run has committed the whole log."""
        own_views.settle(self.settings, VIEW)

    def check(self) -> None:
        """Fails unless the served rows match the current rules and `lk status` is healthy."""
        self.settle()
        assert self.shown() == self.expected()
        self.here("status", "--json").ok()

    def _edit(self, name: str, old: str, new: str) -> None:
        path = self.folder / f"{name}.py"
        text = path.read_text("utf-8")
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), "utf-8")


@contextmanager
def opened(folder: Path) -> Iterator[TwoTopicShop]:
    """Starts servers, sends orders, and serves a run with a build. Stops the servers at the end of the block."""
    with own_views.started(folder, FILES) as own:
        shop = TwoTopicShop(own.settings, own.config, own.folder)
        shop.here("speed", "start").ok()
        shop.order(200)
        shop.settle()
        shop.here("batch").ok()
        yield shop
