"""Query times of each layer alone and merged, and how old the batch layer's answers get."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from core.compute.merge_sql import serving_sql
from core.evidence.measurement import Measurement
from flows.measure import demo_queries, load
from flows.measure.demo_queries import BY_WINDOW
from flows.measure.live_system import RATE, SEEDS, fixed_range, query_seconds
from flows.measure.measured_verb import measured_verb
from flows.study.deploy import serving_run
from flows.study.live_flows import percentile_rows
from flows.study.subject import Subject
from infra.control.claims import read_claims
from infra.control.publications import read_publications
from serving.view_sql import view_parts

_QUERIES = 40
_BATCHES = 2


def queries_section(subject: Subject) -> list[Measurement]:
    """The rows of the questions ``query-time`` and ``staleness``."""
    live = subject.live(serving_run(subject))
    with load.flowing(live.settings, live.catalog, next(SEEDS), RATE):
        stale = _staleness(subject) if subject.planned.mode == "lambda" else []
        times = {layer: sorted(_seconds(subject, source)) for layer, source in _layers(subject).items()}
    rows = [percentile_rows(subject, "query-time", ordered, part=layer) for layer, ordered in times.items()]
    return [*chain.from_iterable(rows), *stale]


def _layers(subject: Subject) -> dict[str, str]:
    """What is queried: what is served, and each of the parts that it is merged from."""
    view, pin = subject.catalog().view(BY_WINDOW), demo_queries.pin_of(subject.settings, BY_WINDOW)
    parts = view_parts(view, pin)
    names = ["batch alone", "speed alone"] if len(parts) > 1 else []
    alone = {name: f"({serving_sql(view, [part])})" for name, part in zip(names, parts, strict=False)}
    return {"served": demo_queries.served(BY_WINDOW), **alone}


def _seconds(subject: Subject, source: str) -> Sequence[float]:
    """Seconds of queries of one ticker's windows in the five minutes before the last window."""
    sql = fixed_range(subject.settings, source)
    return [query_seconds(subject.settings, sql) for _ in range(_QUERIES)]


def _staleness(subject: Subject) -> list[Measurement]:
    """Seconds from the claim of a batch to the publication of the next, for batches without a pause between them."""
    first = len(read_claims(subject.settings))
    for _ in range(_BATCHES):
        measured_verb(subject.instance, "batch")
    claims = read_claims(subject.settings)[first:]
    published = [p.at for p in read_publications(subject.settings) if p.kind == "build"][-len(claims) :]
    return [
        subject.row("staleness", (at - claim.at).total_seconds())
        for claim, at in zip(claims, published[1:], strict=False)
    ]
