"""A run that has kept the history of its keyed views starts again without the archive."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from infra.control import runs
from infra.control.runs import Run
from infra.lake import delta, idempotent_writes, table_paths
from infra.lake.leases import Lease
from infra.settings import Settings
from speed.epoch.archive_prefix import keep_history
from speed.tables import schemas
from views import access_log
from views.programs import sessions

TOPIC, VIEW = Name(access_log.TOPIC.name), Name(sessions.VIEW.name)
CATALOG = Catalog({TOPIC: access_log.TOPIC}, {VIEW: sessions.VIEW})
RUN = Run(
    Name("r000002"),
    {VIEW: CATALOG.digest(VIEW)},
    {TOPIC: "id"},
    {TOPIC: CATALOG.decoder(TOPIC)},
    Cut.of({TOPIC: {0: 5}}),
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A lake without an archive: somebody moved it away, or a file of it is damaged."""
    settings = Settings(data=tmp_path)
    table_paths.open_lake(settings)
    delta.create(table_paths.events(settings, RUN.id, VIEW), schemas.events_schema())
    return settings


def keep(settings: Settings) -> None:
    """Neither Spark nor the lease is used where nothing is appended."""
    keep_history(cast(SparkSession, None), settings, CATALOG, RUN, cast(Lease, None))


def test_a_restart_does_not_need_the_archive(settings: Settings) -> None:
    path, app = table_paths.events(settings, RUN.id, VIEW), runs.archive_app(RUN.id, f"{VIEW}/events")
    idempotent_writes.append_once(path, schemas.events_schema().empty_table(), app, 0)
    keep(settings)


def test_the_first_start_does(settings: Settings) -> None:
    with pytest.raises(Refused, match="the archive ends before"):
        keep(settings)
