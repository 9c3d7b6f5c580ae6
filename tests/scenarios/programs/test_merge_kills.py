"""A run of one keyed view without a reach is killed while it merges the events that it keeps."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from core.catalog import Catalog
from core.errors import LkError
from core.identifiers import Name, quoted
from core.sample_data.records import records
from core.sample_spec import SampleSpec
from flows import speed
from infra import faults
from infra.control import run_roles
from infra.control.manifest import last_epoch
from infra.definitions import definition_files
from infra.faults import MARKER, VARIABLE
from infra.kafka import kafka_admin
from infra.kafka.input_files import OutgoingRecord
from infra.kafka.producer import produce
from infra.local import local_stack
from infra.project_files import VIEWS
from infra.settings import Settings
from infra.trino import metastore
from speed.process import lifecycle
from speed.tables.maintenance import COMPACT_EPOCHS
from tests.conftest import fresh_settings
from tests.support.checks.assertions import same
from tests.support.instances.programs_stack import START
from tests.support.oracle import program_oracle
from tests.support.oracle.program_events import events
from tests.support.records.kafka_log import Log
from tests.support.records.pieces import in_order
from tests.support.waiting import eventually

VIEW, TOPIC = Name("profile_changes"), "profiles"
SPEC = SampleSpec(7, START, 2.0, out_of_order=0.1, late=0.1)
PER_EPOCH = 4
COUNT = (COMPACT_EPOCHS + 5) * PER_EPOCH


@dataclass
class Profiles:
    """An instance with the view, and its log."""

    settings: Settings
    catalog: Catalog
    log: Log
    sent: int = 0

    def send(self) -> None:
        """Sends so many records that a merge is due before the run has read them all."""
        topic = self.catalog.topic(TOPIC)
        outgoing = [OutgoingRecord(r.key, r.value, r.at) for r in records(topic, SPEC, COUNT, self.sent)]
        produce(self.settings, topic, outgoing, draw=False).require_complete()
        self.sent += COUNT

    def check(self) -> None:
        """Waits until the run has committed the whole log, and compares the view with the oracle."""
        run = run_roles.current_run(self.settings)
        assert run

        def caught_up() -> None:
            last = last_epoch(self.settings, run)
            assert last
            assert last.end == kafka_admin.end_offsets(self.settings, [TOPIC])

        eventually(self.settings, 180, caught_up)
        view = self.catalog.view(VIEW)
        names = ", ".join(f'"{c.name}"' for c in view.stored_columns if not c.name.startswith("_"))
        rows = metastore.query(self.settings, f"SELECT {names} FROM {quoted('lake', 'serving', VIEW)}").rows
        same(VIEW, in_order(rows), in_order(program_oracle.rows(VIEW, events(self.log.read()))))


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Profiles]:
    folder = tmp_path_factory.mktemp("profiles")
    (folder / "views").mkdir()
    for name in (VIEW, TOPIC):
        shutil.copy(VIEWS / "programs" / f"{name}.py", folder / "views")
    settings = fresh_settings(folder / "data").model_copy(update={"views": (folder / "views",)})
    local_stack.start_servers(settings)
    try:
        yield Profiles(settings, definition_files.load(settings), Log(settings, [TOPIC]))
    finally:
        local_stack.stop_servers(settings)


@pytest.mark.parametrize("point", ["speed.6_in_merge", "speed.6_after_merge"])
def test_a_run_killed_while_it_merges_kept_events_keeps_each_once(profiles: Profiles, point: str) -> None:
    settings = profiles.settings
    if run_roles.current_run(settings):
        assert speed.stop(settings).phase == "stopped"
    profiles.send()
    (settings.data / MARKER).touch()
    small = settings.model_copy(update={"max_offsets_per_trigger": PER_EPOCH})
    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(LkError):
        patch.setenv(VARIABLE, f"{point}:kill")
        speed.start(small, profiles.catalog)  # may see the end of the process already

    def died() -> None:
        assert faults.proof(settings, point).is_file()
        assert lifecycle.status(settings).phase == "died"

    eventually(settings, 180, died)
    speed.start(settings, profiles.catalog)
    profiles.check()
