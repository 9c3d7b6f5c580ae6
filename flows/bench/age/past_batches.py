"""Years of batches in the control tables: builds that `lk cleanup` deleted, and the publications that served them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from typing import TypeVar

from core.catalog import Catalog
from core.identifiers import Name
from flows.bench.age.epoch_plan import EpochPlan
from infra.control import locks
from infra.control.builds import BuildCounts, Built, add_built, build_name, build_number
from infra.control.claims import Claim, add_claim, read_claims
from infra.control.pins import Pin
from infra.control.publications import Publication, add_publication, last_done
from infra.lake import table_paths
from infra.lake.process_identity import current_user
from infra.settings import Settings
from infra.trino.served_views import STATUS
from serving import recover, view_sql

_TOGETHER = 100  # rows of one commit
Row = TypeVar("Row")


def write(settings: Settings, catalog: Catalog, run: Name, plan: EpochPlan, builds: int, publications: int) -> None:
    """Writes the history of a run: ``builds`` at even distances in the plan, each published about equally often.

    What was served before is served again at the end, by a publication with the next number.
    """
    last = last_done(settings)
    assert last is not None, "the run serves"
    claims = tuple(_claims(settings, catalog, run, plan, builds))
    with locks.hold(settings, "control") as control, locks.hold(settings, "batch") as batch:
        for claim in claims:
            add_claim(settings, control, claim)
        for built in _in_pieces(_built(settings, claims)):
            add_built(settings, batch, *built)
        served = _publications(settings, catalog, claims, publications, last.seq + 1)
        again = replace(last, seq=last.seq + publications + 1, at=datetime.now(UTC), why="lk bench age")
        sql = {**last.sql, STATUS: view_sql.status_sql(again.pins, again.seq, again.at)}
        for states in _in_pieces(_states(chain(served, [replace(again, sql=sql)]))):
            add_publication(settings, control, *states)
    recover.recover_views(settings, catalog)


def _claims(settings: Settings, catalog: Catalog, run: Name, plan: EpochPlan, count: int) -> Iterator[Claim]:
    newest = max((build_number(claim.build) for claim in read_claims(settings)), default=0)
    for nth in range(1, count + 1):
        number = plan.first + nth * (plan.count - 1) // (count + 1)
        yield Claim(
            build=build_name(newest + nth),
            run=run,
            epoch=number,
            cut=plan.end_of(number),
            at=_moment(plan.time_of(number)),
            who=current_user(),
            views={view: catalog.digest(view) for view in catalog.reproducible},
            decoders={topic: catalog.decoder(topic) for topic in catalog.topics},
        )


def _built(settings: Settings, claims: Sequence[Claim]) -> Iterator[Built]:
    """Each view of each build three times: built, passed, and deleted by `lk cleanup`."""
    for claim in claims:
        for view, digest in claim.views.items():
            built = Built(
                build=claim.build,
                view=view,
                digest=digest,
                cut=claim.cut,
                path=table_paths.relative(settings, table_paths.batch(settings, view, claim.build)),
                rows=claim.cut.size,
                ledger_ok=True,
                counts=BuildCounts(expected=claim.cut.size),
                passed=None,
                at=claim.at,
                seconds=1.0,
                how="full",
            )
            for second, passed in enumerate((None, True, False)):
                yield replace(built, passed=passed, at=claim.at + timedelta(seconds=second))


def _publications(
    settings: Settings, catalog: Catalog, claims: Sequence[Claim], count: int, seq: int
) -> Iterator[Publication]:
    """``count`` publications from number ``seq`` on; the same build several times in a row where there are fewer."""
    for nth in range(count):
        claim = claims[nth * len(claims) // count]
        pins = {view: _pin(settings, catalog, claim, view) for view in claim.views}
        at = claim.at + timedelta(minutes=1)
        sql = {view: view_sql.pinned_sql(settings, catalog, view, pin) for view, pin in pins.items()}
        gate = {view: {"rows": claim.cut.size, "how": "full", "at": at.isoformat()} for view in pins}
        yield Publication(
            seq=seq + nth,
            kind="build",
            state="done",
            at=at,
            who=claim.who,
            why="lk batch",
            evidence={"build": claim.build, "cut": claim.cut.as_dict(), "gate": gate},
            pins=pins,
            sql={**sql, STATUS: view_sql.status_sql(pins, seq + nth, at)},
        )


def _pin(settings: Settings, catalog: Catalog, claim: Claim, view: Name) -> Pin:
    return Pin(
        build=claim.build,
        run=claim.run,
        epoch=claim.epoch,
        cut=claim.cut,
        digest=claim.views[view],
        mode="lambda",
        shape=view_sql.shape_digest(settings, catalog, view),
    )


def _states(publications: Iterable[Publication]) -> Iterator[Publication]:
    """Each publication as it is written: the intent, then the outcome."""
    for publication in publications:
        yield replace(publication, state="intent")
        yield publication


def _in_pieces(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while piece := list(islice(rows, _TOGETHER)):
        yield piece


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1_000, UTC)
