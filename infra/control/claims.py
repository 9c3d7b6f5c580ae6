"""Table control.claims: the cut up to which each build is complete."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.range_rebuild import RangeRebuild
from infra.control import builds
from infra.control.builds import Built, build_name, build_number, read_builds
from infra.control.store import TEXT, TIME, ControlTable, as_row, optional_name
from infra.lake import table_paths
from infra.lake.leases import Lease
from infra.settings import Settings

TABLE = ControlTable(
    "claims",
    pa.schema(
        {"build": TEXT, "run": TEXT, "epoch": pa.int64(), "cut": TEXT, "at": TIME, "who": TEXT}
        | {"views": TEXT, "decoders": TEXT, "rebuild": TEXT}
    ),
)


@dataclass(frozen=True)
class Claim:
    """The cut up to which a build is complete, written before landing. It is the end of ``epoch`` of ``run``.

    Without a run, ``epoch`` is -1 and the cut holds the end offsets of the log. ``views`` and ``decoders`` are name ->
    digest. A build with a ``rebuild`` computes a range of windows and copies the others.
    """

    build: Name
    run: Name | None
    epoch: int
    cut: Cut
    at: datetime
    who: str
    views: Mapping[Name, Name]
    decoders: Mapping[Name, Name]
    rebuild: RangeRebuild | None = None


def read_claims(settings: Settings) -> list[Claim]:
    """Every claim, oldest first."""
    return sorted(map(_claim, TABLE.read(settings)), key=lambda claim: build_number(claim.build))


def claims_at(settings: Settings, cut: Cut) -> list[Claim]:
    """The claims of one cut, oldest first."""
    rows = TABLE.read(settings, where=pc.field("cut") == str(cut))
    return sorted(map(_claim, rows), key=lambda claim: build_number(claim.build))


def last_cuts(settings: Settings, run: Name | None, count: int = 50) -> dict[Name, Cut]:
    """Build -> the cut of its claim, for the last claims of one run, or for those without a run; oldest first."""
    of_run = pc.field("run") == run if run else pc.field("run").is_null()
    rows = TABLE.read_arrow(settings, ("build", "cut"), of_run)
    cuts = dict(zip(map(Name, rows["build"].to_pylist()), rows["cut"].to_pylist(), strict=True))
    return {build: Cut.parse(cuts[build]) for build in sorted(cuts, key=build_number)[-count:]}


def last_build(settings: Settings) -> int:
    """The highest number of a build that a claim, a verdict or a table of the lake has; 0 without any.

    A claim alone is not enough: a table of claims that was restored from a copy lacks the newest ones.
    """
    tables = [table.read_arrow(settings, ("build",))["build"] for table in (TABLE, builds.TABLE)]
    names = [str(name) for column in tables for name in pc.unique(column).to_pylist()]
    names += [build for _, build in table_paths.builds(settings)]
    return max((build_number(Name(name)) for name in names if re.fullmatch(r"b\d{6,}", name)), default=0)


def next_build(settings: Settings) -> Name:
    """The id of the next build, which no build ever had."""
    return build_name(last_build(settings) + 1)


def builds_of(settings: Settings, claim: Claim) -> dict[Name, Built]:
    """View -> the newest row of ``builds`` for a claim.

    Raises Refused when one was built up to another cut or by another definition: the claim is not of that build.
    """
    rows = {row.view: row for row in read_builds(settings, [claim.build])}
    for view, row in rows.items():
        if row.cut != claim.cut or row.digest != claim.views.get(view, row.digest):
            raise Refused(
                f"build {claim.build} has another cut or definition than its claim: view {view}",
                where=f"control.builds: {row.cut}; control.claims: {claim.cut}",
                fix="a control table was restored from a copy: run `lk batch`, which claims a new build",
            )
    return rows


def claim_of(settings: Settings, build: Name) -> Claim:
    """The claim of a build. Raises Refused when there is none."""
    for row in TABLE.read(settings, where=pc.field("build") == build):
        return _claim(row)
    raise Refused(f"there is no build {build}", where="control.claims", fix="run `lk batch`")


def claim_or_last(settings: Settings, build: str | None) -> Claim:
    """The claim of a build; of None the last claim. Raises Refused when there is none."""
    if build is not None:
        return claim_of(settings, Name(build))
    claims = read_claims(settings)
    if not claims:
        raise Refused("no build was claimed yet", where="control.claims", fix="run `lk claim`, or `lk batch`")
    return claims[-1]


def claimed_epochs(settings: Settings, run: Name) -> list[tuple[Name, int, frozenset[Name]]]:
    """The builds whose claims name a run, each with the epoch and the views of its claim."""
    rows = TABLE.read(settings, ("build", "epoch", "views"), pc.field("run") == run)
    return [(Name(row["build"]), row["epoch"], frozenset(_digests(row["views"]))) for row in rows]


def add_claim(settings: Settings, lease: Lease, claim: Claim) -> None:
    """Writes a claim, under the lease "control"."""
    texts = {"views": json.dumps(claim.views), "decoders": json.dumps(claim.decoders)}
    row = as_row(claim, **texts, rebuild=claim.rebuild.text if claim.rebuild else None)
    TABLE.append(settings, lease, row)


def _claim(row: Mapping[str, Any]) -> Claim:
    return Claim(
        build=Name(row["build"]),
        run=optional_name(row["run"]),
        epoch=row["epoch"],
        cut=Cut.parse(row["cut"]),
        at=row["at"],
        who=row["who"],
        views=_digests(row["views"]),
        decoders=_digests(row["decoders"]),
        rebuild=RangeRebuild.parse(text) if (text := row.get("rebuild")) else None,  # an older lake has no such column
    )


@lru_cache(maxsize=64)
def _digests(text: str) -> Mapping[Name, Name]:
    """Name -> digest; the claims of years have few different ones."""
    return {Name(key): Name(value) for key, value in json.loads(text).items()}
