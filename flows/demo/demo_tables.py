"""The tables that `lk demo` prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from flows.demo import report_switch
from flows.demo.connection import Connection
from flows.demo.quality_warnings import QualityWarning
from flows.demo.report_frame import checks_part, command, other_ports, print_report, short
from flows.demo.report_switch import FRESHNESS
from flows.demo.run_demo import Demo
from flows.measure.console import mark, plain_table
from flows.measure.demo_queries import Hour, Ticker, TickerByLayer

_BLOCKS = " ▁▂▃▄▅▆▇█"
_BAR = 30
_TOP = "select ticker, sum(volume) from trades_by_day group by 1 order by 2 desc limit 5"


def show(demo: Demo) -> None:
    """Prints all results; 120 columns wide without a terminal."""
    print_report(_parts(demo), demo.checks, demo.seconds, _next(demo))


def _parts(demo: Demo) -> Iterable[tuple[str, RenderableType]]:
    yield "What was sent, and what is counted at the end", _sent(demo)
    yield "Record accounting: decoded + quarantined = total, in both layers, before the switch", _accounts(demo)
    yield "The ten most traded tickers", _tickers(demo.split[:10])
    yield "Requests of the web server, by hour (UTC)", _hours(demo.hours)
    yield "One view by layer: trades_by_day, sums of all days", _split(demo.split[:5], len(demo.split))
    yield "Freshness of Lambda while `lk batch` runs", _freshness(demo)
    yield from report_switch.parts(demo.switched)
    yield "Data quality: failed checks of severity warning, which refuse no build", _warnings(demo.warnings)
    yield checks_part(demo.checks, "counted in Python", "answered by Trino")


def _sent(demo: Demo) -> RenderableType:
    purposes = plain_table("topic", "sent", "records", left=2)
    for sent in demo.sent:
        purposes.add_row(sent.topic, sent.purpose, f"{sent.count:,}")
    totals = plain_table("topic", "sent", "in Kafka", "valid", "view", "counts", "")
    totals.columns[4].justify = "left"
    for topic in demo.topics:
        for number, (view, events) in enumerate(topic.views.items()):
            counts = ("", "", "", "") if number else (topic.topic, *map(_whole, (topic.sent, topic.log, topic.valid)))
            totals.add_row(*counts, view, _whole(events), mark(topic.ok))
    text = (
        "access_log: lines as they were written; trades: generated. valid: records that can be decoded.\n"
        f"Of the trades before the switch, {demo.late:,} are up to an hour late, {demo.out_of_order:,} are up to 3 "
        "seconds out of order"
    )
    return Group(purposes, Text(), totals, Text(text, style="dim"))


def _whole(number: int) -> str:
    return f"{number:,}"


def _warnings(warnings: Sequence[QualityWarning]) -> RenderableType:
    if not warnings:
        return Text("no quality warnings")
    table = plain_table("build", "view or topic", "check", "rows", "what it counts", left=3)
    table.columns[-1].justify = "left"
    for warning in warnings:
        rows = "" if warning.rows is None else _whole(warning.rows)
        table.add_row(warning.build, warning.view, warning.check, rows, warning.detail)
    return table


def _accounts(demo: Demo) -> RenderableType:
    table = plain_table("topic", "layer", "decoded", "+ quarantined", "= total", "expected", "", left=2)
    for row in demo.ledger:
        for layer, decoded, quarantined, expected in (
            ("speed", row.speed_decoded, row.speed_quarantined, row.log),
            ("batch", row.batch_decoded, row.batch_quarantined, row.cut),
        ):
            total = decoded + quarantined
            numbers = (f"{number:,}" for number in (decoded, quarantined, total, expected))
            table.add_row(row.topic if layer == "speed" else "", layer, *numbers, mark(total == expected))
    text = "expected: for speed the records in Kafka, for batch the records up to the cut of the published build"
    return Group(table, Text(text, style="dim"))


def _tickers(rows: Sequence[TickerByLayer]) -> RenderableType:
    table = plain_table("ticker", "", "trades", "shares", "low", "high", left=2)
    most = max(row.merged.trades for row in rows)
    for row in rows:
        ticker = row.merged
        bar = Text("█" * max(1, round(_BAR * ticker.trades / most)), style="cyan")
        table.add_row(ticker.ticker, bar, f"{ticker.trades:,}", f"{ticker.volume:,}", f"{ticker.low}", f"{ticker.high}")
    return table


def _hours(rows: Sequence[Hour]) -> RenderableType:
    most = max(row.requests for row in rows)
    table = plain_table("day", "requests in each hour", "requests", "errors", "MB", left=2)
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
    table = plain_table("ticker", "measure", "batch alone", "speed alone", "merged", "", left=2)
    for row in rows:
        for name, sign in (("trades", "+"), ("volume", "+"), ("high", "max")):
            batch, speed = (_cell(part, name) for part in (row.batch, row.speed))
            ticker = row.merged.ticker if name == "trades" else ""
            table.add_row(ticker, name, batch, f"{sign} {speed}", f"= {_cell(row.merged, name)}", mark(row.adds_up))
    more = Text(f"the first 5 of {count} tickers; `lk show trades_by_day` prints the merged rows", style="dim")
    return Group(table, more)


def _cell(part: Ticker | None, name: str) -> str:
    return "–" if part is None else f"{getattr(part, name):,}"


def _freshness(demo: Demo) -> RenderableType:
    freshness = demo.freshness
    table = plain_table("p50", "p95", "p99", "slowest", "events", "queries", left=0)
    seconds = (f"{value:.2f} s" for value in (freshness.p50, freshness.p95, freshness.p99, freshness.worst))
    table.add_row(*seconds, f"{freshness.samples:,}", f"{freshness.polls:,}")
    text = (
        f"{FRESHNESS}. 1,000 events a second; `lk batch` ran for {demo.batch.seconds:.0f} s meanwhile on the same "
        "machine. `lk bench freshness` measures without a batch"
    )
    return Group(table, Text(text, style="dim"))


def _next(demo: Demo) -> Text:
    """Commands to copy, one on each line."""
    lk = f"{command()} -c {short(demo.config)}"
    steps = (
        ("query with SQL", f'{lk} query "{_TOP}"'),
        ("what is served, its lag, the record accounting", f"{lk} status"),
        ("the record that could not be decoded, and why", f"{lk} quarantine list"),
        ("send trades for a minute", f"{lk} produce trades --seed 8 --rate 1000 --seconds 60 --late 0.05"),
        ("publish a new build from the last one and the records since", f"{lk} batch --incremental"),
        ("a view as of a publication", f"{lk} show traffic_by_hour --publication 2"),
        ("all runs: which one serves, which one a rollback would serve", f"{lk} runs"),
        ("back to Kappa at once; the same command again goes back to Lambda", f"{lk} rollback"),
        ("stop the servers and the speed layer; `up` and `speed start` start them again", f"{lk} down"),
    )
    page = (
        f"The report of this run, with its plots and the readers' timeline: {short(demo.report)}\n"
        if demo.report
        else ""
    )
    text = Text(
        f"{page}The servers are up: Trino at {demo.connection.trino_url}, catalog lake, schema serving. Next steps:\n"
    )
    for comment, command_line in steps:
        text.append(f"\n  # {comment}\n", style="dim").append(f"  {command_line}\n")
    if demo.unset:
        text.append(f"\nUnset {', '.join(demo.unset)} first: the environment overrides the settings file.\n", "yellow")
    return text.append_text(_programs(demo.connection))


def _programs(connection: Connection) -> Text:
    """Texts to paste, without indentation, as Python needs it."""
    text = Text("\nConnect with any user name, without a password.\n")
    text.append("\n# Python, with the package trino\n", style="dim").append(connection.python)
    text.append("\n# JDBC, with the driver io.trino:trino-jdbc\n", style="dim").append(f"{connection.jdbc}\n")
    return text.append(other_ports(connection), style="yellow")
