"""At the end: every record counted once, and every cell of what is served equal to a full build."""

from __future__ import annotations

from core.evidence.measurement import Measurement
from core.identifiers import Name
from flows.measure import demo_queries, load
from flows.measure.demo_queries import BY_DAY
from flows.measure.load import TRADES
from flows.measure.measured_verb import measured_verb
from flows.study.deploy import serving_run
from flows.study.subject import Subject
from infra.control.comparisons import count_of_differences
from infra.kafka import kafka_admin
from infra.trino.metastore import query

_VISITS, _PAGE_VIEWS = Name("visits"), Name("page_views")


def correctness_section(subject: Subject) -> list[Measurement]:
    """The rows of the questions ``records-lost``, ``records-twice`` and ``mode-cells``."""
    settings = subject.settings
    load.wait_for_lag_zero(settings, serving_run(subject))
    pages = f"SELECT sum(pages) FROM {demo_queries.served(_VISITS)}"  # noqa: S608 - a quoted Name
    counted = {
        BY_DAY: (TRADES, demo_queries.total(settings, subject.catalog(), BY_DAY)),
        _VISITS: (_PAGE_VIEWS, int(query(settings, pages).rows[0][0])),
    }
    log = kafka_admin.end_offsets(settings, [TRADES, _PAGE_VIEWS])
    missing = {view: log.only([topic]).size - count for view, (topic, count) in counted.items()}
    compared = measured_verb(subject.instance, "compare", "--served")
    return [
        *(subject.row("records-lost", max(0, count), view=view) for view, count in missing.items()),
        *(subject.row("records-twice", max(0, -count), view=view) for view, count in missing.items()),
        *(subject.row("mode-cells", count_of_differences(view), view=view["view"]) for view in compared.output),
    ]
