"""Ten switches while events arrive and readers query: no error, and every answer belongs to one cut of the log."""

from __future__ import annotations

import itertools
import threading

from core.identifiers import Name
from infra.control import run_roles
from infra.control.publications import read_publications
from tests.support.checks.concurrent_readers import check, reading
from tests.support.instances.world import World
from tests.support.records.kafka_log import send
from tests.support.records.load import mixed


class SteadyLoad(threading.Thread):
    """Sends small batches of records until it is stopped."""

    def __init__(self, world: World) -> None:
        super().__init__(daemon=True)
        self.world = world
        self.stopping = threading.Event()
        self.batches = 0

    def run(self) -> None:
        """One batch every four seconds, because three runs read the log on few cores."""
        for seed in itertools.count(1_000):
            if self.stopping.wait(4.0):
                return
            send(self.world.settings, mixed(seed=seed, count=60))
            self.batches += 1


def test_ten_switches_under_load_show_no_error_and_no_mix(world: World) -> None:
    world.running()
    load, publications_before = SteadyLoad(world), len(read_publications(world.settings))
    with reading(world.settings, count=1, pause=1.0) as slow_readers:
        load.start()
        world.here("switch", "kappa", "--json").ok()
        kappa_run = serving_run(world)
        rollbacks = 0
        with reading(world.settings, count=2, pause=0.1) as fast_readers:
            while rollbacks < 4 or load.batches <= 20 or min(len(reader.answers) for reader in fast_readers) <= 20:
                for _ in range(2):  # back and forth
                    world.here("rollback", "--json").ok()
                rollbacks += 2
        world.here("switch", "lambda", "--json").ok()
        assert serving_run(world) == kappa_run
        world.here("switch", "kappa", "--run", kappa_run, "--json").ok()
        for _ in range(3):
            world.here("rollback", "--json").ok()
        load.stopping.set()
        load.join()
    done_kinds = [p.kind for p in read_publications(world.settings)[publications_before:] if p.state == "done"]
    assert [kind for kind in done_kinds if kind != "run"] == [
        "kappa",
        *["rollback"] * rollbacks,
        "lambda",
        "kappa",
        *["rollback"] * 3,
    ]
    assert load.batches > 20
    assert [len(reader.answers) > 20 for reader in slow_readers] == [True]
    world.settle_all()
    world.log.read()
    check([*slow_readers, *fast_readers], world.log.records, back=rollbacks + 3)
    world.check()


def serving_run(world: World) -> Name:
    """The run that serves."""
    (run,) = run_roles.serving_runs(world.settings)
    return run
