"""Records of every size, and shapes that nobody expected, with the settings that a new instance has.

A real speed process takes them; one that lacks memory would die.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from core.identifiers import Name
from infra.definitions import definition_files
from infra.settings import Settings
from infra.trino import metastore
from speed.process import background
from tests.conftest import fresh_settings
from tests.support.checks.assertions import expected, same
from tests.support.instances.world import World, running_world
from tests.support.records.kafka_log import Sent, send
from tests.support.records.load import NOON, TICKERS, millis, mixed
from tests.support.records.pieces import shown

LINE = '10.0.0.1 - - [14/Mar/2026:12:00:00 +0000] "GET /{} HTTP/1.1" 200 10 "-" "client"'
WIDTH = 60  # of columns, and of views
VIEWS = """
from core.measures import Count, Sum
from core.view import Key, Rollup

VIEW = Rollup("{name}", sources=("trades",), keys=(Key("ticker", "ticker"),), measures={measures})
"""


def trade(ticker: str, size: int, padding: int = 0) -> Sent:
    """A valid trade; its id has ``padding`` characters."""
    text = f'{{"type":"bid","ticker":"{ticker}","price":1.50,"size":{size},"event_time":{millis(NOON)}'
    return Sent("trades", ticker.encode(), f'{text},"id":"{"x" * padding}"}}'.encode())


def of_bytes(count: int, size: int) -> list[Sent]:
    """Records that do not decode, each of so many bytes."""
    return [Sent("trades", b"k%d" % number, b"x" * size) for number in range(count)]


def hot_key() -> list[Sent]:
    """Of 20,000 trades 99 in 100 have one key."""
    rng = random.Random(1)
    return [trade("ACME" if rng.random() < 0.99 else rng.choice(TICKERS), 1 + n % 400) for n in range(20_000)]


SHAPES: dict[str, Callable[[], list[Sent]]] = {
    "10,000 of one byte": lambda: of_bytes(10_000, 1),
    "10,000 of 60 KB that decode": lambda: [trade(TICKERS[n % 6], 1 + n % 400, 60_000) for n in range(10_000)],
    "1,000 of 64 KiB that do not": lambda: of_bytes(1_000, 1 << 16),
    "100 of 1 MB": lambda: of_bytes(100, 1_000_000),
    "20 of the limit": lambda: of_bytes(20, (3 << 20) - 1024),
    "one key with 99 %": hot_key,
    "200,000 keys": lambda: [Sent("access_log", None, LINE.format(n).encode()) for n in range(200_000)],
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("extremes")
    with running_world(fresh_settings(folder / "data"), folder) as instance:
        instance.start_speed()
        yield instance


@pytest.mark.parametrize("shape", SHAPES)
def test_records_of_every_size_and_shape_are_counted_by_a_run_that_goes_on(world: World, shape: str) -> None:
    """By one process from the first shape to the last."""
    process = background.alive(world.settings, world.run)
    assert process
    sent = SHAPES[shape]()
    for start in range(0, len(sent), 50_000):  # the client's queue holds 100,000
        send(world.settings, sent[start : start + 50_000])
    world.send(mixed(seed=5, count=40))
    world.settle(300)
    alive = background.alive(world.settings, world.run)
    assert alive == process
    for name, view in world.catalog.views.items():
        same(name, world.pieces.merged(view), expected(view, world.log.records, shown(view)))


def test_a_view_of_sixty_columns_and_sixty_views_in_one_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("wide")
    (folder / "views").mkdir()
    sums = ", ".join(f'Sum("s{n}", "size * {n}")' for n in range(1, WIDTH))
    texts = {"wide": f"(Count('trades'), {sums})"} | {f"narrow{n}": "(Count('trades'),)" for n in range(WIDTH)}
    for name, measures in texts.items():
        (folder / "views" / f"{name}.py").write_text(VIEWS.format(name=name, measures=measures), "utf-8")
    settings = fresh_settings(folder / "data").model_copy(update={"views": (folder / "views",)})
    with running_world(settings, folder) as instance:
        instance.start_speed()
        instance.send([trade(TICKERS[n % 6], n) for n in range(1, 601)])
        instance.settle(300)
        check_wide(settings)
        instance.here("batch", "--json").ok()
        instance.send([trade(TICKERS[n % 6], n) for n in range(1, 601)])
        instance.settle(300)
        check_wide(settings, times=2)


def check_wide(settings: Settings, times: int = 1) -> None:
    """By the sizes of the trades that were sent: 1 to 600, in turn of six tickers."""
    sizes = {ticker: [n for n in range(1, 601) if TICKERS[n % 6] == ticker] for ticker in TICKERS}
    columns = ", ".join(f"s{n}" for n in range(1, WIDTH))
    rows = metastore.query(settings, f"SELECT ticker, trades, {columns} FROM lake.serving.wide ORDER BY ticker").rows
    assert [list(row) for row in rows] == [
        [ticker, times * 100, *(Decimal(times * n * sum(sizes[ticker])) for n in range(1, WIDTH))]
        for ticker in sorted(TICKERS)
    ]
    catalog = definition_files.load(settings)
    narrow = [name for name in catalog.views if name.startswith("narrow")]
    assert len(narrow) == WIDTH
    for name in narrow:
        assert metastore.query(settings, f"SELECT sum(trades) FROM lake.serving.{Name(name)}").rows[0][0] == times * 600
