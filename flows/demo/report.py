"""The demo's results as a person enjoys reading them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from flows.demo import report_switch
from flows.demo.run_demo import HISTORY, Demo
from flows.measure.demo_queries import Hour, Ticker, TickerByLayer
from flows.measure.tables import bare, mark
from infra.kafka.producer import Acknowledged

_BLOCKS = " ▁▂▃▄▅▆▇█"
_BAR = 30
_TOP = "select ticker, sum(volume) from trades_by_day group by 1 order by 2 desc limit 5"


def show(demo: Demo, console: Console | None = None) -> None:
    """Prints everything, the most telling parts last; wide enough when nobody's terminal is there."""
    out = console or Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    for title, part in _parts(demo):
        out.print()
        out.print(Rule(f"[bold]{title}", align="left", style="dim"))
        out.print(part)
    out.print()
    out.print(_verdict(demo))
    out.print(_next(demo), soft_wrap=True)


def _parts(demo: Demo) -> Iterable[tuple[str, RenderableType]]:
    yield "What was sent", _sent(demo)
    yield "The ledger: every record, counted where it went", _ledger(demo)
    yield "The ten most traded tickers", _tickers(demo.split[:10])
    yield "Traffic of the web server, by hour", _hours(demo.hours)
    yield "One view, three ways: trades_by_day, all days together", _split(demo.split[:5], len(demo.split))
    yield "Freshness: from sending an event until a Trino query has counted it", _freshness(demo)
    yield from report_switch.parts(demo.switched)
    yield "Compared with a count in plain Python", _checks(demo)


def _sent(demo: Demo) -> RenderableType:
    table = bare("topic", "sent", "acknowledged", "by partition", "")
    for sent in (demo.access_log, demo.history, demo.trades):
        table.add_row(sent.topic, f"{sent.sent:,}", f"{sent.count:,}", _per_partition(sent), mark(sent.complete))
    told = (
        f"access_log: real lines of a web server, May 2015; trades: made up, {HISTORY // 60} minutes of them at once,\n"
        f"then half a minute at 1,000 a second; {demo.late:,} are late by up to an hour, {demo.out_of_order:,} out of "
        "order by up to 3 seconds"
    )
    return Group(table, Text(told, style="dim"))


def _per_partition(sent: Acknowledged) -> str:
    return " + ".join(f"{written.count:,}" for written in sent.partitions)


def _ledger(demo: Demo) -> RenderableType:
    table = bare("topic", "log", "speed: decoded", "+ quarantined", "batch: decoded", "+ quarantined", "up to", "")
    for row in demo.ledger:
        table.add_row(
            row.topic,
            f"{row.log:,}",
            *(f"{row.speed_decoded:,}", f"{row.speed_quarantined:,}"),
            *(f"{row.batch_decoded:,}", f"{row.batch_quarantined:,}", f"{row.cut:,}"),
            mark(row.ok),
        )
    return table


def _tickers(rows: Sequence[TickerByLayer]) -> RenderableType:
    table = bare("ticker", "", "trades", "shares", "low", "high", left=2)
    most = max(row.merged.trades for row in rows)
    for row in rows:
        found = row.merged
        bar = Text("█" * max(1, round(_BAR * found.trades / most)), style="cyan")
        table.add_row(found.ticker, bar, f"{found.trades:,}", f"{found.volume:,}", f"{found.low}", f"{found.high}")
    return table


def _hours(rows: Sequence[Hour]) -> RenderableType:
    most = max(row.requests for row in rows)
    table = bare("day", "requests in each hour with traffic", "requests", "errors", "MB", left=2)
    for day in sorted({row.hour.date() for row in rows}):
        of_day = [row for row in rows if row.hour.date() == day]
        by_hour = {row.hour.hour: row.requests for row in of_day}
        line = "".join(_BLOCKS[-(-by_hour.get(hour, 0) * (len(_BLOCKS) - 1) // most)] for hour in range(24))
        errors, size = sum(row.errors for row in of_day), sum(row.bytes for row in of_day)
        total = sum(row.requests for row in of_day)
        table.add_row(f"{day}", Text(f"│{line}│", style="cyan"), f"{total:,}", f"{errors:,}", f"{size / 10**6:,.0f}")
    table.add_row("", Text("0     6     12    18     "), "", "", "")
    return table


def _split(rows: Sequence[TickerByLayer], count: int) -> RenderableType:
    table = bare("ticker", "measure", "batch alone", "speed alone", "merged", "", left=2)
    for row in rows:
        for name, sign in (("trades", "+"), ("volume", "+"), ("high", "max")):
            batch, speed = (_cell(part, name) for part in (row.batch, row.speed))
            ticker = row.merged.ticker if name == "trades" else ""
            table.add_row(ticker, name, batch, f"{sign} {speed}", f"= {_cell(row.merged, name)}", mark(row.adds_up))
    more = Text(f"and so on for all {count} tickers; `lk show trades_by_day` is the merged one", style="dim")
    return Group(table, more)


def _cell(part: Ticker | None, name: str) -> str:
    return "–" if part is None else f"{getattr(part, name):,}"


def _freshness(demo: Demo) -> RenderableType:
    found = demo.freshness
    table = bare("p50", "p95", "p99", "slowest", "events measured", "queries asked", left=0)
    seconds = (f"{value:.2f} s" for value in (found.p50, found.p95, found.p99, found.worst))
    table.add_row(*seconds, f"{found.samples:,}", f"{found.polls:,}")
    told = (
        f"at 1,000 events a second, with `lk batch` running for {demo.batch.seconds:.0f} s of it on the same "
        "machine; `lk bench freshness` measures it undisturbed"
    )
    return Group(table, Text(told, style="dim"))


def _checks(demo: Demo) -> RenderableType:
    table = bare("", "number", "counted in Python", "answered by Trino", left=2)
    for check in demo.checks:
        table.add_row(mark(check.ok), check.what, check.expected, check.found)
    return table


def _verdict(demo: Demo) -> RenderableType:
    wrong = len(demo.problems)
    found = f"[bold red]{wrong} of {len(demo.checks)} numbers are off" if wrong else "[bold green]Every number is exact"
    return Panel(f"{found}[/] · the whole demo took {demo.seconds:.0f} s", expand=False)


def _next(demo: Demo) -> Text:
    """Commands to copy; each on a line of its own, however long."""
    lk = f"{command()} -c {short(demo.config)}"
    tries = (
        ("ask anything", f'{lk} query "{_TOP}"'),
        ("what is served, how far it is, the ledger", f"{lk} status"),
        ("the line that could not be decoded, and why", f"{lk} quarantine list"),
        ("more trades, for a minute", f"{lk} produce trades --seed 8 --rate 1000 --seconds 60 --late 0.05"),
        ("publish a new build from the old one and the log since", f"{lk} batch --incremental"),
        ("as it was when the batch layer published", f"{lk} show traffic_by_hour --publish 2"),
        ("every run: the one that serves, the one that a rollback would serve", f"{lk} runs"),
        ("Kappa again, at once; the same command then goes back to Lambda", f"{lk} rollback"),
        ("stop the servers and the speed layer; `up` and `speed start` go on with the data", f"{lk} down"),
    )
    where = f"The servers are up: Trino at {demo.trino_url}, catalog lake, schema serving. What to try next:\n"
    text = Text(f"{where}")
    for what, words in tries:
        text.append(f"\n  # {what}\n", style="dim").append(f"  {words}\n")
    if demo.unset:
        text.append(f"\nUnset {', '.join(demo.unset)} first: the environment wins over the settings file.\n", "yellow")
    return text


def command() -> str:
    """How this person can call `lk` from here."""
    return "lk" if shutil.which("lk") else short(Path(sys.executable).parent / "lk")


def short(path: Path) -> str:
    """A path as this person would write it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
